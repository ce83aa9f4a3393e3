"""Embedded facts of public models: one small file each, with its source and how sure it is.

Only the file of the model that is asked for is opened. `scripts/make_catalog.py` writes the files.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from poolsplit.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from poolsplit.shapes.model_shape import Provenance

_FOLDER = Path(__file__).parent / "models"
_SUFFIX = ".json"
_MAX_ID_LENGTH = 200
_NEAR_COUNT = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogEntry:
    """One public model."""

    id: str
    """Hub id, `organisation/name`."""
    provenance: Provenance
    """exact: the published file, by its hash; published: a public copy; derived: put together from public figures."""
    source: str
    caution: str
    """What every answer that uses the entry must say; empty when there is nothing to say."""
    weights_bytes: int | None
    """Bytes of all weights in the checkpoint's format; None when they cannot be told."""
    weights_source: str
    """How the bytes were found, or why they are not known."""
    config: Mapping[str, Any]
    """The keys of the config that a family reader reads."""


def ids() -> tuple[str, ...]:
    """Ids of all embedded models, sorted without regard to case."""
    names = (entry.name for entry in _FOLDER.iterdir() if entry.name.endswith(_SUFFIX))
    return tuple(sorted((_id_of(name) for name in names), key=str.casefold))


def find(name: str) -> CatalogEntry | None:
    """The entry of a model by its id, or by its name alone where only one organisation has it; case does not count."""
    if name.count("/") == 1 and len(name) <= _MAX_ID_LENGTH:
        exact = _FOLDER / _file_of(name)
        if exact.is_file():
            return _load(exact)
    wanted = name.casefold()
    matches = [known for known in ids() if wanted in {known.casefold(), known.rpartition("/")[2].casefold()}]
    return _load(_FOLDER / _file_of(matches[0])) if len(matches) == 1 else None


def load(name: str) -> CatalogEntry:
    """The entry of a model.

    Raises:
        InputError: No such model; the hint names the near ones.
    """
    entry = find(name)
    if entry is None:
        raise InputError(f"no embedded model `{name}`", hint=near_hint(name))
    return entry


def near(name: str) -> tuple[str, ...]:
    """Embedded ids that look like `name`, the nearest first."""
    import difflib

    shorts = {known.rpartition("/")[2].casefold(): known for known in ids()}
    wanted = name.rpartition("/")[2].casefold()
    held = sorted((short for short in shorts if wanted and wanted in short), key=lambda short: short.index(wanted))
    close = difflib.get_close_matches(wanted, shorts, n=_NEAR_COUNT, cutoff=0.55)
    return tuple(shorts[short] for short in dict.fromkeys([*held, *close]))[:_NEAR_COUNT]


def near_hint(name: str) -> str:
    """The hint for a model that is not there."""
    found = near(name)
    listed = f"near names: {', '.join(found)}; " if found else ""
    return f"{listed}`poolsplit models` lists all"


def _load(path: Path) -> CatalogEntry:
    return CatalogEntry(**json.loads(path.read_bytes()))


def _file_of(name: str) -> str:
    return name.replace("/", "__") + _SUFFIX


def _id_of(file: str) -> str:
    return file.removesuffix(_SUFFIX).replace("__", "/", 1)
