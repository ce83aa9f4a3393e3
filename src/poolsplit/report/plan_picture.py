"""What a picture of a plan draws: pools to scale, the curve, and sizes as people read them."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from poolsplit.units import format_size

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from poolsplit.plan_answer import StageFigures
    from poolsplit.plan_beside import PictureFigures


def picture_document(picture: PictureFigures, recommended: Sequence[StageFigures]) -> dict[str, Any]:
    """The picture by the names of the page; every fraction is of the largest rank of both splits."""
    largest = max(_pools_bytes(stage) for stage in (*picture.current, *recommended)) or 1
    fields = asdict(picture)
    return {
        **fields,
        "current": list(_ranks(picture.current, largest)) or None,
        "recommended": list(_ranks(recommended, largest)),
    }


def _pools_bytes(stage: StageFigures) -> int:
    return stage.state_bytes + stage.kv_bytes + stage.idle_bytes


def _ranks(stages: Sequence[StageFigures], largest: int) -> Iterator[dict[str, Any]]:
    """One rank of each stage."""
    for number, stage in enumerate(stages):
        parts = {"state": stage.state_bytes, "kv": stage.kv_bytes, "idle": stage.idle_bytes}
        sizes = {**parts, "pools": _pools_bytes(stage)}
        yield {
            "stage": number,
            "layers": stage.layers,
            "binds": list(stage.binds),
            **{f"{name}_bytes": size for name, size in sizes.items()},
            **{f"{name}_fraction": size / largest for name, size in parts.items()},
            **{f"{name}_text": format_size(size) for name, size in sizes.items()},
        }
