"""The arrays of the ordered replay: one record type a noun, everything a replay knows."""

from __future__ import annotations

from typing import Any, NamedTuple, cast

import numpy as np

ROOT = 0
"""The root's node; as a link it means "no node", and it is the sentinel of the list of states."""

RUNNING, DONE, GROW, OUT_OF_STATES, OUT_OF_KV = 0, 1, 2, 3, 4
"""Why the kernel returned."""

_INT_FIELDS = {
    "node": (
        "parent", "first_segment", "last_segment", "start", "end", "own_time", "path_time", "children", "kv_locks",
        "state_locks", "older_state", "newer_state", "queued", "birth",
        "state_tick", "toucher",
    ),
    "segment": ("parent", "start", "node", "birth", "place"),
    "leaf": ("time", "node"),
    "request": (
        "prompt", "output", "last_segment", "lock", "protected", "prefix", "committed", "chunk_end", "tracking",
        "snapshot", "branch", "matched", "kv_matched", "consumed",
    ),
    "counter": (
        "status", "event", "starts", "ticks", "state_ticks", "nodes_used", "free_list", "free_listed", "leaves",
        "births", "kv_free", "state_free", "kv_evicted", "states_evicted", "cap_states_evicted", "held_states",
        "least_kv_free", "least_state_free", "peak_held_states", "path",
    ),
    "option": (
        "page", "grid", "step", "kernel_chunk", "track_grid", "chunk_tokens", "path_cap", "tracking_slots",
        "refresh_every",
    ),
}  # fmt: skip
_FLAGS = {
    "node": ("has_state",),
    "request": ("holds_slot", "holds_state"),
    "counter": ("table_is_stale",),
    "option": ("overlap", "tracks", "lazy", "skip_decode_lock", "bare_node_locks", "lazy_lock_release"),
}


def _record(name: str) -> np.dtype[Any]:
    kinds = ((_INT_FIELDS, np.int64), (_FLAGS, np.bool_))
    fields = [(field, kind) for table, kind in kinds for field in table.get(name, ())]
    return np.dtype(cast("list[tuple[str, Any]]", fields), align=True)


NODE = _record("node")
"""A span of cached tokens, depths `start` to `end` on the path that ends in `last_segment`.

`path_time` is the last walk that ended here or below a leaf that is gone from here; the engine writes it into every
node above at once, which matters only once they are leaves."""
SEGMENT = _record("segment")
"""A range of the static tree; `node` is a cached node that was seen to end in it, if `birth` is still its own."""
LEAF = _record("leaf")
REQUEST = _record("request")
COUNTER = _record("counter")
OPTION = _record("option")


class World(NamedTuple):
    """Everything that a replay knows."""

    option: np.ndarray[Any, Any]
    now: np.ndarray[Any, Any]
    events: np.ndarray[Any, Any]
    """Rows in order: `r` starts, `-1 - r` finishes."""
    requests: np.ndarray[Any, Any]
    segments: np.ndarray[Any, Any]
    nodes: np.ndarray[Any, Any]
    table: np.ndarray[Any, Any]
    """Open-addressing table of nodes by parent and first range."""
    leaves: np.ndarray[Any, Any]
    """Min-heap of evictable leaves with stale entries."""
    path: np.ndarray[Any, Any]
    """Ranges of the path at hand, deepest first."""
