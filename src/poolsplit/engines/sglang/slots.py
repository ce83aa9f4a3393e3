"""State slots of one running request: how many it holds, and how many more the verification of drafts takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from poolsplit.engines.sglang.refusals import refuse

if TYPE_CHECKING:
    from poolsplit.engines.sglang.resolved import ResolvedFlags
    from poolsplit.engines.sglang.versions import Switches
    from poolsplit.shapes.model_shape import ModelShape

_BASE_SLOTS = 3
_BASE_SLOTS_UNLOCKED = 2


class SlotFlags(Protocol):
    """What the slots of a request depend on: resolved flags, or what a live server says of them."""

    @property
    def disable_radix_cache(self) -> bool:
        """No prefix cache: one slot a request."""
        ...

    @property
    def skip_decode_lock(self) -> bool:
        """The matched state is not locked while decoding."""
        ...

    @property
    def enable_mamba_extra_buffer(self) -> bool:
        """Tracking slots exist."""
        ...

    @property
    def enable_mamba_extra_buffer_lazy(self) -> bool:
        """The second tracking slot is taken only when it is needed."""
        ...

    @property
    def disable_overlap_schedule(self) -> bool:
        """Scheduling and forward passes do not overlap."""
        ...


def slots_per_request(resolved: SlotFlags, pp_rank: int = 0) -> int:
    """State slots that one running request holds.

    1 without a radix cache; else 3 (2 when the matched state is not locked while decoding) plus the tracking slots of
    the buffered strategies: 2, or 1 without overlap, or 1 when the second is taken lazily. Without a buffer the slot
    that unlocking saved is needed again.

    Raises:
        LaunchRefusedError: The lazy strategy without overlap scheduling.

    Source: the engine's ratio of slots to requests; held by the golden answers.
    """
    if resolved.disable_radix_cache:
        return 1
    base = _BASE_SLOTS_UNLOCKED if resolved.skip_decode_lock else _BASE_SLOTS
    if not resolved.enable_mamba_extra_buffer:
        return _BASE_SLOTS
    if resolved.enable_mamba_extra_buffer_lazy:
        if resolved.disable_overlap_schedule:
            raise refuse("lazy_needs_overlap", stage=f"solver[pp_rank={pp_rank}]")
        return base + 1
    return base + (1 if resolved.disable_overlap_schedule else 2)


def decode_tracking_slots(resolved: SlotFlags) -> int:
    """Tracking slots that a decode server takes for a request at once, lazy strategy or not."""
    if not resolved.enable_mamba_extra_buffer:
        return 0
    return 1 if resolved.disable_overlap_schedule else 2


def own_draft_state_layers(shape: ModelShape, resolved: ResolvedFlags, switches: Switches) -> int:
    """Layers of the model's own draft that every stage allocates among its states, without charging them."""
    listed = shape.architecture in switches.states_of_own_drafts and draft_states(resolved) > 0
    return shape.num_nextn_predict_layers or 0 if listed else 0


def draft_states(resolved: ResolvedFlags) -> int:
    """Extra states that verifying drafts takes per running request; 0 without speculation."""
    if resolved.speculative_algorithm is None:
        return 0
    return resolved.speculative_num_draft_tokens or 0
