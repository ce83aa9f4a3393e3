"""What poolsplit answers, as functions: the rooms below joined, for the command line and for other programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path
    from typing import IO

    from poolsplit.answers.opened_launch import LaunchRequest
    from poolsplit.answers.replay_request import ReplayRequest
    from poolsplit.answers.surfaces.request import SurfaceRequest
    from poolsplit.answers.trace_levers import CacheLever
    from poolsplit.data import Gpu
    from poolsplit.engines.boot_report import ReadAnswer
    from poolsplit.engines.launch_difference import Difference
    from poolsplit.engines.resolution import AskedLaunch, Resolution
    from poolsplit.errors import LaunchRefusedError
    from poolsplit.live.expected import PlannedSplit
    from poolsplit.live.fetch import Connection
    from poolsplit.live.session import Tick
    from poolsplit.plan_answer import PlanAnswer
    from poolsplit.shapes.card import ModelCard
    from poolsplit.topics import Topic
    from poolsplit.traces.trace import Trace


def split_engine_flags(tokens: Sequence[str], own_options: Container[str]) -> tuple[list[str], list[str]]:
    """Divides one of our command lines into our options and the engine's flags with their values."""
    from poolsplit.engines.sglang.command.arguments import split_engine_flags as split

    return split(tokens, own_options)


def launch_request(**words: Any) -> LaunchRequest:
    """What a command line says about a launch; unset words are None."""
    from poolsplit.answers.opened_launch import LaunchRequest

    return LaunchRequest(**words)


def resolve(request: LaunchRequest) -> Resolution:
    """What the engine will resolve from one launch, with every step and the sizes that its log will print.

    Raises:
        LaunchRefusedError: The engine would refuse the launch before or while it sizes the pools.
        InputError: A model, card, size or flag that is not understood, or a model without state layers.
    """
    from dataclasses import replace

    from poolsplit.answers.opened_launch import find_memory, open_launch
    from poolsplit.engines.sglang.resolution import resolve_launch
    from poolsplit.errors import InputError

    opened = open_launch(request)
    if opened.shape.state is None:
        raise InputError(
            f"{opened.shape.name} has no state layers: there is one pool, and nothing is split",
            hint="`poolsplit models` lists hybrid models; `resolve --batch` answers the others too",
        )
    memory = find_memory(request, opened)
    answer = resolve_launch(opened.shape, opened.flags, opened.device, memory.free, opened.switches, opened.draft)
    warnings = (*opened.warnings, *memory.warnings, *answer.warnings)
    return replace(answer, memory_source=memory.source, warnings=tuple(dict.fromkeys(warnings)))


def resolve_under(request: LaunchRequest, version: str) -> Resolution | LaunchRefusedError:
    """What another release resolves from the same launch, or why it refuses.

    Raises:
        InputError: Not a release, or anything that `resolve` raises it for.
    """
    from dataclasses import replace

    from poolsplit.errors import LaunchRefusedError

    try:
        return resolve(replace(request, engine_version=version))
    except LaunchRefusedError as refused:
        return refused


def plan(
    request: LaunchRequest, *, workload: Mapping[str, Any], sessions: Mapping[str, Any] | None = None, **asked: Any
) -> PlanAnswer:
    """The split to set for one launch and one traffic.

    Args:
        request: The launch: model, card, memory, flags; see `launch_request`.
        workload: Lengths and concurrency, by the fields of `planner.WorkloadRequest`: `{"context": "9216"}`.
        sessions: Sessions to keep, by the fields of `planner.SessionRequest`.
        **asked: `boot_log`, `compare_version`, `levers`.

    Raises:
        InputError: Something cannot be read or found, or there are no two pools to split.
        LaunchRefusedError: The engine would refuse the launch whatever the split.
        InfeasiblePlanError: Nothing fits; the hint names the nearest plan that does.
    """
    from poolsplit.answers import planner

    return planner.plan(
        planner.PlanRequest(
            launch=request,
            workload=planner.WorkloadRequest(**workload),
            sessions=planner.SessionRequest(**(sessions or {})),
            **asked,
        )
    )


