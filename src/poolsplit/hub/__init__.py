"""Models by name: an embedded one, a folder or `config.json`, or a hub id.

A path that exists wins, then the catalog, then the hub; only a hub id opens the network, and nothing that a repository
ships is ever executed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from poolsplit.errors import InputError
from poolsplit.shapes import catalog
from poolsplit.shapes.families import read_model_shape

if TYPE_CHECKING:
    from collections.abc import Mapping

    from poolsplit.shapes.model_shape import DraftShape, ModelShape, Provenance

Origin = Literal["catalog", "config", "hub"]
_MAX_ID_LENGTH = 200
_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class FoundConfig:
    """A model's config and what is known around it."""

    name: str
    config: Mapping[str, Any]
    origin: Origin
    source: str
    provenance: Provenance = "exact"
    caution: str = ""
    weights_bytes: int | None = None
    """Bytes of all weights in the checkpoint's format; None when they are not known."""
    weights_source: str = ""
    """How the bytes were found, or why they are not known."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class FoundModel:
    """A model's shape and the bytes of its weights."""

    shape: ModelShape
    origin: Origin
    weights_bytes: int | None
    weights_source: str


def find_model(name: str, *, revision: str | None = None) -> FoundModel:
    """A model's shape by catalog id, path or hub id.

    Raises:
        InputError: No such model or file; the hint names near ones.
        UnsupportedModelError: The config is not understood.
    """
    found = find_config(name, revision=revision)
    shape = read_model_shape(
        found.config, name=found.name, source=found.source, provenance=found.provenance, caution=found.caution
    )
    return FoundModel(
        shape=shape, origin=found.origin, weights_bytes=found.weights_bytes, weights_source=found.weights_source
    )


def find_draft(name: str, *, revision: str | None = None) -> DraftShape:
    """A draft checkpoint's shape by catalog id, path or hub id.

    Raises:
        InputError: No such model or file.
        UnsupportedModelError: The config is not understood.
    """
    from poolsplit.shapes.families.draft import read_draft_shape

    found = find_config(name, revision=revision)
    return read_draft_shape(found.config, name=found.name)


def find_config(name: str, *, revision: str | None = None) -> FoundConfig:
    """A model's decoded config by catalog id, path or hub id.

    Raises:
        InputError: No such model or file; the hint names near ones.
    """
    name = name.strip()
    path = _existing(name)
    if path is not None:
        return _local(path)
    if "://" in name:
        raise InputError(f"`{name}` is an address", hint="give `organisation/name`, a folder or its config.json")
    if _looks_like_path(name):
        raise InputError("no such file or folder", where=name, hint="give a folder with a config.json, or the file")
    entry = catalog.find(name)
    if entry is not None:
        return _of_entry(entry)
    if not _HUB_ID.fullmatch(name) or len(name) > _MAX_ID_LENGTH:
        raise InputError(
            f"no embedded model `{name[:_MAX_ID_LENGTH]}`, and it is no path and no hub id",
            hint=catalog.near_hint(name),
        )
    return _remote(name, revision)


def _existing(name: str) -> Path | None:
    """The path that a name is, when there is something; an empty name is none."""
    try:
        path = Path(name).expanduser()
        return path if name and path.exists() else None
    except (OSError, RuntimeError, ValueError):
        return None


def _of_entry(entry: catalog.CatalogEntry) -> FoundConfig:
    return FoundConfig(
        name=entry.id,
        config=entry.config,
        origin="catalog",
        source=entry.source,
        provenance=entry.provenance,
        caution=entry.caution,
        weights_bytes=entry.weights_bytes,
        weights_source=entry.weights_source,
    )


def _local(path: Path) -> FoundConfig:
    from poolsplit.hub import local

    files = local.read(path)
    return FoundConfig(
        name=str(path),
        config=files.config,
        origin="config",
        source=str(files.config_path),
        weights_bytes=files.weights_bytes,
        weights_source=files.weights_source,
    )


def _remote(name: str, revision: str | None) -> FoundConfig:
    from poolsplit.hub import remote

    files = remote.read(name, revision=revision, near_hint=catalog.near_hint(name))
    return FoundConfig(
        name=name,
        config=files.config,
        origin="hub",
        source=f"{name} on the hub" + (f", revision {revision}" if revision else ""),
        weights_bytes=files.weights_bytes,
        weights_source=files.weights_source,
    )


def _looks_like_path(name: str) -> bool:
    return name.startswith((".", "/", "~")) or name.endswith(".json") or name.count("/") > 1
