"""What single log lines say about a server's memory, in words of no engine.

A printed size is rounded, so it is kept with its rounding step and compared as an interval. A field that a line does
not carry is None.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from poolsplit.units import GIB

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class PrintedSize:
    """A size as a log prints it: a rounded number of units."""

    value: float
    step: float
    """Distance of two neighbouring printed values: 0.01 for two decimals."""
    unit_bytes: int = GIB

    @property
    def low_bytes(self) -> float:
        """Smallest true size that prints so."""
        return (self.value - self.step / 2) * self.unit_bytes

    @property
    def high_bytes(self) -> float:
        """Largest true size that prints so."""
        return (self.value + self.step / 2) * self.unit_bytes

    def holds(self, size_bytes: float) -> bool:
        """Whether a true size may print as this value."""
        slack_bytes = 1  # NOTE: the engine rounds a binary float, which may fall on either side of an exact half
        return self.low_bytes - slack_bytes <= size_bytes <= self.high_bytes + slack_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class StatePool:
    """The state pool's allocation line."""

    state_slots: int | None = None
    conv: PrintedSize | None = None
    ssm: PrintedSize | None = None
    scratch_ssm: PrintedSize | None = None
    scratch_conv: PrintedSize | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RingBuffers:
    """Replay rings beside the state pool."""

    record_len: int | None
    sizes: tuple[PrintedSize, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointPool:
    """A second pool that keeps cached states in eight bits."""

    slots: int
    size: PrintedSize | None
    active_slots: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class KvPool:
    """A KV pool's allocation line: the target's first, a draft's after it."""

    dtype: str | None = None
    tokens: int | None = None
    k: PrintedSize | None = None
    v: PrintedSize | None = None
    kv: PrintedSize | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowPool:
    """Tokens of a full-attention and a sliding-window pool side by side."""

    full_tokens: int | None
    window_tokens: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class UnifiedPool:
    """One buffer that both kinds of memory share."""

    total_bytes: int | None = None
    kv_tokens: int | None = None
    state_slots: int | None = None
    requests: int | None = None
    state_to_kv_ratio: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ElasticPool:
    """A state pool whose memory is mapped on demand by a layer below the engine."""

    slots: int | None = None
    state_layers: int | None = None
    padded_bytes_per_layer_slot: int | None = None
    raw_bytes_per_layer_slot: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Available:
    """Free device memory at one moment of the start: `load_begin` or `pool_end`."""

    moment: str
    available: PrintedSize | None


@dataclass(frozen=True, slots=True, kw_only=True)
class BaselineUse:
    """Memory that the process group took before the weights."""

    used: PrintedSize | None


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightLoad:
    """The end of one weight load."""

    model_class: str | None = None
    quantization: str | None = None
    available: PrintedSize | None = None
    used: PrintedSize | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphCapture:
    """The end of one graph capture."""

    what: str
    used: PrintedSize | None = None
    available: PrintedSize | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageReserve:
    """KV budget held back for images."""

    size: PrintedSize


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """The last line of a start: what was granted."""

    kv_tokens: int | None = None
    max_running_requests: int | None = None
    context_len: int | None = None
    chunked_prefill_size: int | None = None
    max_prefill_tokens: int | None = None
    available: PrintedSize | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestCap:
    """Running requests limited by the state pool."""

    granted: int | None
    state_slots: int | None = None
    slots_per_request: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class KvReduction:
    """Running requests limited by the KV pool."""

    requested: int
    granted: int


@dataclass(frozen=True, slots=True, kw_only=True)
class HostKv:
    """A host copy of the KV pool; host lines print 10^9 bytes as GB."""

    tokens: int | None
    size: PrintedSize | None


@dataclass(frozen=True, slots=True, kw_only=True)
class HostState:
    """A host copy of the state pool; host lines print 10^9 bytes as GB."""

    slots: int | None
    size: PrintedSize | None
    layout: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineError:
    """A refusal, an assertion or a failed check."""

    id: str
    figures: Mapping[str, int | float]
    text: str
    fatal: bool
    """Whether the server ends with it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """What the server was asked for: flag name to value, as the log shows it."""

    form: str
    """`arguments` for a dump of the resolved arguments, `command` for a launch line."""
    values: Mapping[str, object]
    command: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseHint:
    """A line that only some releases print."""

    first: str | None
    last: str | None
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A moment of the server's life without figures: `init`, `graph_begin`, `ready`, `exit`, `truncated_cap` ..."""

    what: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """One periodic line of a running server."""

    kind: str
    """`prefill` or `decode`."""
    running: int | None = None
    queue: int | None = None
    new_tokens: int | None = None
    cached_tokens: int | None = None
    kv_tokens: int | None = None
    kv_usage_fraction: float | None = None
    state_slots: int | None = None
    state_usage_fraction: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Retraction:
    """Running requests sent back to the queue because the KV pool was full."""

    requests: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignLine:
    """A line of an engine that we recognise but do not plan for."""

    engine: str
    figures: Mapping[str, int | float | str]
    text: str


Fact = (
    StatePool
    | RingBuffers
    | CheckpointPool
    | KvPool
    | WindowPool
    | UnifiedPool
    | ElasticPool
    | Available
    | BaselineUse
    | WeightLoad
    | GraphCapture
    | ImageReserve
    | Summary
    | RequestCap
    | KvReduction
    | HostKv
    | HostState
    | EngineError
    | Launch
    | ReleaseHint
    | Mark
    | Batch
    | Retraction
    | ForeignLine
)
