"""Rings of the replayed verification: bytes that replace the verify scratch, per slot or once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from poolsplit.shapes.costs import StateFormat, key_heads_per_rank, temporal_shape
from poolsplit.shapes.model_shape import GatedDeltaNet, KimiDelta

if TYPE_CHECKING:
    from poolsplit.engines.sglang.resolved import ResolvedFlags
    from poolsplit.engines.sglang.versions import Switches
    from poolsplit.shapes.model_shape import ModelShape

_GATE_BYTES = 4
_HALF_PRECISION_BYTES = 2
_REGISTERED_APART = "GigaChat35ForCausalLM"
"""A gated-delta family that the engine's own check for such layers does not know."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayRings:
    """Ring bytes of one request over the charged layers, and whether each slot has one."""

    active: bool
    ring_bytes: int = 0
    per_slot: bool = False


NO_RINGS = ReplayRings(active=False)


def replay_rings(
    shape: ModelShape, resolved: ResolvedFlags, switches: Switches, state: StateFormat, scale: float
) -> ReplayRings:
    """Rings of a launch with `--enable-linear-replayssm-spec`; inactive where the family has none.

    Source: the engine's ring sizes, old and new form; held by the golden answers.
    """
    if not (resolved.enable_linear_replayssm_spec and switches.replay_spec_priced):
        return NO_RINGS
    layers = len(shape.state_layer_ids)
    match shape.state:
        case KimiDelta() as layer if shape.architecture in switches.replay_kda_families:
            length = resolved.linear_replayssm_cache_len
            ring = layers * _kda_layer_bytes(layer, state, length)
            return ReplayRings(active=True, ring_bytes=int(ring * scale), per_slot=True)
        case GatedDeltaNet() as layer if shape.architecture != _REGISTERED_APART:
            ring = layers * _gdn_layer_bytes(layer, state, _gdn_length(resolved, switches), switches)
            return ReplayRings(active=True, ring_bytes=int(ring * scale), per_slot=not switches.replay_gdn_fixed_ring)
        case _:
            return NO_RINGS


def _gdn_length(resolved: ResolvedFlags, switches: Switches) -> int:
    if switches.replay_gdn_ring_is_cache_len:
        return resolved.linear_replayssm_cache_len
    return resolved.speculative_num_draft_tokens or resolved.linear_replayssm_cache_len


def _gdn_layer_bytes(layer: GatedDeltaNet, state: StateFormat, length: int, switches: Switches) -> int:
    heads, value_dim, key_dim = temporal_shape(layer, state.width)
    key_heads = key_heads_per_rank(layer, state.width)
    rows = (heads * value_dim + key_heads * key_dim) * length * state.conv_element_bytes
    if not switches.replay_gdn_new_bytes:
        return rows + 2 * _GATE_BYTES * heads * length
    copies = 2 if state.conv_element_bytes == _HALF_PRECISION_BYTES else 1
    return copies * rows + _GATE_BYTES * heads * length


def _kda_layer_bytes(layer: KimiDelta, state: StateFormat, length: int) -> int:
    heads, value_dim, key_dim = temporal_shape(layer, state.width)
    key_heads = key_heads_per_rank(layer, state.width)
    rows = 2 * (heads * value_dim + key_heads * key_dim) * length * state.conv_element_bytes
    return rows + _GATE_BYTES * heads * length + _GATE_BYTES * heads * length * key_dim