def asked_launch(request: LaunchRequest) -> AskedLaunch:
    """What a launch asks for, to be said again beside a refusal.

    Raises:
        InputError: A model, card, size or flag that is not understood.
    """
    from poolsplit.answers.opened_launch import asked_launch as asked

    return asked(request)


def launcher_refusal(answer: Resolution) -> LaunchRefusedError:
    """The error of a launch that the solver answers and the launcher refuses."""
    from poolsplit.errors import LaunchRefusedError

    return LaunchRefusedError(
        answer.launcher_message or "the launcher refuses this launch",
        stage="launcher",
        reason=answer.pools.launcher_reason or "",
        hint="leave out `--pp-size` or `--speculative-algorithm`",
    )


def answer_record(answer: Resolution) -> dict[str, Any]:
    """The answer's fields by the engine's own names, as a batch writes them."""
    from poolsplit.engines.sglang.batch_cases import answer_record as record

    return record(None, answer.pools)


def resolve_batch(lines: Iterable[bytes], *, models: Path | None = None) -> Iterator[bytes]:
    """Answers to a batch of launches, one line each, in order.

    Args:
        lines: One case a line; empty lines are skipped.
        models: Folder with a `NAME.json` for each model that a case names; without it, names are looked up as usual.

    Raises:
        InputError: Once all lines are answered, if some of them were no case.
    """
    from poolsplit.engines.sglang.batch import Batch
    from poolsplit.engines.sglang.solver import solve
    from poolsplit.errors import InputError
    from poolsplit.hub import find_config, local

    def load_config(name: str) -> Mapping[str, Any]:
        return find_config(name).config if models is None else local.read(models / f"{name}.json").config

    batch = Batch(load_config, solve)
    for line in lines:
        if line.strip():
            yield batch.answer(line)
    if batch.unreadable:
        raise InputError(
            f"lines that are no case: {batch.unreadable}", hint="their answers say what is wrong, under `message`"
        )


def read_log(
    names: Sequence[str],
    *,
    extra_flags: Mapping[str, Any] | None = None,
    gpu: str | None = None,
    progress: Callable[[int], None] | None = None,
) -> ReadAnswer:
    """What a server did, from its logs: every start, and what follows from the last one.

    Args:
        names: Files, gzip files, folders or `-`, in order of time.
        extra_flags: Flags that the log does not show, by the engine's field names.
        gpu: The card by name; without it, cards that fit the printed memory are tried.
        progress: Called with the bytes of each part read.

    Raises:
        InputError: There is nothing to read, or it cannot be read.
    """
    from poolsplit.answers.logs import read_answer

    return read_answer(names, extra_flags=extra_flags, gpu=gpu, progress=progress)


def launch_values(engine: Sequence[str], pasted: Sequence[str]) -> dict[str, Any]:
    """Every field that engine flags and a pasted launch command name; flags win.

    Raises:
        UsageError: A flag without its value, or no launch in the pasted part.
    """
    from poolsplit.engines.sglang.command.launch import parse_flags, parse_tokens

    values: dict[str, Any] = dict(parse_tokens(pasted).values) if pasted else {}
    return values | (dict(parse_flags(engine).values) if engine else {})


def read_mismatch(answer: ReadAnswer) -> bool:
    """Whether figures were predicted and follow under no release."""
    return bool(answer.predictions) and not any(prediction.holds for prediction in answer.predictions)


def diff(a: str, b: str, request: LaunchRequest) -> Difference:
    """What differs between two logs, launch commands or plans, and what each difference changes.

    Args:
        a: A log file, a plan document or a launch command.
        b: The other one.
        request: Card and memory for launch commands; see `launch_request`.

    Raises:
        InputError: One of them is none of these.
    """
    from poolsplit.answers.differences import difference_of

    return difference_of((a, b), request, lambda name: read_log((name,)))


def models() -> tuple[ModelCard, ...]:
    """Every embedded model."""
    from poolsplit.shapes import catalog

    return tuple(model(name) for name in catalog.ids())


def model(name: str) -> ModelCard:
    """One model by embedded id, path or hub id.

    Raises:
        InputError: No such model; the hint names near ones.
        UnsupportedModelError: Its config is not understood.
    """
    from poolsplit.hub import find_model
    from poolsplit.shapes.card import card_of

    found = find_model(name)
    return card_of(
        found.shape, origin=found.origin, weights_bytes=found.weights_bytes, weights_source=found.weights_source
    )


