"""What every JSON document begins with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

SCHEMA_VERSION = 1


def whole(document: Mapping[str, Any]) -> dict[str, Any]:
    """A document with `schema_version` in front."""
    return {"schema_version": SCHEMA_VERSION, **document}
