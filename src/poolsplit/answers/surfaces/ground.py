"""What every question about one trace and one server stands on: an order, replays by split, and the pass."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from poolsplit.engines.sglang.cache_rules import cache_rules
from poolsplit.replay.config import ReplayConfig
from poolsplit.replay.ordered.order import Timing, held_by_running, order_events
from poolsplit.replay.ordered.picture import picture
from poolsplit.replay.ordered.request_tree import build_request_tree
from poolsplit.replay.ordered.run import ordered_replay
from poolsplit.surface.cells import ENDLESS, Outcome, Replays

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from poolsplit.replay.ordered.order import Held
    from poolsplit.replay.ordered.request_tree import Ints, RequestTree
    from poolsplit.replay.ordered.run import OrderedResult
    from poolsplit.surface.cells import Split
    from poolsplit.traces.trace import Trace

MOST_WORKERS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """One trace in one order, under one cache law."""

    trace: Trace
    config: ReplayConfig
    """Options of the server; its pool sizes are replaced."""
    timing: Timing
    tree: RequestTree
    events: NDArray[np.int64]
    held: Held
    endless: OrderedResult
    """The replay with pools that never fill."""
    replays: Replays

    @property
    def input_tokens(self) -> int:
        """Of the whole trace."""
        return int(self.tree.prompt.sum())

    @property
    def mean_context_tokens(self) -> float:
        """Mean input and output of one request."""
        return float((self.tree.prompt + self.tree.output).mean())

    @property
    def states_peak(self) -> int:
        """Slots in use when nothing is ever evicted."""
        return self.endless.states_peak

    def hits(self, sizes: tuple[Sequence[int], Sequence[int]]) -> Ints:
        """Cached tokens at every pair of sizes by the pass."""
        return picture(self.config, self.tree, self.events, sizes)


def ground_of(trace: Trace, *, version: str, server: Mapping[str, Any], timing: Timing) -> Ground:
    """Puts a trace in order and runs it once with endless pools.

    Raises:
        InputError: Lengths only, no times where they are needed, or options that cannot go together.
    """
    block_tokens = trace.require_blocks("a replay of its order")
    if timing.mode == "recorded":
        trace.require_clock("an order by recorded times")
    options = {**server, "kv_tokens": ENDLESS, "state_slots": ENDLESS}
    config = ReplayConfig(rules=cache_rules(version), **options)
    tree = build_request_tree(trace, block_tokens)
    events = order_events(trace, timing)
    return Ground(
        trace=replace(trace, think_s=np.minimum(trace.think_s, timing.longest_think_s)),
        config=config,
        timing=timing,
        tree=tree,
        events=events,
        held=held_by_running((tree.prompt, tree.output), events),
        endless=ordered_replay(config, tree, events),
        replays=Replays(run=runner(config, tree, events), input_tokens=int(tree.prompt.sum())),
    )


def serves_nobody(config: ReplayConfig, split: Split) -> Literal["state", "kv"] | None:
    """The pool that is too small for one request or one page, whatever replays the split."""
    if split.kv_tokens < config.page_tokens:
        return "kv"
    return "state" if split.state_slots < config.slots_per_request else None


def runner(config: ReplayConfig, tree: RequestTree, events: NDArray[np.int64]) -> Any:
    """Replays several splits at once: the kernel lets other threads run."""

    def one(split: Split) -> Outcome:
        short_of = serves_nobody(config, split)
        if short_of is not None:
            return Outcome(cached_tokens=0, out_of=short_of)
        sized = replace(config, state_slots=split.state_slots, kv_tokens=split.kv_tokens)
        result = ordered_replay(sized, tree, events)
        return Outcome(cached_tokens=result.cached_tokens, out_of=result.out_of)

    def run(splits: Sequence[Split]) -> list[Outcome]:
        if len(splits) == 1:
            return [one(splits[0])]
        with ThreadPoolExecutor(min(MOST_WORKERS, os.cpu_count() or 1)) as pool:
            return list(pool.map(one, splits))

    return run
