"""From a config and tables of requests to the kernel's world, and from small arrays to larger ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from poolsplit.replay.config import EVICTIONS, ORDERS
from poolsplit.replay.kernel.admission import NOBODY
from poolsplit.replay.kernel.layout import CHUNK, COUNTER, FREED, HOSTED, LEAF, NODE, NOTE, OPTION, ROW, WORK, World

if TYPE_CHECKING:
    from collections.abc import Callable

    from poolsplit.replay.config import ReplayConfig
    from poolsplit.replay.kernel.tables import Tables
    from poolsplit.replay.workload import Workload

Array = np.ndarray[Any, Any]

FIRST_NODES = 256
LEAVES_A_NODE = 4
"""Heap entries a node before stale ones are dropped."""
WORKS_A_NODE = 2
"""Copies and loads a node that can be under way at once: each is of a node of its own, and a node can have both."""
BOTH_BATCHES = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Sending:
    """How requests are sent to the server."""

    outstanding_cap: int
    """Most requests outstanding at once."""
    by_arrival: bool = False
    """Each at its own scheduler iteration."""
    sequential: bool = False
    """One after the other, with an idle moment between."""
    clocked: bool = False
    """By due times in seconds, which followers get when the request before them ends."""
    lanes: int = 0
    """Sessions that are open at once in a closed loop."""
    prefill_s_a_token: float = 0.0
    """Seconds of one prefill token."""
    step_s: Callable[[int], float] = lambda rows: 0.0  # noqa: ARG005
    """Seconds of one decode step, by its rows."""


def sending_of(workload: Workload) -> Sending:
    """How a golden workload is sent."""
    return Sending(
        outstanding_cap=workload.outstanding_cap,
        by_arrival=workload.mode == "arrivals",
        sequential=workload.mode == "sequential",
    )


def build_world(
    config: ReplayConfig,
    tables: Tables,
    sending: Sending,
    *,
    notes_freed: bool = False,
    journals: bool = False,
    nodes: int = FIRST_NODES,
) -> World:
    """Everything at its start: empty pools, all requests unsent.

    Args:
        config: The server.
        tables: The requests.
        sending: How they are sent.
        notes_freed: Log every span and state that leaves the tree.
        journals: Keep the journal that reuse is explained from.
        nodes: Room for nodes at the start.
    """
    count = tables.requests.size
    outstanding = min(sending.outstanding_cap, count)
    cap = min(config.running_cap, count)
    rows = 2 * cap + 3
    return World(
        option=_options(config, sending, notes_freed=notes_freed, journals=journals),
        now=_counters(config, tables),
        runs=tables.runs,
        requests=tables.requests,
        nodes=np.zeros(nodes, NODE),
        table=np.zeros(_table_size(nodes), np.int64),
        leaves=np.zeros(LEAVES_A_NODE * nodes, LEAF),
        hosted=np.zeros(1 if config.host is None else nodes, HOSTED),
        host_leaves=np.zeros(0 if config.host is None else LEAVES_A_NODE * nodes, LEAF),
        under_way=np.zeros(0 if config.host is None else WORKS_A_NODE * nodes, WORK),
        running=np.zeros(rows, np.int64),
        waiting=np.zeros(count + 2 * outstanding + cap + 2, np.int64),
        rows=np.zeros((BOTH_BATCHES, rows), ROW),
        scratch=np.zeros((3, nodes), np.int64),
        chunks=np.zeros(2 * FIRST_NODES, CHUNK),
        freed=np.zeros(4 * FIRST_NODES if notes_freed else 0, FREED),
        busy=np.zeros(rows, np.int64),
        due=tables.due,
        sessions=tables.sessions,
        step_s=np.array([sending.step_s(n) for n in range(rows)]),
        journal=np.zeros(4 * FIRST_NODES if journals else 0, NOTE),
    )


def grow(w: World) -> World:
    """The same world with room for what it says that it needs."""
    now = w.now[0]
    grown = w._replace(
        chunks=_enlarged(w.chunks, now["need_chunks"]),
        freed=_enlarged(w.freed, now["need_freed"]),
        journal=_enlarged(w.journal, now["need_notes"]),
    )
    if now["need_scratch"] > w.scratch.shape[1]:
        grown = grown._replace(scratch=np.zeros((3, 2 * int(now["need_scratch"])), np.int64))
    if now["need_nodes"] <= w.nodes.size:
        return grown
    now["table_is_stale"] = True
    nodes = _enlarged(w.nodes, now["need_nodes"])
    grown = grown._replace(
        nodes=nodes,
        table=np.zeros(_table_size(nodes.size), np.int64),
        leaves=_enlarged(w.leaves, LEAVES_A_NODE * nodes.size),
    )
    if not w.option[0]["host"]:
        return grown
    return grown._replace(
        hosted=_enlarged(w.hosted, nodes.size),
        host_leaves=_enlarged(w.host_leaves, LEAVES_A_NODE * nodes.size),
        under_way=_enlarged(w.under_way, WORKS_A_NODE * nodes.size),
    )


def _enlarged(array: Array, need: int) -> Array:
    if need <= array.size:
        return array
    larger = np.zeros(2 * int(need), array.dtype)
    larger[: array.size] = array
    return larger


def _table_size(nodes: int) -> int:
    return 1 << (2 * nodes - 1).bit_length()


def _counters(config: ReplayConfig, tables: Tables) -> Array:
    now = np.zeros(1, COUNTER)
    now["nodes_used"] = 1
    now["kv_free"] = now["least_kv_free"] = config.kv_capacity_tokens
    now["state_free"] = now["least_state_free"] = config.state_capacity_slots
    if config.host is not None:
        now["host_kv_free"] = now["least_host_kv_free"] = config.host_kv_capacity_tokens
        now["host_state_free"] = now["least_host_state_free"] = config.host.state_slots
    now["chunked"] = now["cut"] = NOBODY
    now["due"] = tables.due_count
    now["ratio"] = config.first_new_token_ratio
    return now


def _buffer(config: ReplayConfig) -> dict[str, int | float | bool]:
    """Options of unified memory."""
    if config.unified is None or config.buffer is None:
        return {}
    return {
        "unified": True,
        "free_bytes": config.buffer.free_bytes,
        "page_bytes": config.buffer.page_bytes,
        "slot_bytes": config.unified.slot_bytes,
        "first_slot": config.buffer.first_slot,
        "slot_cost": config.unified.slot_cost_tokens,
    }


def _options(config: ReplayConfig, sending: Sending, *, notes_freed: bool, journals: bool) -> Array:
    rules = config.rules
    values: dict[str, int | float | bool] = {
        "page": config.page_tokens,
        "kv_capacity": config.kv_capacity_tokens,
        "state_slots": config.state_slots,
        "state_capacity": config.state_capacity_slots,
        **_buffer(config),
        "grid": config.checkpoint_grid_tokens,
        "step": config.state_step_tokens,
        "kernel_chunk": config.state_chunk_tokens,
        "track_grid": config.track_grid_tokens,
        "chunk_tokens": config.chunk_tokens,
        "max_prefill_tokens": config.max_prefill_tokens,
        "path_cap": config.path_cap or 0,
        "running_cap": config.running_cap,
        "tracking_slots": config.tracking_slots,
        "eviction": EVICTIONS.index(config.eviction),
        "order": ORDERS.index(config.order),
        "decode_clip": rules.decode_clip_tokens,
        "retract_free": rules.retract_free_tokens,
        "refresh_every": rules.refresh_every_passes,
        "refresh_requests": rules.refresh_requests,
        "shared_head": rules.shared_head_tokens,
        "input_limit": config.request_limit_tokens - rules.input_margin_tokens,
        "outstanding_cap": sending.outstanding_cap,
        "lanes": sending.lanes,
        "clocked": sending.clocked,
        "prefill_s_a_token": sending.prefill_s_a_token,
        "journals": journals,
        "overlap": config.overlap,
        "tracks": config.tracks,
        "lazy": config.lazy,
        "skip_decode_lock": config.skip_decode_lock,
        "refresh": config.refresh_waiting,
        "mixed": config.mixed_chunks,
        "by_arrival": sending.by_arrival,
        "sequential": sending.sequential,
        "bare_node_locks": rules.bare_node_locks,
        "lazy_lock_release": rules.lazy_lock_release,
        "sparse": rules.sparse_checkpoints,
        "refreshes_whole_path": rules.refreshes_whole_path,
        "notes_freed": notes_freed,
        "host": config.host is not None,
        "writes_back": config.host is not None and config.host.writes_back,
        "hits_before_copy": 0 if config.host is None else config.host.hits_before_copy,
        "first_ratio": config.first_new_token_ratio,
        "least_ratio": config.least_new_token_ratio,
        "ratio_decay": config.new_token_decay,
    }
    option = np.zeros(1, OPTION)
    for name, value in values.items():
        option[name] = value
    return option
