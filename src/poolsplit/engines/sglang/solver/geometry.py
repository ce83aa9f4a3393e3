"""One state slot of one launch: shapes, dtypes and bytes on one rank."""

from __future__ import annotations

from typing import TYPE_CHECKING

from poolsplit.engines.resolved_pools import StateGeometry
from poolsplit.engines.sglang.shards import state_width, widest_stage_scale
from poolsplit.engines.sglang.solver.formats import element_bytes
from poolsplit.engines.sglang.solver.state_pool import StateDemand
from poolsplit.shapes.costs import StateFormat, conv_shapes, state_bytes_per_slot, temporal_shape

if TYPE_CHECKING:
    from poolsplit.engines.sglang.resolved import ResolvedFlags
    from poolsplit.engines.sglang.shards import StageRange
    from poolsplit.engines.sglang.solver.state_pool import StateCharges
    from poolsplit.engines.sglang.versions import Switches
    from poolsplit.shapes.model_shape import ModelShape


def state_format(shape: ModelShape, resolved: ResolvedFlags) -> StateFormat:
    """Ranks that share the state, and its element sizes."""
    width = state_width(shape, resolved)
    return StateFormat(
        width=width,
        hidden_width=width if resolved.enable_scattered_sconv else 1,
        conv_element_bytes=element_bytes(resolved.conv_dtype),
        state_element_bytes=element_bytes(resolved.ssm_dtype),
    )


def state_demand(
    shape: ModelShape,
    resolved: ResolvedFlags,
    switches: Switches,
    ranges: tuple[StageRange, ...],
    extra_slot_bytes: int,
) -> StateDemand:
    """What one slot asks of a rank."""
    state = state_format(shape, resolved)
    return StateDemand(
        state=state,
        slot_bytes=state_bytes_per_slot(shape, state),
        extra_slot_bytes=extra_slot_bytes,
        scale=widest_stage_scale(shape, ranges, switches),
    )


def geometry_of(
    shape: ModelShape, resolved: ResolvedFlags, demand: StateDemand, charges: StateCharges
) -> StateGeometry | None:
    """The slot as the boot log and a reader see it; None for a model without state layers."""
    if shape.state is None:
        return None
    return StateGeometry(
        conv_shapes=conv_shapes(shape.state, demand.state),
        temporal_shape=temporal_shape(shape.state, demand.state.width),
        conv_dtype=resolved.conv_dtype,
        state_dtype=resolved.ssm_dtype,
        layers=len(shape.state_layer_ids),
        bytes_per_slot=demand.slot_bytes,
        charged_bytes_per_slot=charges.slot_bytes,
    )
