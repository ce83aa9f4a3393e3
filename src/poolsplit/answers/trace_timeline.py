"""Both pools over the time of a replay."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from poolsplit.replay.kernel.layout import World

COLUMNS = (
    "iteration", "clock_s", "running", "waiting", "state_free", "state_evictable", "kv_free", "kv_evictable",
    "state_used_fraction", "kv_used_fraction",
)  # fmt: skip


@dataclass(slots=True)
class Timeline:
    """Looks at a replay that goes on."""

    progress: Callable[[int], None] | None = None
    """Takes the number of requests sent at each look."""
    points: list[dict[str, float]] = field(default_factory=list)

    def look(self, w: World) -> None:
        """Adds one point. Used: not free, cached or running."""
        now, option = w.now[0], w.option[0]
        point = {name: float(now[name]) for name in COLUMNS if name in now.dtype.names}
        point["waiting"] = float(now["waiting_tail"] - now["waiting_head"])
        point["state_used_fraction"] = 1.0 - point["state_free"] / float(option["state_capacity"])
        point["kv_used_fraction"] = 1.0 - point["kv_free"] / float(option["kv_capacity"])
        self.points.append(point)
        if self.progress is not None:
            self.progress(int(now["next_request"]))


def to_columns(points: Sequence[Mapping[str, float]]) -> dict[str, list[float]]:
    """The points column by column."""
    return {name: [point[name] for point in points] for name in COLUMNS}


def to_csv(points: Sequence[Mapping[str, float]]) -> str:
    """The points as CSV, one line each under a head."""
    lines = [",".join(COLUMNS), *(",".join(f"{point[name]:.6g}" for name in COLUMNS) for point in points)]
    return "\n".join(lines) + "\n"