def gpus() -> tuple[Gpu, ...]:
    """Every embedded card."""
    from poolsplit.data import gpus as embedded

    return embedded()


@overload
def explain() -> tuple[Topic, ...]: ...
@overload
def explain(topic: str) -> Topic: ...
def explain(topic: str | None = None) -> Topic | tuple[Topic, ...]:
    """One answered question, or all of them.

    Raises:
        InputError: No such question; the hint names the near one or all.
    """
    from poolsplit import topics

    return topics.topics() if topic is None else topics.topic(topic)


def engine(version: str | None = None) -> dict[str, str]:
    """The engine whose rules answer, as every document names it."""
    from poolsplit.engines.sglang.versions import DEFAULT_VERSION

    return {"name": "sglang", "version": DEFAULT_VERSION if version is None else version}


def server_connection(*, token_file: str | None, ca_file: str | None, timeout: str) -> Connection:
    """How to reach live servers; the key comes from the file or from POOLSPLIT_TOKEN.

    Raises:
        InputError: The key cannot be read, or the timeout is no duration.
    """
    from poolsplit.answers.live.watch import connection
    from poolsplit.units import parse_duration

    return connection(token_file=token_file, ca_file=ca_file, timeout_s=parse_duration(timeout))


def watch(targets: Sequence[str], *, interval: str, looks: int | None, window: str, **request: Any) -> Iterator[Tick]:
    """Looks at live servers, or at a recorded session, and judges every look.

    Args:
        targets: Addresses, or one recording.
        interval: Time between two looks, such as `10s`.
        looks: How many; None goes on without end.
        window: Time that findings look back.
        request: The other fields of `poolsplit.answers.live.watch.WatchRequest`.

    Raises:
        InputError: A plan, recording, key or duration that cannot be read.
        EngineUnreachableError: No server answers the first look.
    """
    from poolsplit.answers.live.watch import WatchRequest
    from poolsplit.answers.live.watch import watch as looks_at
    from poolsplit.live.session import Pace
    from poolsplit.units import parse_duration

    pace = Pace(interval_s=parse_duration(interval), looks=looks)
    return looks_at(WatchRequest(targets=tuple(targets), pace=pace, window_s=parse_duration(window), **request))


def watch_documents(tick: Tick) -> list[dict[str, Any]]:
    """The JSON objects of one look."""
    from poolsplit.answers.live.watch import EXPORTER
    from poolsplit.live.document import tick_documents

    return tick_documents(tick, engine=EXPORTER.engine)


def watch_mismatch(tick: Tick) -> bool:
    """Whether a predicted figure is not what the server shows."""
    return any(row.ok is False for judged in tick.judged for row in judged.comparisons)


def planned_split(plan: str) -> PlannedSplit:
    """The split that a plan file recommends, with what it predicts.

    Raises:
        InputError: The file cannot be read, or is no plan.
    """
    from poolsplit.answers.live.plans import planned_split_of

    return planned_split_of(plan)


def read_trace(files: Sequence[str], **reading: Any) -> Trace:
    """One trace from files, folders or `-`.

    Args:
        files: What to read.
        **reading: Fields of `poolsplit.traces.reading.ReadOptions`.

    Raises:
        UsageError: An unknown format or dialect.
        TraceFormatError: Nothing recognised, files of two formats, or a bad file.
    """
    from poolsplit.traces.formats import read_trace as read
    from poolsplit.traces.reading import ReadOptions

    return read(files, ReadOptions(**reading))


def trace_document(trace: Trace) -> dict[str, Any]:
    """What a trace holds, as the command line's JSON names it."""
    from poolsplit.traces.answers import info_document

    return info_document(trace)


def make_trace(preset: str, *, seed: int, parameters: Mapping[str, str]) -> tuple[Trace, list[dict[str, Any]]]:
    """A generated trace, and every parameter that made it.

    Raises:
        UsageError: An unknown preset or parameter, or a value that is not one.
    """
    from poolsplit.traces.synthetic import parameter_steps, synthesise

    trace, workload = synthesise(preset, seed=seed, parameters=parameters)
    return trace, parameter_steps(workload, seed)


