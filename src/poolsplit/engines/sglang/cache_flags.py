"""The engine's flags for what a replay can vary, and the values worth a try."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

_FLAGS = {
    "chunk_tokens": "--chunked-prefill-size",
    "track_interval_tokens": "--mamba-track-interval",
    "max_states_per_path": "--mamba-max-states-per-path",
    "strategy": "--mamba-radix-cache-strategy",
    "eviction": "--radix-eviction-policy",
    "order": "--schedule-policy",
}
"""Field of a replayed server and the engine's flag."""
CACHE_LEVERS: dict[str, tuple[Any, ...]] = {
    "chunk_tokens": (2048, 4096, 8192, 16384, 32768),
    "track_interval_tokens": (64, 128, 256, 512, 1024),
    "max_states_per_path": (None, 1, 2, 3, 4),
    "strategy": ("extra_buffer", "extra_buffer_lazy", "no_buffer"),
    "eviction": ("lru", "lfu", "slru", "fifo", "mru", "filo"),
    "order": ("fcfs", "lpm", "dfs-weight", "lof"),
}
"""Values that are tried, one field at a time."""
_NO_CAP = "-1"
_WITHOUT_OVERLAP = "no_buffer"


def cache_flags(field: str, value: object) -> tuple[str, ...]:
    """Flags that set one field of a replayed server."""
    words = (_FLAGS[field], _NO_CAP if value is None else str(value))
    return (*words, "--disable-overlap-schedule") if value == _WITHOUT_OVERLAP else words


def cache_changes(field: str, value: object) -> Iterator[tuple[str, Any]]:
    """Fields that one value sets: a strategy brings its overlap along."""
    yield field, value
    if field == "strategy":
        yield "overlap", value != _WITHOUT_OVERLAP
