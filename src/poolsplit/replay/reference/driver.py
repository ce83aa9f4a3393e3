"""Sends requests to the scheduler and writes down what it decided."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from poolsplit.replay.reference.live import arrive
from poolsplit.replay.reference.scheduler import Scheduler
from poolsplit.replay.workload import HostTraffic, Record, ReplayResult

if TYPE_CHECKING:
    from poolsplit.replay.config import ReplayConfig
    from poolsplit.replay.reference.live import Live
    from poolsplit.replay.workload import Workload

STUCK_ITERATIONS = 50
"""Idle iterations with requests waiting after which a queue counts as blocked for ever."""


@dataclass(frozen=True, slots=True)
class _Sent:
    index: int
    live: Live
    kv_evicted: int
    states_evicted: int
    cap_states_evicted: int


def replay_reference(config: ReplayConfig, workload: Workload) -> ReplayResult:
    """Replays a workload step by step, in plain Python.

    Raises:
        InfeasiblePlanError: A pool ran out in the middle of a step, which stops the engine, too.
    """
    return _Driver(config, workload).run()


class _Driver:
    def __init__(self, config: ReplayConfig, workload: Workload) -> None:
        self._config = config
        self._workload = workload
        self._scheduler = Scheduler(config)
        self._records: list[Record | None] = [None] * len(workload.requests)
        self._next = 0
        self._outstanding: list[_Sent] = []
        self._iteration = 0
        self._idle_iterations = 0

    def run(self) -> ReplayResult:
        while self._next < len(self._records) or self._outstanding or self._scheduler.result_pending:
            self._send()
            ran = self._scheduler.iterate()
            self._iteration += 1
            self._collect()
            if self._workload.mode == "sequential" and not self._outstanding:
                self._scheduler.idle()
            if self._is_stuck(ran=ran):
                self._give_up()
                break
        return ReplayResult(
            records=tuple(record for record in self._records if record is not None),
            freed=tuple(self._scheduler.cache.evictor.freed),
            steps=self._scheduler.steps,
            traffic=self._traffic(),
        )

    def _traffic(self) -> HostTraffic | None:
        host = self._scheduler.cache.evictor.host
        if host is None:
            return None
        return HostTraffic(**{name: getattr(host, name) for name in HostTraffic.__slots__})

    def _send(self) -> None:
        requests, evictor = self._workload.requests, self._scheduler.cache.evictor
        while self._next < len(requests) and len(self._outstanding) < self._workload.outstanding_cap:
            request = requests[self._next]
            if self._workload.mode == "arrivals" and request.arrival_step > self._iteration:
                return
            live = arrive(request, self._config)
            if live.prompt >= self._config.request_limit_tokens - self._config.rules.input_margin_tokens:
                self._records[self._next] = Record(id=request.id, prompt_tokens=live.prompt, outcome="rejected")
            else:
                self._scheduler.waiting.append(live)
                evicted = (evictor.kv_evicted, evictor.states_evicted, evictor.cap_states_evicted)
                self._outstanding.append(_Sent(self._next, live, *evicted))
            self._next += 1

    def _collect(self) -> None:
        remaining = []
        for sent in self._outstanding:
            if sent.live.ended or sent.live.aborted:
                self._records[sent.index] = self._record(sent)
            else:
                remaining.append(sent)
        self._outstanding = remaining

    def _record(self, sent: _Sent) -> Record:
        live, cache = sent.live, self._scheduler.cache
        return Record(
            id=live.request.id,
            prompt_tokens=live.prompt,
            outcome="done",
            output_tokens=live.outputs,
            admissions=tuple(live.admissions),
            retractions=live.retractions,
            aborted=live.aborted,
            done_step=self._iteration,
            kv_evicted=cache.evictor.kv_evicted - sent.kv_evicted,
            states_evicted=cache.evictor.states_evicted - sent.states_evicted,
            cap_states_evicted=cache.evictor.cap_states_evicted - sent.cap_states_evicted,
            occupancy=cache.occupancy(),
        )

    def _is_stuck(self, *, ran: bool) -> bool:
        more_to_come = self._workload.mode == "arrivals" and self._next < len(self._records)
        idle = not ran and self._outstanding and not self._scheduler.result_pending and not more_to_come
        self._idle_iterations = self._idle_iterations + 1 if idle else 0
        return self._idle_iterations > STUCK_ITERATIONS

    def _give_up(self) -> None:
        occupancy = self._scheduler.cache.occupancy()
        for sent in self._outstanding:
            self._records[sent.index] = Record(
                id=sent.live.request.id, prompt_tokens=sent.live.prompt, outcome="stuck", occupancy=occupancy
            )
        for index in range(self._next, len(self._records)):
            request = self._workload.requests[index]
            self._records[index] = Record(id=request.id, prompt_tokens=request.prompt_tokens, outcome="not_run")
