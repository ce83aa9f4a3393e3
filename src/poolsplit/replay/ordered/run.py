"""One ordered replay: arrays, kernel, and what it adds up to."""

from __future__ import annotations

import hashlib
import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numba
import numpy as np

from poolsplit.errors import InputError
from poolsplit.replay import arithmetic
from poolsplit.replay.arithmetic import NONE
from poolsplit.replay.kernel.layout import compiled
from poolsplit.replay.ordered import cache, layout, life, pools, tree
from poolsplit.replay.ordered.layout import (
    COUNTER,
    DONE,
    GROW,
    LEAF,
    NODE,
    OPTION,
    OUT_OF_KV,
    OUT_OF_STATES,
    REQUEST,
    RUNNING,
    SEGMENT,
    World,
)
from poolsplit.replay.ordered.request_tree import align

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from poolsplit.replay.config import ReplayConfig
    from poolsplit.replay.ordered.request_tree import Ints, RequestTree

FIRST_NODES = 1 << 12
SPARE_NODES = 16
_SOURCES = (arithmetic, layout, tree, pools, cache, life)


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderedResult:
    """What survived at one split, in one order.

    Shapes:
        matched, kv_matched: (requests,)
    """

    matched: Ints
    """Tokens of each prompt that were reused."""
    kv_matched: Ints
    """Tokens of it whose KV was cached, with a state at their end or without."""
    kv_evicted: int
    """KV tokens that left the tree."""
    states_evicted: int
    """States that left it."""
    kv_peak: int
    """Most KV tokens in use, cached ones included."""
    held_states_peak: int
    """Most state slots that running requests held at once, locked checkpoints not counted."""
    states_peak: int
    """Most state slots in use, cached ones included."""
    out_of: Literal["state", "kv"] | None
    """`state` or `kv` when what ran at once did not fit; then nothing else counts."""

    @property
    def cached_tokens(self) -> int:
        """Input tokens reused."""
        return int(self.matched.sum())


_OUT_OF: dict[int, Literal["state", "kv"] | None] = {OUT_OF_STATES: "state", OUT_OF_KV: "kv", DONE: None}


def ordered_replay(config: ReplayConfig, requests: RequestTree, events: NDArray[np.int64]) -> OrderedResult:
    """Replays starts and finishes in the given order.

    Args:
        config: Pools and options; least-recently-used eviction only.
        requests: Prompts and answers.
        events: `r` where row r starts, `-1 - r` where it finishes.

    Raises:
        InputError: An eviction policy that the ordered replay does not follow.

    Source: docs/replay.md, 1 to 6. Held by tests/property/test_ordered_replay.py.
    Known error:
        No admission and no retraction; answers take their KV at the start; chunks of one request are not interleaved
        with others'. One request at a time, nothing of this shows.
    """
    if config.eviction != "lru":
        raise InputError(
            f"the ordered replay evicts the least recently used, not by `{config.eviction}`",
            hint="use `poolsplit replay` for other eviction policies",
        )
    w = build_world(config, align(requests, config.page_tokens), events)
    kernel = kernel_of("events", _compile_events, (run_events,))
    while True:
        status = kernel(w)
        if status != GROW:
            break
        w = grow(w)
    return _result(config, w, status)


def _result(config: ReplayConfig, w: World, status: int) -> OrderedResult:
    now = w.now[0]
    return OrderedResult(
        matched=w.requests["matched"].copy(),
        kv_matched=w.requests["kv_matched"].copy(),
        kv_evicted=int(now["kv_evicted"]),
        states_evicted=int(now["states_evicted"]),
        kv_peak=config.kv_capacity_tokens - int(now["least_kv_free"]),
        states_peak=config.state_slots - int(now["least_state_free"]),
        held_states_peak=int(now["peak_held_states"]),
        out_of=_OUT_OF[status],
    )


