"""Long work by kind: progress and partial answers while it goes on, the command line's document at its end."""

from __future__ import annotations

import json
import os
import time
from typing import TYPE_CHECKING, Any

from poolsplit import api
from poolsplit.errors import UsageError
from poolsplit.report.whole_document import whole
from poolsplit.web import job_words as words
from poolsplit.web.asked import converted, flag_words, pasted

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    Tell = Callable[[str, Mapping[str, Any]], None]

PARTIAL_EVERY_S = 0.25
"""A page redraws no more often."""


def read(arguments: Mapping[str, Any], tell: Tell) -> dict[str, Any]:
    """The report of a log."""
    from poolsplit.report.read_document import read_document

    asked = converted(arguments, words.ReadWords)
    total, done = sum(file.size_bytes for file in asked.files), 0

    def progress(part_bytes: int) -> None:
        nonlocal done
        done += part_bytes
        tell("progress", {"done": done, "total": max(total, done), "what": "bytes read"})

    paths = _paths(asked.files)
    flags = api.launch_values(flag_words(asked.flags), pasted(asked.launch))
    answer = api.read_log(paths, extra_flags=flags, gpu=asked.gpu or None, progress=progress)
    api.check_log(answer)
    return read_document(answer, paths)


def trace_info(arguments: Mapping[str, Any], tell: Tell) -> dict[str, Any]:
    """What a trace holds."""
    asked = converted(arguments, words.TraceWords)
    facts = api.trace_document(_trace(asked, tell))
    inputs = {"files": [file.name for file in asked.files], **asked.reading.given()}
    return {"command": "trace info", "engine": None, "inputs": inputs, **facts}


def replay(arguments: Mapping[str, Any], tell: Tell) -> dict[str, Any]:
    """A replay at one split, with both pools over time."""
    asked = converted(arguments, words.ReplayWords)
    pace = {**asked.pace.given(), "rates_from": None}
    request = api.replay_request(split=_with_plan(asked.split.given()), pace=pace)
    trace = _trace(asked, tell)
    _prepare(tell)
    total = len(trace)
    document, points = api.replay_trace(
        trace, request, lambda sent: tell("progress", {"done": sent, "total": total, "what": "requests replayed"})
    )
    columns = {name: [point[name] for point in points] for name in (points[0] if points else ())}
    return {**document, "timeline": columns}


def surface(arguments: Mapping[str, Any], tell: Tell) -> dict[str, Any]:
    """Reuse at every split; every better answer is told."""
    asked = converted(arguments, words.SurfaceWords)
    budget, cache, order = _with_plan(asked.budget.given()), asked.cache.given(), asked.order.given()
    request = api.surface_request(server=cache, pace=order, budget=budget)
    inputs = {"traces": [file.name for file in asked.files], **budget, **cache, **order}
    trace = _trace(asked, tell)
    _prepare(tell)
    document: dict[str, Any] = {}
    told_s = -PARTIAL_EVERY_S
    for found in api.surface(trace, request, confirm=asked.confirm, refine=asked.refine):
        document = {"command": "surface", "engine": found["engine"], "inputs": inputs, **found}
        now_s = time.monotonic()
        if now_s - told_s >= PARTIAL_EVERY_S:
            told_s = now_s
            tell("progress", {"done": document["replays"], "total": None, "what": "replays"})
            tell("partial", {"document": whole(document)})
    if not document:
        raise UsageError("there is nothing to replay", hint="give a trace with requests")
    return document


def watch(arguments: Mapping[str, Any], tell: Tell) -> dict[str, Any]:
    """Looks at servers until it is stopped; every look is told."""
    asked = converted(arguments, words.WatchWords)
    reach = api.server_connection(token_file=None, ca_file=None, timeout="10s")
    ticks = api.watch(
        _addresses(asked.targets),
        interval=asked.interval,
        looks=asked.looks,
        window=asked.window,
        plan=_plan_path(asked.plan),
        max_error=None,
        reuse_limit=None,
        record=None,
        connection=reach,
    )
    looks: dict[str, Any] = {"looks": []}
    for tick in ticks:
        looks = {"looks": [whole(document) for document in api.watch_documents(tick)]}
        tell("partial", {"document": looks})
    return looks


KINDS: dict[str, Callable[[Mapping[str, Any], Tell], dict[str, Any]]] = {
    "read": read,
    "trace-info": trace_info,
    "replay": replay,
    "surface": surface,
    "watch": watch,
}


def _paths(files: Sequence[words.JobFile]) -> list[str]:
    paths = [file.path for file in files if file.path is not None]
    if not paths:
        raise UsageError("there is no file", hint="drop one")
    return paths


def _trace(asked: words.TraceWords, tell: Tell) -> Any:
    """The trace, read or made, as `api` gives and takes it."""
    tell("progress", {"done": 0, "total": None, "what": "reading the trace"})
    samples = [file.sample for file in asked.files if file.sample is not None]
    if not samples:
        return api.read_trace(_paths(asked.files), **asked.reading.given())
    if len(asked.files) > 1:
        raise UsageError("a sample is taken alone", hint="leave out the other files")
    return api.sample_trace(samples[0])


def _prepare(tell: Tell) -> None:
    tell("progress", {"done": 0, "total": None, "what": "preparing the replay: about a minute, the first time only"})
    api.prepare_replay()


def _addresses(targets: Sequence[str]) -> list[str]:
    """What the page may name: addresses, never a file of this machine.

    Raises:
        UsageError: Something else.
    """
    for target in targets:
        if not target.startswith(("http://", "https://")):
            raise UsageError(f"`{target}` is no address", hint="give a server's address, such as `http://host:30000`")
    return list(targets)


def _with_plan(options: dict[str, Any]) -> dict[str, Any]:
    return {**options, "plan": _plan_path(options["plan"])}


def _plan_path(plan: words.Plan | None) -> str | None:
    """A plan as a file of this process's own memory: questions about a plan take a file."""
    if plan is None:
        return None
    descriptor = os.memfd_create("plan")
    os.write(descriptor, json.dumps(plan).encode())
    return f"/proc/self/fd/{descriptor}"
