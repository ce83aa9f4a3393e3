"""The arrays of the kernel, and the decorator that compiles what works on them.

One record type a noun, so `tree.nodes[n].parent` reads like the reference's `node.parent`. Everything that a replay
knows is in these arrays: it can stop after any iteration, grow an array, and go on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

import numba
import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

Records = Any
"""An array of records: its fields have no static types."""
Function = TypeVar("Function", bound="Callable[..., Any]")

ROOT = 0
"""The root's node; as a link it means "no node", and it is the sentinel of the list of states."""

MIDDLE_CHUNK, LAST_CHUNK, RIDING, DECODE = 0, 1, 2, 3
"""What a batch does for one request: the kinds of a row."""

UNSENT, LIVE, DONE, ABORTED, REJECTED, STUCK, NOT_RUN = 0, 1, 2, 3, 4, 5, 6
"""Where a request is."""

FCFS, LPM, DFS_WEIGHT, LOF = 0, 1, 2, 3
"""Orders of the queue, by position in `config.ORDERS`."""

KEYS, LISTED, ENDED = 0, 1, 2
"""Rows of scratch."""

LRU, LFU, SLRU, FIFO, MRU, FILO, PRIORITY = 0, 1, 2, 3, 4, 5, 6
"""Eviction policies, by position in `config.EVICTIONS`."""

NOTE_LOOKUP, NOTE_INSERT, NOTE_KV_EVICTED, NOTE_STATE_EVICTED = 0, 1, 2, 3
"""Kinds of journal entry: an admission's lookup, an insert with a state, a leaf that left for one pool or the other."""

FINISHED, PAUSED, GROW, OUT_OF_STATES, OUT_OF_KV = 0, 1, 2, 3, 4
"""Why the kernel returned."""

_INT_FIELDS = {
    "run": ("origin", "end"),
    "node": (
        "parent", "run", "start", "length", "first_token", "touched", "created", "hits", "kv_locks", "state_locks",
        "children", "first_child", "last_child", "older_sibling", "newer_sibling", "older_state", "newer_state",
        "queued_rank", "queued_touched", "weight",
    ),
    "hosted": (
        "device_children", "kv_pins", "state_pins", "copied_in", "loading", "queued_touched", "older_state",
        "newer_state", "older_double", "newer_double",
    ),
    "work": ("node", "segment_start"),
    "leaf": ("rank", "touched", "node"),
    "request": (
        "first_run", "prompt", "final_outputs", "max_new", "arrival", "place", "outputs", "in_flight", "committed",
        "prefix", "chunk_end", "protected", "counted", "match", "lock", "tracking", "last", "previous", "branch",
        "prefill_batches", "retractions", "matched", "done_step", "kv_evicted", "states_evicted",
        "cap_states_evicted", "kv_free", "kv_evictable", "kv_protected", "state_free", "state_evictable",
        "state_protected", "kv_matched", "found", "host_hit", "host_kv_free", "host_state_free",
        "first_follower", "next_follower", "session", "next_starter",
    ),
    "session": ("left", "first_starter"),
    "loss": ("seen", "kv_matched", "to_state", "to_kv", "to_placement", "to_length"),
    "note": ("what", "request", "position", "matched", "kv_matched"),
    "row": ("request", "part", "boundary"),
    "chunk": ("request", "opens", "step", "branch", "start", "end"),
    "freed": ("is_state", "depth", "length", "last_token"),
    "counter": (
        "nodes_used", "node_free_list", "free_listed", "ticks", "kv_free", "kv_evictable", "kv_protected",
        "state_free", "state_evictable", "state_protected", "kv_evicted", "states_evicted", "cap_states_evicted",
        "leaves", "freed", "chunks", "running", "waiting_head", "waiting_tail", "outstanding", "next_request",
        "iteration", "idle_iterations", "steps", "refresh_passes", "chunked", "launched", "launched_side", "status",
        "chosen", "cut", "input_left", "chunk_left", "promised_now", "ended", "least_kv_free", "least_state_free",
        "due", "lanes_used", "next_session", "prefill_tokens", "notes", "cap_waits", "room_waits",
        "host_kv_free", "host_state_free", "least_host_kv_free", "least_host_state_free", "host_leaves", "under_way",
        "settled", "aside", "slots_left", "copied_tokens", "copied_states", "loaded_tokens", "loaded_states",
        "need_nodes", "need_scratch", "need_chunks", "need_freed", "need_notes",
    ),
    "option": (
        "page", "kv_capacity", "state_slots", "grid", "step", "kernel_chunk", "track_grid", "chunk_tokens",
        "max_prefill_tokens", "path_cap", "running_cap", "tracking_slots", "eviction", "order", "decode_clip",
        "retract_free", "refresh_every", "refresh_requests", "shared_head", "input_limit", "outstanding_cap", "lanes",
        "hits_before_copy", "state_capacity", "free_bytes", "page_bytes", "slot_bytes", "first_slot", "slot_cost",
    ),
}  # fmt: skip
_FLAGS = {
    "node": ("has_state",),
    "hosted": ("off_device", "on_host", "has_state", "lists_state", "lists_double"),
    "work": ("holds_state",),
    "request": ("ignores_stop", "holds_slot", "holds_state", "reopens", "ended"),
    "counter": ("full", "table_is_stale"),
    "option": (
        "overlap", "tracks", "lazy", "skip_decode_lock", "refresh", "mixed", "by_arrival", "sequential",
        "bare_node_locks", "lazy_lock_release", "notes_freed", "clocked", "journals", "sparse",
        "refreshes_whole_path", "host", "writes_back", "unified",
    ),
}  # fmt: skip
_REALS = {
    "request": ("due_s", "think_s", "admitted_s", "done_s"),
    "counter": ("ratio", "promised", "clock_s"),
    "option": ("first_ratio", "least_ratio", "ratio_decay", "prefill_s_a_token"),
}