def build_world(config: ReplayConfig, requests: RequestTree, events: NDArray[np.int64]) -> World:
    """Arrays of a replay that has not begun."""
    rows = len(requests)
    w = World(
        option=np.zeros(1, OPTION),
        now=np.zeros(1, COUNTER),
        events=np.ascontiguousarray(events, dtype=np.int64),
        requests=np.zeros(rows, REQUEST),
        segments=np.zeros(2 * rows, SEGMENT),
        nodes=np.zeros(FIRST_NODES, NODE),
        table=np.zeros(4 * FIRST_NODES, np.int64),
        leaves=np.zeros(4 * FIRST_NODES, LEAF),
        path=np.zeros(2 * rows + 2, np.int64),
    )
    w.requests["prompt"], w.requests["output"] = requests.prompt, requests.output
    w.requests["last_segment"] = requests.last
    w.requests["snapshot"] = NONE
    w.segments["parent"], w.segments["start"] = requests.parent, requests.start
    _set_options(w.option, config)
    now = w.now[0]
    now["status"], now["nodes_used"] = RUNNING, 1
    now["kv_free"] = now["least_kv_free"] = config.kv_capacity_tokens
    now["state_free"] = now["least_state_free"] = config.state_slots
    return w


def _set_options(record: NDArray[Any], config: ReplayConfig) -> None:
    rules = config.rules
    values = {
        "page": config.page_tokens, "grid": config.checkpoint_grid_tokens, "step": config.state_step_tokens,
        "kernel_chunk": config.state_chunk_tokens, "track_grid": config.track_grid_tokens,
        "chunk_tokens": config.chunk_tokens, "path_cap": config.max_states_per_path or 0,
        "tracking_slots": config.tracking_slots, "overlap": config.overlap, "tracks": config.tracks,
        "lazy": config.lazy, "skip_decode_lock": config.skip_decode_lock,
        "refresh_every": rules.refresh_every_passes if config.refresh_waiting else 0,
        "bare_node_locks": rules.bare_node_locks, "lazy_lock_release": rules.lazy_lock_release,
    }  # fmt: skip
    for name, value in values.items():
        record[0][name] = value


def grow(w: World) -> World:
    """The same replay with room for twice the nodes."""
    size = 2 * w.nodes.size
    nodes = np.zeros(size, NODE)
    nodes[: w.nodes.size] = w.nodes
    leaves = np.zeros(4 * size, LEAF)
    leaves[: w.leaves.size] = w.leaves
    w.now[0]["table_is_stale"] = True
    return w._replace(nodes=nodes, leaves=leaves, table=np.zeros(4 * size, np.int64))


@compiled
def run_events(w: World) -> int:
    """Goes on to the end, or until the arrays must grow."""
    now, option = w.now[0], w.option[0]
    if now.table_is_stale:
        tree.rebuild_table(w)
    while now.event < w.events.size:
        event = w.events[now.event]
        if event < 0:
            if now.nodes_used - now.free_listed + SPARE_NODES > w.nodes.size:
                return GROW
            life.finish(w, -1 - event)
        else:
            chunks = w.requests[event].prompt // option.chunk_tokens + 2
            if now.nodes_used - now.free_listed + 3 * chunks + SPARE_NODES > w.nodes.size:
                return GROW
            life.start(w, event)
        if now.status != RUNNING:
            return now.status  # type: ignore[no-any-return]
        now.event += 1
    return DONE


_KERNELS: dict[str, Callable[..., int]] = {}


def kernel_of(name: str, compile_for: Callable[[str], Any], sources: tuple[Any, ...] = ()) -> Callable[..., int]:
    """An entry point compiled; its machine code is kept on disk under a digest of every source it is made of.

    NOTE: an entry closes over the digest alone. One that closed over a compiled function would be compiled again in
    every process, because such a function has another name in each.
    """
    if name not in _KERNELS:
        texts = map(inspect.getsource, (*_SOURCES, *sources))
        _KERNELS[name] = compile_for(hashlib.sha256("".join(texts).encode()).hexdigest())
    return _KERNELS[name]


def _compile_events(digest: str) -> Any:
    @numba.njit(cache=True, error_model="numpy", nogil=True)
    def run(w: World) -> int:
        """Named by its digest: a change in any function below makes another entry on disk."""
        _ = digest
        return run_events(w)

    return run
