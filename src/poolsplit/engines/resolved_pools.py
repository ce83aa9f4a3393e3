"""The two pools of one launch as the engine will build them."""

from __future__ import annotations

from dataclasses import dataclass

Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class StateGeometry:
    """One state slot on one rank: shapes of one layer, dtypes, bytes over all state layers of the model."""

    conv_shapes: tuple[Shape, ...]
    temporal_shape: Shape
    conv_dtype: str
    state_dtype: str
    layers: int
    bytes_per_slot: int
    """Over all state layers of the model, on one rank."""
    charged_bytes_per_slot: int
    """What the solver charges a rank for one slot: the share of the widest pipeline stage."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StatePool:
    """The state pool of one rank, and what it leaves."""

    arm: str
    """Which rule set the slots: pinned, from_requests, auto_verify or auto."""
    state_slots: int
    budget_bytes: float | None
    """Bytes that the ratio gives to the state; None where the ratio is not read."""
    pool_bytes: int
    """Slots, the padding slot and replay rings."""
    verify_bytes: int
    """Scratch for verifying drafts."""
    rest_gib: float
    """What is left for KV rows, in GiB, as the engine's float."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StagePools:
    """One pipeline stage: its layers and what one rank of it holds."""

    start_layer: int
    end_layer: int
    state_layers: int | None
    """None for a model without state layers."""
    kv_layers: int | None
    rest_gib: float
    """Left for both pools before the split."""
    state: StatePool | None
    kv_budget_bytes: int
    """Left for KV rows after the state pool."""
    kv_bytes_per_token: int | float
    """Draft layers included; a float where a window pool rides along in its ratio."""
    kv_tokens: int
    window_tokens: int | None
    """Rows of a window pool of its own; None without one."""
    max_running_requests: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedPools:
    """What a start-up resolves; the figures of the first stage are those that the engine's last line prints."""

    state_slots: int | None
    """Usable state slots per rank (the pool allocates one more); a model without state layers echoes
    what was pinned, or None."""
    kv_tokens: int
    """KV rows per rank."""
    logical_tokens: int
    """Tokens of requests that those rows hold under decode context parallelism."""
    full_tokens: int | None
    window_tokens: int | None
    """Rows of the full and the window pool; None without a window pool."""
    unified_bytes: int | None
    """Byte budget of the KV side under unified memory."""
    max_running_requests: int
    """Granted, per data-parallel worker."""
    slots_per_request: int | None
    draft_states: int
    state: StateGeometry | None
    kv_dtype: str
    context_len: int
    stages: tuple[StagePools, ...]
    pp_max_micro_batch_size: int
    launcher_reason: str | None = None
    """Why the launcher would refuse this launch although the solver answers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StateSizes:
    """What one rank allocates for states."""

    rows: int
    """Slots of the state pool with the padding slot."""
    conv_bytes: int
    recurrent_bytes: int
    verify_recurrent_bytes: int | None
    """Recurrent states kept while drafts are verified; None where there are none."""
    verify_conv_bytes: int | None
    ring_bytes: int | None
    """Rings of the replayed verification; None without them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KvSizes:
    """What one rank allocates for the target's KV rows, without a draft's."""

    rows: int
    """KV rows with the padding page."""
    k_bytes: int | None
    """Keys and values apart; None for rows that hold both, or scales besides."""
    v_bytes: int | None
    kv_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RankFigures:
    """What one rank of a stage allocates, as a start-up log prints it; bytes are exact."""

    stage: int
    state: StateSizes | None
    """None for a model without state layers."""
    kv: KvSizes
