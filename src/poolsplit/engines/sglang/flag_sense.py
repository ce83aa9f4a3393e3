"""Whether the values of a launch can be meant at all: the right type, finite, and positive where a size divides."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from poolsplit.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

AT_LEAST_ONE = frozenset(
    {
        "tp_size",
        "pp_size",
        "dp_size",
        "attn_dp_size",
        "ep_size",
        "attn_cp_size",
        "nnodes",
        "page_size",
        "context_length",
    }
)
"""Sizes that something is divided by. The engine refuses other sizes below one by rules of its own."""
LARGEST = 2**63 - 1
"""No count that reaches memory is above it."""
LARGEST_NUMBER = 1e100
"""Products of two such numbers and the memory of a card are still finite."""
LISTED_TOKENS = frozenset({"chunked_prefill_size", "cuda_graph_max_bs_prefill"})
"""Flags up to which the engine lists the sizes of its prefill graphs, one by one."""
LARGEST_LISTED = 2**31 - 1
RATIO = "mamba_full_memory_ratio"
NUMBERS_OF_ENV = frozenset({"SGLANG_VLM_CACHE_SIZE_MB", "SGLANG_MM_FEATURE_CACHE_MB", "SGLANG_SWA_EVICTION_INTERVAL"})
"""Variables that the engine reads as whole numbers."""
PARTITION = "SGLANG_PP_LAYER_PARTITION"
_SHOWN_CHARACTERS = 40
_WHOLE = re.compile(r"-?\d+", re.ASCII)
_LAYERS = re.compile(r"\s*\d+\s*(,\s*\d+\s*)*", re.ASCII)


def check_values(args: Mapping[str, Any], kinds: Mapping[str, str]) -> None:
    """Refuses values that no launch can mean.

    Args:
        args: Flags that were given, by name.
        kinds: The type of every flag, as its annotation reads.

    Raises:
        UsageError: A value of the wrong type, one that is not finite, or a size below one.
    """
    for name, value in args.items():
        if value is None or name not in kinds:
            continue
        kind = kinds[name].removesuffix(" | None")
        if not _fits(kind, value):
            raise _nonsense(
                name,
                value,
                {
                    "int": "a whole number of at most 63 bits",
                    "float": f"a number, at most {LARGEST_NUMBER:g}",
                    "bool": "a switch",
                    "Sequence[int]": "a list of whole numbers",
                }.get(kind),
            )
        if name in AT_LEAST_ONE and value < 1:
            raise _nonsense(name, value, "at least 1")
        if name in LISTED_TOKENS and value > LARGEST_LISTED:
            raise _nonsense(name, value, f"at most {LARGEST_LISTED}")
    ratio = args.get(RATIO)
    if ratio is not None and ratio <= -1:
        raise _nonsense(RATIO, ratio, "above -1, and above 0 for any state slot")


def check_env(env: Mapping[str, str]) -> None:
    """Refuses variables that the engine would fail to read.

    Raises:
        UsageError: Not a whole number, or not a list of layers.
    """
    for name, value in env.items():
        if name in NUMBERS_OF_ENV and not _WHOLE.fullmatch(value.strip()):
            raise UsageError(f"the variable `{name}` is {value!r}", hint="expected is a whole number")
        if name == PARTITION and value.strip() and not _LAYERS.fullmatch(value):
            raise UsageError(f"the variable `{name}` is {value!r}", hint="expected are layers a stage, such as `20,28`")


def _fits(kind: str, value: object) -> bool:
    match kind:
        case "int":
            return isinstance(value, int) and not isinstance(value, bool) and abs(value) <= LARGEST
        case "float":
            return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= LARGEST_NUMBER
        case "bool":
            return isinstance(value, bool)
        case "Sequence[int]":
            return isinstance(value, list | tuple) and bool(value) and all(_fits("int", item) for item in value)
        case _:
            return isinstance(value, str)


def _nonsense(name: str, value: object, expected: str | None) -> UsageError:
    shown = repr(value)
    shown = shown if len(shown) <= _SHOWN_CHARACTERS else f"{shown[:_SHOWN_CHARACTERS]}..."
    return UsageError(f"`--{name.replace('_', '-')}` is {shown}", hint=f"expected is {expected or 'a word'}")
