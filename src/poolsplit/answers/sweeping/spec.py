"""A grid from a TOML file and from `--set name=a,b,c`."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from poolsplit.answers.sweeping.work import AXES
from poolsplit.errors import InputError, UsageError
from poolsplit.sweep.grid import grid_of
from poolsplit.units import parse_count, parse_size

if TYPE_CHECKING:
    from collections.abc import Sequence

    from poolsplit.sweep.grid import Grid, Value

_COUNTS = {"seed", "state_slots", "kv_tokens", "state_bytes", "page_size", "chunked_prefill_size", "track_interval",
           "state_chunk", "max_states_per_path", "sessions", "host_state_slots", "host_kv_tokens"}  # fmt: skip
_REALS = {"hicache_ratio", "state_to_kv_ratio", "kv_bytes", "prefill_tokens_per_s", "decode_tokens_per_s"}


def read_grid(spec: str | None, sets: Sequence[str]) -> Grid:
    """The grid of a sweep; what is set by hand replaces what the file says.

    Raises:
        InputError: The file cannot be read.
        UsageError: An axis or a value that is none, or nothing to sweep.
    """
    axes = _from_file(spec) if spec is not None else {}
    for text in sets:
        name, equals, values = text.partition("=")
        if not equals:
            raise UsageError(f"`{text}` sets nothing", where="--set", hint="write --set state_slots=100,200")
        axes[name.strip().replace("-", "_")] = [part.strip() for part in values.split(",")]
    if not axes:
        raise UsageError("there is nothing to sweep", hint="give SPEC.toml, or --set name=a,b,c")
    return grid_of({name: [_value(name, value) for value in values] for name, values in axes.items()}, AXES)


def _from_file(name: str) -> dict[str, list[Any]]:
    try:
        document = tomllib.loads(Path(name).read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(
            f"cannot read the sweep: {error.strerror}", where=name, hint="give a TOML file, or --set name=a,b,c"
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"not TOML: {error}", where=name, hint="write `name = [a, b]`, one axis a line") from None
    return {key.replace("-", "_"): value if isinstance(value, list) else [value] for key, value in document.items()}


def _value(name: str, value: Any) -> Value:
    text = str(value)
    try:
        if name == "budget_bytes":
            return value if isinstance(value, int) else parse_size(text)
        if name in _COUNTS:
            return value if isinstance(value, int) else parse_count(text)
        return float(text) if name in _REALS else text
    except (ValueError, InputError):
        kind = "a number" if name in _REALS else "a size, such as 80GiB" if name == "budget_bytes" else "a whole number"
        hint = f"`{name}` is the {AXES[name]}: {kind}" if name in AXES else ""
        raise UsageError(f"`{text}` is no value of `{name}`", hint=hint) from None
