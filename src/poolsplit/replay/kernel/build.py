"""From a config and a workload to the kernel's arrays, and from small arrays to larger ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from poolsplit.replay.arithmetic import NONE, new_tokens_asked
from poolsplit.replay.config import EVICTIONS, ORDERS
from poolsplit.replay.kernel.admission import NOBODY
from poolsplit.replay.kernel.layout import CHUNK, COUNTER, FREED, LEAF, NODE, OPTION, REQUEST, ROW, RUN, World
from poolsplit.replay.plan import planned_output

if TYPE_CHECKING:
    from poolsplit.replay.config import ReplayConfig
    from poolsplit.replay.workload import Workload

Array = np.ndarray[Any, Any]

FIRST_NODES = 256
LEAVES_A_NODE = 4
"""Heap entries a node before stale ones are dropped."""
BOTH_BATCHES = 2


def build_world(config: ReplayConfig, workload: Workload, *, notes_freed: bool) -> World:
    """Everything at its start: empty pools' trees, all requests unsent."""
    runs, requests = _sequences(config, workload)
    count = len(workload.requests)
    outstanding = min(workload.outstanding_cap, count)
    cap = config.running_cap
    return World(
        option=_options(config, workload, notes_freed=notes_freed),
        now=_counters(config),
        runs=runs,
        requests=requests,
        nodes=np.zeros(FIRST_NODES, NODE),
        table=np.zeros(_table_size(FIRST_NODES), np.int64),
        leaves=np.zeros(LEAVES_A_NODE * FIRST_NODES, LEAF),
        running=np.zeros(2 * cap + 2, np.int64),
        waiting=np.zeros(count + 2 * outstanding + cap + 2, np.int64),
        rows=np.zeros((BOTH_BATCHES, 2 * cap + 2), ROW),
        scratch=np.zeros((3, FIRST_NODES), np.int64),
        chunks=np.zeros(2 * FIRST_NODES, CHUNK),
        freed=np.zeros(4 * FIRST_NODES if notes_freed else 0, FREED),
        busy=np.zeros(2 * cap + 3, np.int64),
    )


def grow(w: World) -> World:
    """The same world with twice the room for nodes and logs."""
    now = w.now[0]
    nodes = _enlarged(w.nodes)
    grown = w._replace(
        nodes=nodes,
        table=np.zeros(_table_size(nodes.size), np.int64),
        leaves=_enlarged(w.leaves),
        scratch=np.zeros((3, 2 * nodes.size + w.requests.size), np.int64),
        chunks=_enlarged(w.chunks) if 2 * now["chunks"] > w.chunks.size else w.chunks,
        freed=_enlarged(w.freed),
    )
    now["table_is_stale"] = True
    return grown


def _enlarged(array: Array) -> Array:
    larger = np.zeros(2 * array.size, array.dtype)
    larger[: array.size] = array
    return larger


def _table_size(nodes: int) -> int:
    return 1 << (2 * nodes - 1).bit_length()


def _sequences(config: ReplayConfig, workload: Workload) -> tuple[Array, Array]:
    """Every request's prompt and planned output as runs, and its unsent record."""
    requests = np.zeros(len(workload.requests), REQUEST)
    origins: list[int] = []
    ends: list[int] = []
    for request, record in zip(workload.requests, requests, strict=True):
        prompt = request.prompt_tokens
        max_new = new_tokens_asked(
            request.asked_tokens, prompt, config.request_limit_tokens, config.kv_tokens, config.page_tokens
        )
        output = planned_output(request, max_new)
        record["first_run"], record["prompt"], record["max_new"] = len(origins), prompt, max_new
        record["final_outputs"] = sum(count for _, count in output)
        record["ignores_stop"], record["arrival"] = request.ignores_stop, request.arrival_step
        record["last"] = record["previous"] = record["branch"] = record["matched"] = NONE
        record["reopens"] = True
        position = 0
        for start, count in (*request.prompt, *output):
            origins.append(start - position)
            position += count
            ends.append(position)
    runs = np.zeros(len(origins), RUN)
    runs["origin"], runs["end"] = origins, ends
    return runs, requests


def _counters(config: ReplayConfig) -> Array:
    now = np.zeros(1, COUNTER)
    now["nodes_used"] = 1
    now["kv_free"] = now["least_kv_free"] = config.kv_capacity_tokens
    now["state_free"] = now["least_state_free"] = config.state_slots
    now["chunked"] = now["cut"] = NOBODY
    now["ratio"] = config.first_new_token_ratio
    return now


def _options(config: ReplayConfig, workload: Workload, *, notes_freed: bool) -> Array:
    rules = config.rules
    values: dict[str, int | float | bool] = {
        "page": config.page_tokens,
        "kv_capacity": config.kv_capacity_tokens,
        "state_slots": config.state_slots,
        "grid": config.checkpoint_grid_tokens,
        "step": config.state_step_tokens,
        "kernel_chunk": config.state_chunk_tokens,
        "track_grid": config.track_grid_tokens,
        "chunk_tokens": config.chunk_tokens,
        "max_prefill_tokens": config.max_prefill_tokens,
        "path_cap": config.max_states_per_path or 0,
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
        "outstanding_cap": workload.outstanding_cap,
        "overlap": config.overlap,
        "tracks": config.tracks,
        "lazy": config.lazy,
        "skip_decode_lock": config.skip_decode_lock,
        "refresh": config.refresh_waiting,
        "mixed": config.mixed_chunks,
        "by_arrival": workload.mode == "arrivals",
        "sequential": workload.mode == "sequential",
        "bare_node_locks": rules.bare_node_locks,
        "lazy_lock_release": rules.lazy_lock_release,
        "notes_freed": notes_freed,
        "first_ratio": config.first_new_token_ratio,
        "least_ratio": config.least_new_token_ratio,
        "ratio_decay": config.new_token_decay,
    }
    option = np.zeros(1, OPTION)
    for name, value in values.items():
        option[name] = value
    return option
