"""The scheduler's iteration: admit, decode, retract, and process results (docs/replay.md sections 6 to 8)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from poolsplit.replay.arithmetic import NONE
from poolsplit.replay.reference.admission import PrefillPass, Verdict
from poolsplit.replay.reference.cache import Cache
from poolsplit.replay.reference.holdings import Holdings
from poolsplit.replay.reference.ordering import QueueOrder
from poolsplit.replay.workload import Admission

if TYPE_CHECKING:
    from poolsplit.replay.config import ReplayConfig
    from poolsplit.replay.reference.live import Live


class Part(Enum):
    """What a batch does for one request."""

    MIDDLE_CHUNK = "middle chunk"
    LAST_CHUNK = "last chunk"
    RIDING = "decode row of a prefill batch"
    DECODE = "decode row"


@dataclass(frozen=True, slots=True)
class Row:
    """One request in a batch."""

    live: Live
    part: Part
    boundary: int = NONE
    """Length at which this step writes a snapshot."""


class Scheduler:
    """One server: its queue, its running requests and the step in flight."""

    def __init__(self, config: ReplayConfig) -> None:
        self._config = config
        self.cache = Cache(config)
        self._holdings = Holdings(config, self.cache)
        self._order = QueueOrder(config, self.cache)
        self._ratio = config.first_new_token_ratio
        self.waiting: list[Live] = []
        self.running: list[Live] = []
        self.full = False
        """No prefill attempt until a request leaves."""
        self.chunked: Live | None = None
        self.launched: tuple[Row, ...] = ()
        """The batch of the iteration before."""
        self.steps = 0

    @property
    def result_pending(self) -> bool:
        """With overlap, the last batch's results are processed one iteration later."""
        return self._config.overlap and bool(self.launched)

    def iterate(self) -> bool:
        """One iteration; tells whether a batch ran."""
        batch = self._next_batch()
        self._note(batch)
        for row in batch:
            row.live.in_flight += 1
        self.steps += bool(batch)
        self._process(self.launched if self._config.overlap else batch)
        if not batch and not self.launched:
            self.idle()
        self.launched = batch
        return bool(batch)

    def idle(self) -> None:
        """An idle server starts its estimate of outputs anew."""
        if not (self.waiting or self.running or self.chunked):
            self._ratio = self._config.first_new_token_ratio

    def _next_batch(self) -> tuple[Row, ...]:
        if self.cache.tiers is not None:
            self.cache.tiers.settle()
        if self.chunked is not None:
            self._holdings.checkpoint(self.chunked)
        self._join_prefilled()
        self._keep_running([live for live in self.running if not live.ended])
        return self._prefill_batch() or self._decode_batch()

    def _join_prefilled(self) -> None:
        """The requests whose prefill was just launched join the running ones."""
        if not self.launched or self.launched[0].part is Part.DECODE:
            return
        joining = [row.live for row in self.launched if row.part is not Part.MIDDLE_CHUNK and not row.live.ended]
        if len(joining) < len(self.launched):
            self.full = False
        if joining and not self.running:
            self.full = False
        self.running += joining

    def _keep_running(self, kept: list[Live]) -> None:
        if len(kept) < len(self.running):
            self.full = False
        self.running = kept

    def _prefill_batch(self) -> tuple[Row, ...]:
        if not self.running:
            self.full = False
        if self.chunked is None:
            if self.full or not self.waiting:
                return ()
            if len(self.running) >= self._config.running_cap:
                self.full = True
                return ()
        self._order.arrange(self.waiting)
        admitting = PrefillPass(self._config, self.cache, self.running, self._ratio)
        if self.chunked is not None:
            admitting.continue_chunked(self.chunked)
        self.cache.pools.set_aside(len(self.waiting))
        self._admit(admitting)
        self.cache.pools.return_aside()
        if not admitting.chosen:
            return ()
        chosen = set(map(id, admitting.chosen))
        self.waiting = [live for live in self.waiting if id(live) not in chosen]
        self.chunked = admitting.cut
        self._holdings.take_for_prefill(admitting.chosen)
        rows = [Row(live, Part.MIDDLE_CHUNK if live is admitting.cut else Part.LAST_CHUNK) for live in admitting.chosen]
        return (*rows, *self._riding_rows())

    def _admit(self, admitting: PrefillPass) -> None:
        for live in self.waiting:
            if admitting.verdict() is Verdict.SPENT:
                return
            if len(admitting.chosen) >= self._config.running_cap - len(self.running):
                self.full = True
            if self.full:
                return
            self._holdings.match(live)
            verdict = admitting.consider(live)
            if verdict is Verdict.OPEN:
                continue
            if verdict is Verdict.NO_ROOM:
                self.full = bool(admitting.chosen or self.running)
            if not admitting.chosen or admitting.chosen[-1] is not live:
                self._holdings.give_slot_back(live)
            return

    def _riding_rows(self) -> list[Row]:
        """With mixed chunks, running requests take their decode step inside the prefill batch, untracked."""
        if not (self._config.mixed_chunks and self.running):
            return []
        self._keep_running([live for live in self.running if not self._ends_in_flight(live)])
        if not (self.running and self._holdings.decode_fits(self.running)):
            return []
        self._holdings.take_for_decode(self.running)
        riding, self.running = self.running, []
        for live in riding:
            self._holdings.return_second_slot(live)
        return [Row(live, Part.RIDING) for live in riding]

    def _decode_batch(self) -> tuple[Row, ...]:
        before = len(self.running)
        self._keep_running([live for live in self.running if not self._ends_in_flight(live)])
        if not self.running:
            return ()
        if self._holdings.decode_fits(self.running):
            self._ratio = max(self._ratio - self._config.new_token_decay, self._config.least_new_token_ratio)
        elif len(self.running) < before:
            return ()
        else:
            self._retract()
        if not self.running:
            return ()
        boundaries = self._holdings.take_for_decode(self.running)
        pairs = zip(self.running, boundaries, strict=True)
        return tuple(Row(live, Part.DECODE, boundary) for live, boundary in pairs)

    def _ends_in_flight(self, live: Live) -> bool:
        """The result in flight ends it by length, so it takes no further step."""
        return self._config.overlap and live.in_flight > 0 and live.ends_by_length

    def _retract(self) -> None:
        """Sends requests back to the queue until the step fits; those with the fewest outputs go first."""
        kept = sorted(self.running, key=lambda live: (live.outputs, -live.prompt), reverse=True)
        retracted: list[Live] = []
        while len(kept) > 1:
            retracted.append(kept.pop())
            self._send_back(retracted[-1], len(kept))
            if self._holdings.decode_fits(kept):
                break
        if len(kept) == 1 and not self._holdings.decode_fits(kept):
            kept[0].aborted = True
            self._send_back(kept.pop(), 0)
        self._keep_running(kept)
        generated = sum(live.outputs for live in kept) + self._config.rules.retract_free_tokens * len(kept)
        self._ratio = min(1.0, generated / (sum(live.max_new for live in kept) + 1))
        self.waiting += retracted

    def _send_back(self, live: Live, remaining: int) -> None:
        self._holdings.release(live)
        self.cache.evictor.free_kv_to(remaining * self._config.rules.retract_free_tokens)
        live.reset_for_retraction()

    def _process(self, batch: tuple[Row, ...]) -> None:
        """Results in batch order; rows of requests that have ended or were sent back are passed over."""
        for row in batch:
            live = row.live
            if live.in_flight == 0:
                continue
            live.in_flight -= 1
            if live.ended or row.part is Part.MIDDLE_CHUNK:
                continue
            live.outputs += 1
            if row.boundary != NONE:
                self._holdings.snapshot_done(live, row.boundary)
            if live.outputs >= live.final_outputs:
                live.ended = True
                self._holdings.finish(live)
            elif row.part is Part.LAST_CHUNK:
                self._holdings.checkpoint(live)

    def _note(self, batch: tuple[Row, ...]) -> None:
        """Writes each row down; a decode row of a request prefilled in one chunk begins an entry of its own."""
        for row in batch:
            live = row.live
            if row.part is Part.DECODE:
                return
            start = live.committed - 1 if row.part is Part.RIDING else live.prefix
            if live.prefill_batches == 1 or live.reopens:
                live.reopens = False
                branch = None if live.branch == NONE else live.branch
                live.admissions.append(Admission(step=self.steps, prefix=start, branch=branch))
            live.admissions[-1].chunks.append((start, live.committed))