def trace_parameters(preset: str, *, seed: int, parameters: Mapping[str, str]) -> list[dict[str, Any]]:
    """Every parameter that a trace would be made with, with value, unit and meaning.

    Raises:
        UsageError: An unknown preset or parameter, or a value that is not one.
    """
    from poolsplit.traces.synthetic import parameters_of

    return parameters_of(preset, seed=seed, parameters=parameters)


def trace_writer(trace: Trace, target: str, block_tokens: int | None) -> tuple[Callable[[IO[bytes]], None], list[str]]:
    """What writes a trace in a format, and what of it the format cannot say.

    Raises:
        UsageError: A format that cannot be written.
        InputError: The trace lacks what the format needs.
    """
    from poolsplit.traces.convert import prepare

    return prepare(trace, target, block_tokens)


def record_trace(
    files: Sequence[str], *, salt: bytes, target: str, skip_bad: bool, **cutting: Any
) -> tuple[Callable[[IO[bytes]], None], list[str], dict[str, Any]]:
    """What writes a recording of request logs, what it loses, and its facts.

    Args:
        files: Logs, one request a line.
        salt: The user's secret.
        target: A format to write; `mooncake` keeps the hashes as ids.
        skip_bad: Leave bad lines out and count them.
        **cutting: Fields of `poolsplit.traces.recording.CutOptions`.

    Raises:
        InputError: The salt is too short.
        TraceFormatError: A bad line, or nothing that was answered.
    """
    from poolsplit.traces import answers

    recording, faults = answers.record(files, salt=salt, options=cutting, skip_bad=skip_bad)
    trace = answers.recording_trace(recording, faults)
    writer, lost = trace_writer(trace, target, None)
    if target == "mooncake":
        writer = answers.recording_writer(recording)
    return writer, lost, trace_document(trace)


def prepare_replay() -> None:
    """Compiles the replay's kernel, or takes it from disk, so that the next replay runs at once."""
    from poolsplit.answers.replaying import prepare

    prepare()


def replay_batch(lines: Iterable[bytes]) -> Iterator[bytes]:
    """One line of decisions for each line of workload, in the form of the golden files.

    Raises:
        TraceFormatError: A line that is not a workload.
        InputError: A workload whose options cannot go together.
    """
    from poolsplit.answers.replaying import replay_batch as answers

    return answers(lines)


def check(
    target: str, *, connection: Connection, plan: str | None = None, over: str | None = None, **conditions: Any
) -> dict[str, Any]:
    """Whether a server, log, recording or plan meets conditions, as a document.

    Args:
        target: An address, or a file.
        connection: How to reach a server.
        plan: What was predicted.
        over: Time to watch a server for, such as `60s`.
        conditions: Fields of `poolsplit.live.gate.Conditions`.

    Raises:
        InputError: A file that is none of these, or a condition that cannot hold.
        EngineUnreachableError: The server does not answer.
    """
    from poolsplit.answers.live.gate import Gate
    from poolsplit.answers.live.gate import check as put_to
    from poolsplit.live.gate import Conditions
    from poolsplit.units import parse_duration

    span_s = None if over is None else parse_duration(over)
    gate = Gate(target=target, plan=plan, connection=connection, conditions=Conditions(**conditions), span_s=span_s)
    return {**put_to(gate), "engine": engine()}


def dashboard_files(plan: str, *, gateway: bool = False) -> dict[str, Any]:
    """A dashboard and alert rules for a plan file: a decoded JSON object and a text, by file name.

    Raises:
        InputError: The plan cannot be read.
    """
    from poolsplit.answers.live.plans import dashboard_files as files_of

    return files_of(plan, gateway=gateway)


def replay_request(*, split: Mapping[str, Any], pace: Mapping[str, Any]) -> ReplayRequest:
    """What a command line asks of a replay; unset words are None.

    Raises:
        InputError: A plan that cannot be read, or a count or rate that is none.
        UsageError: No pools.
    """
    from poolsplit.answers.replay_request import replay_request as read
    from poolsplit.answers.replaying import DEFAULT_VERSION

    return read(split, pace, DEFAULT_VERSION)


