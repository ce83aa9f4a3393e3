"""Where to cut a model into pipeline stages so that the widest stage costs least."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from poolsplit.shapes.model_shape import ModelShape


def balanced_partition(shape: ModelShape, stages: int) -> tuple[int, ...] | None:
    """Layers per stage with the fewest state layers on the widest stage, then the fewest attention layers there.

    Every way of cutting is weighed by a table over (stages, layers); None when there are more stages than layers.
    """
    layers, state, kv = shape.layers, set(shape.state_layer_ids), set(shape.kv_layer_ids)
    if stages > layers:
        return None
    states = [0, *_running_sum(layer in state for layer in range(layers))]
    rows = [0, *_running_sum(layer in kv for layer in range(layers))]
    best: dict[int, tuple[int, int, int, tuple[int, ...]]] = {0: (0, 0, 0, ())}
    for stage in range(1, stages + 1):
        reached: dict[int, tuple[int, int, int, tuple[int, ...]]] = {}
        for end in range(stage, layers - (stages - stage) + 1):
            reached[end] = min(
                (
                    max(widest, states[end] - states[start]),
                    max(most_rows, rows[end] - rows[start]),
                    max(longest, end - start),
                    (*cuts, end - start),
                )
                for start, (widest, most_rows, longest, cuts) in best.items()
                if start < end
            )
        best = reached
    return best[layers][3]


def _running_sum(flags: Iterable[bool]) -> list[int]:
    total, sums = 0, []
    for flag in flags:
        total += flag
        sums.append(total)
    return sums