def _record(name: str) -> np.dtype[Any]:
    kinds = ((_INT_FIELDS, np.int64), (_REALS, np.float64), (_FLAGS, np.bool_))
    fields = [(field, kind) for table, kind in kinds for field in table.get(name, ())]
    return np.dtype(cast("list[tuple[str, Any]]", fields), align=True)


RUN = _record("run")
"""Token ids `origin + position` up to position `end` of a sequence."""
NODE = _record("node")
HOSTED = _record("hosted")
"""What the host has of a node; the root's is the sentinel of its two lists."""
WORK = _record("work")
"""A copy or a load that was begun in this iteration and holds its node until the next."""
LEAF = _record("leaf")
"""Entry of the heap of evictable leaves; stale when its rank or time is no longer the node's."""
REQUEST = _record("request")
ROW = _record("row")
SESSION = _record("session")
NOTE = _record("note")
"""Journal entry; for a leaf that left, `matched` is where it began."""
LOSS = _record("loss")
"""What became of the reuse that one request could have had, in tokens."""
CHUNK = _record("chunk")
FREED = _record("freed")
COUNTER = _record("counter")
OPTION = _record("option")


class World(NamedTuple):
    """Everything that a replay knows."""

    option: Records
    """One record: the server's options."""
    now: Records
    """One record: pools, counters and cursors."""
    runs: Records
    """Runs of all sequences, each sequence's in one piece."""
    requests: Records
    nodes: Records
    table: Records
    """Open-addressing table of children, by parent and first token."""
    leaves: Records
    """Min-heap of evictable leaves with stale entries."""
    hosted: Records
    """One record a node with a host tier, else one alone."""
    host_leaves: Records
    """Min-heap of leaves that are on the host alone."""
    under_way: Records
    running: Records
    waiting: Records
    rows: Records
    """Two batches: the one launched before and the one of this iteration."""
    scratch: Records
    """Room for lists: keys or nodes, requests, and the requests that ended in this iteration."""
    chunks: Records
    """Log of prefill chunks."""
    freed: Records
    """Log of what left the tree."""
    busy: Records
    """Iterations by the number of requests in their batch."""
    due: Records
    """Min-heap of requests that wait for their time to be sent."""
    sessions: Records
    step_s: Records
    """Seconds of a decode step, by its rows."""
    journal: Records
    """What was looked up, inserted and lost, in order: what became of reuse is told from it."""


_OPTIONS: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, "_nrt": False, "error_model": "numpy"}


def compiled(function: Function) -> Function:
    """Compiles a function when it is first called from the kernel; it cannot be called from Python.

    NOTE: wrappers for Python, reference counts, which a function that allocates nothing does not need, and one copy of
    a function for each constant that it is called with would more than double the time to compile.
    """
    unliteral: Callable[[Any], Any] = numba.types.unliteral
    dispatcher = numba.njit(**_OPTIONS)(function)
    template = dispatcher.get_call_template
    dispatcher.get_call_template = lambda args, kws: template([unliteral(a) for a in args], kws)
    return cast("Function", dispatcher)