def replay_trace(
    trace: Trace, request: ReplayRequest, progress: Callable[[int], None] | None = None
) -> tuple[dict[str, Any], list[dict[str, float]]]:
    """One replay of a trace as a document, and both pools over time. An interrupt keeps what is known so far.

    Args:
        trace: Requests with block ids.
        request: The server and the clock.
        progress: Takes the number of requests sent, now and then.

    Raises:
        InputError: Lengths only, no common clock, options that cannot go together.
        InfeasiblePlanError: A pool ran out in the middle of a step, which stops the engine, too.
    """
    from poolsplit.answers.trace_replay import document_of, replay_of
    from poolsplit.answers.trace_timeline import Timeline

    timeline = Timeline(progress=progress)
    answer = replay_of(trace, version=request.version, server=request.server, pace=request.pace, progress=timeline.look)
    return document_of(answer, request.measured), timeline.points


def cache_levers(request: ReplayRequest) -> tuple[CacheLever, ...]:
    """Chunk sizes, track intervals, caps a path, strategies and policies other than the request's, one change each.

    Raises:
        InputError: A release whose cache is not known, or options that cannot go together.
    """
    from poolsplit.answers.trace_levers import levers_of

    return levers_of(request.server, request.version)


def price_levers(
    trace: Trace,
    request: ReplayRequest,
    levers: Sequence[CacheLever],
    progress: Callable[[int], None] | None = None,
) -> dict[str, Any]:
    """Hits and running requests of one trace at one split, as asked and under each change, as a document.

    Args:
        trace: Requests with block ids.
        request: The server and the clock.
        levers: Changes, from `cache_levers` or made.
        progress: Takes the number of requests sent over all replays, now and then.

    Raises:
        InputError: Lengths only, no common clock, options that cannot go together.
        InfeasiblePlanError: The server as asked runs out of a pool in the middle of a step.
    """
    from poolsplit.answers.trace_levers import priced

    return priced(trace, request, levers, progress)


def timeline_csv(points: Sequence[Mapping[str, float]]) -> str:
    """Both pools over time as CSV."""
    from poolsplit.answers.trace_timeline import to_csv

    return to_csv(points)


def surface_request(*, server: Mapping[str, Any], pace: Mapping[str, Any], budget: Mapping[str, Any]) -> SurfaceRequest:
    """What a command line asks of a surface; unset words are None.

    Raises:
        InputError: A size, count or plan that is none.
        UsageError: A budget that lacks a part.
    """
    from poolsplit.answers.surfaces.request import surface_request as read

    return read(server=server, pace=pace, budget=budget)


def surface(
    trace: Trace, request: SurfaceRequest, *, confirm: bool = True, refine: bool = False
) -> Iterator[dict[str, Any]]:
    """Reuse at every pair of pool sizes as documents, each better than the one before.

    Args:
        trace: Requests with block ids.
        request: Server, order and budget.
        confirm: Put the best split, its neighbours and the default to the whole scheduler.
        refine: Go on until every cell is replayed.

    Raises:
        InputError: Lengths only, no times where they are needed, or options that cannot go together.
        InfeasiblePlanError: Nothing that runs at once fits the budget.
    """
    from poolsplit.answers.surfaces.stages import surface_documents

    return surface_documents(trace, request, confirm=confirm, refine=refine)


def sweep(spec: str | None, sets: Sequence[str], folder: str, **how: Any) -> dict[str, Any]:
    """Replays a grid into a folder, in this process, in others or on a Dask cluster; see `sweeping.sweep`.

    Args:
        spec: A TOML file.
        sets: `name=a,b,c` each.
        folder: Where the results go.
        **how: `workers` (processes on this machine) or `dask` (a scheduler's address), `resume` to go on with what the
            folder holds, `progress` to be told how many of how many points are done.

    Raises:
        InputError: A point, file or folder that cannot be used.
        UsageError: An axis that is none.
        MissingExtraError: Dask is not installed.
        EngineUnreachableError: No Dask scheduler answers.
    """
    from poolsplit.answers.sweeping import sweep as run
    from poolsplit.answers.sweeping.spec import read_grid

    return run(read_grid(spec, sets), folder, **how)
