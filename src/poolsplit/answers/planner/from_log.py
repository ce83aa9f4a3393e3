"""A plan's inputs out of a start-up log: constants and bytes as the server printed them, flags as it showed them.

Where the model is known its exact sizes are used, as long as the printed pools agree with them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from poolsplit.answers.opened_launch import find_card, one_model
from poolsplit.answers.planner.log_cards import assumed_card, possible_cards
from poolsplit.answers.planner.log_checks import refuse_memory_beside, unlike_model, usable
from poolsplit.answers.planner.measured_log import (
    ReadLog,
    prepare_measured,
    printed_steps,
    published_token_equiv,
    rest_error_bytes,
)
from poolsplit.answers.planner.requests import Prepared
from poolsplit.budget.memory import MemoryFigures
from poolsplit.engines.free_memory import FreeMemory
from poolsplit.engines.sglang.command import LaunchCommand, parse_flags, parse_tokens
from poolsplit.engines.sglang.command.dump import asked_for
from poolsplit.engines.sglang.command.edit import with_changes
from poolsplit.engines.sglang.versions import DEFAULT_VERSION
from poolsplit.errors import InputError, LaunchRefusedError, LogFormatError
from poolsplit.units import GIB

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from poolsplit.answers.opened_launch import LaunchRequest, OpenedLaunch
    from poolsplit.engines.boot_facts import PrintedSize
    from poolsplit.engines.boot_report import BootReport, RankReport
    from poolsplit.engines.sglang.deployment import SglangDeployment
    from poolsplit.engines.sglang.resolved import ResolvedFlags


def prepare_from_log(request: LaunchRequest, name: str) -> Prepared:
    """The deployment that a log describes.

    Raises:
        LogFormatError: The log lacks a line that a plan cannot do without; the message names it.
    """
    refuse_memory_beside(request)
    log = _read(request, name)
    if log.rank.state is None or not log.rank.kv:
        return prepare_from_weights(request, log)
    exact = _with_model(request, log)
    if exact is not None:
        return exact
    measured = prepare_measured(log)
    return replace(measured, warnings=(*measured.warnings, *unlike_model(request, log)))


def _read(request: LaunchRequest, name: str) -> ReadLog:
    from poolsplit.engines.sglang.boot_log import read_files

    try:
        report = read_files([name])
    except InputError as error:
        hint = error.hint or "--boot-log takes a start-up log, a gzip file of one, or `-`"
        raise InputError(error.message, where=error.where, hint=hint) from None
    boot, rank = usable(report.boots, name)
    version, warnings = _version(request, boot)
    launch = _launch(request, boot, version)
    several = (f"{len(report.boots)} starts are in the log: the last usable one counts",)
    return ReadLog(
        boot=boot,
        rank=rank,
        launch=launch,
        version=version,
        warnings=(*launch.warnings, *warnings, *(several if len(report.boots) > 1 else ())),
    )


def _version(request: LaunchRequest, boot: BootReport) -> tuple[str, tuple[str, ...]]:
    if request.engine_version is not None:
        return request.engine_version, ()
    from poolsplit.engines.sglang.boot_log.release_forms import known_releases

    newest = (known_releases(boot.version) or (DEFAULT_VERSION,))[0]
    if boot.version == newest:
        return newest, ()
    told = f"tells {boot.version}" if boot.version else "does not tell the release"
    return newest, (f"the log {told}: the rules of {newest} answer; --engine-version changes that",)


def _launch(request: LaunchRequest, boot: BootReport, version: str) -> LaunchCommand:
    """The launch of the log, with flags given beside it on top."""
    if request.pasted:
        launch = parse_tokens(request.pasted, version)
    elif boot.launch is not None and boot.launch.form == "command":
        launch = parse_flags([token for token in boot.launch.command if token], version)
    else:
        values = asked_for(boot.launch.values) if boot.launch is not None else {}
        launch = LaunchCommand(
            text="", form="server_args" if values else "flags", release=version, values=values, env={}
        )
    extra = parse_flags(request.engine_flags, version)
    name, told = one_model(request.model, extra.model or launch.model or boot.model)
    values = {**launch.values, **extra.values, **({"model_path": name} if name else {})}
    launch = replace(launch, values=values, warnings=(*launch.warnings, *extra.warnings, *told))
    return _with_printed_dtype(launch, boot)


def _with_printed_dtype(launch: LaunchCommand, boot: BootReport) -> LaunchCommand:
    """The launch with the KV dtype that the log prints, where no flag says it: another server would take another."""
    from poolsplit.answers.logs.launches import printed_kv_dtype

    printed = printed_kv_dtype(boot.ranks.values())
    if printed is None or not launch.values or launch.values.get("kv_cache_dtype", "auto") != "auto":
        return launch
    change = {"kv_cache_dtype": printed}
    told = f"the log's KV pool holds {printed} and no flag that is known says so: it is written into the launch"
    if launch.text:
        text, values = with_changes(launch, change), launch.values
        launch = parse_tokens((text,), launch.release)
        launch = replace(launch, values={**launch.values, **values})
    return replace(launch, values={**launch.values, **change}, warnings=(*launch.warnings, told))


def _with_model(request: LaunchRequest, log: ReadLog) -> Prepared | None:
    """The deployment by the model's exact sizes; None where the model or card is not known or the pools disagree."""
    from poolsplit.answers.planner.prepare import buffers_for, derive_for, levers_for, reuse_for
    from poolsplit.shapes import catalog

    name = log.launch.values.get("model_path")
    named = request.model is not None
    if name is None or not (named or catalog.find(str(name))):
        return None
    request = replace(request, model=str(name), engine_version=log.version)
    fitting = list(_fitting(request, log))
    if not fitting:
        return None
    opened, fitted = fitting[0]
    told = assumed_card(request, [other.device for other, _ in fitting])
    state, kv = log.rank.state_bytes, log.rank.kv_bytes
    return Prepared(
        deployment=fitted,
        levers=levers_for(fitted, _idle_fraction(log.rank)),
        buffers=buffers_for(fitted),
        derive=derive_for(fitted),
        reuse=reuse_for(fitted),
        after_weights_gib=_after_weights(log.rank),
        before_gib=_printed_gib(log.rank.load_begin),
        launch_values=dict(log.launch.values),
        model=opened.shape.name,
        device=opened.device.name,
        version=opened.switches.version,
        constants_origin=opened.model.origin,
        rest_origin="pools",
        rest_source="slots and rows that the log prints, at the model's exact sizes",
        rest_error_bytes=rest_error_bytes(log.rank.rest_bytes),
        token_equiv_published=published_token_equiv(log.rank),
        steps=printed_steps(state, kv),
        warnings=(*opened.warnings, *log.warnings, *told),
    )


def _fitting(request: LaunchRequest, log: ReadLog) -> Iterator[tuple[OpenedLaunch, SglangDeployment]]:
    """The launch on every card that may be the log's and on which its solver gives what the log printed."""
    from poolsplit.answers.opened_launch import open_launch
    from poolsplit.answers.planner.prepare import by_full_name, deployment_of

    for card in possible_cards(request, log):
        opened = open_launch(card, log.launch)
        named_whole = replace(deployment_of(opened, _handed_over(log.rank, None, 1.0)), launch=by_full_name(opened))
        fitted = _fit(named_whole, log.rank, log.boot.granted_running_requests)
        if fitted is not None:
            yield opened, fitted


def prepare_from_weights(request: LaunchRequest, log: ReadLog) -> Prepared:
    """The deployment of a start that printed its weight lines and no pools: one that failed, or a log that was cut.

    Raises:
        LogFormatError: The model or the card is not known.
    """
    from poolsplit.answers.opened_launch import open_launch
    from poolsplit.answers.planner.prepare import prepare_opened

    before, after = log.rank.load_begin, log.rank.after_weights
    name = log.launch.values.get("model_path")
    cards = list(possible_cards(request, log))
    if name is None or not cards or before is None or after is None:
        missing = "model" if name is None else "card"
        raise LogFormatError(
            f"the log has weight lines and no pools, and names no {missing} that is known",
            hint="name the model and --gpu beside --boot-log",
        )
    opened = open_launch(replace(cards[0], model=str(name), engine_version=log.version), log.launch)
    memory = MemoryFigures(
        free=FreeMemory(before_gib=before.value, after_gib=(after.value,)),
        origin="weights",
        error_bytes=int((before.step + after.step) / 2 * GIB),
        source="free after the weights less the slack of what was free before, as the log prints both",
    )
    told = assumed_card(request, [find_card(card)[0] for card in cards])
    return prepare_opened(opened, memory, (*log.warnings, *told))


def _fit(deployment: SglangDeployment, rank: RankReport, granted: int | None) -> SglangDeployment | None:
    """The deployment with the bytes under which its solver gives what the log printed; None without such."""
    wanted = (rank.state.state_slots if rank.state else None, rank.kv_tokens)
    fraction = deployment.resolve({}).mem_fraction_static
    for rest_bytes in _candidates(deployment, rank):
        fitted = replace(deployment, memory=_handed_over(rank, rest_bytes, fraction))
        try:
            pools = fitted.solve({}).pools
        except LaunchRefusedError:
            continue
        if (pools.state_slots, pools.kv_tokens) == wanted and granted in {None, pools.max_running_requests}:
            return fitted
    return None


def _candidates(deployment: SglangDeployment, rank: RankReport) -> list[int]:
    """Bytes that may have been handed over: the printed pools at exact sizes, plus what rounding to a page leaves."""
    rest = rank.rest_bytes
    if rest is None:
        return []
    try:
        solved = deployment.solve({})
    except LaunchRefusedError:
        return []
    stage, page = solved.pools.stages[0], solved.page_tokens
    slots = rank.state.state_slots if rank.state else None
    if slots is None or rank.kv_tokens is None or stage.state is None:
        return []
    state = stage.state
    per_slot = state.pool_bytes / ((solved.pools.state_slots or 0) + deployment.switches.padding_slot)
    exact = int((slots + deployment.switches.padding_slot) * per_slot) + state.verify_bytes
    exact += int(rank.kv_tokens * stage.kv_bytes_per_token)
    spare = int(page * stage.kv_bytes_per_token)
    return [exact + spare * part // 8 for part in range(1, 8)] + [int(rest.middle), int(rest.low), int(rest.high)]


@dataclass(frozen=True, slots=True)
class _HandedOver:
    """Free memory that left these bytes for both pools under the log's own fraction.

    Where the log tells what was free before the weights, another fraction leaves another rest; without it the rest
    stays, whatever the fraction.
    """

    rest_bytes: int
    before_gib: float | None
    fraction: float

    def __call__(self, resolved: ResolvedFlags) -> FreeMemory:
        """Free memory around the weights for one resolved launch."""
        after = self.rest_bytes / GIB + resolved.mm_reservation_gib
        if self.before_gib is None:
            after /= resolved.mem_fraction_static
            return FreeMemory(before_gib=after, after_gib=(after,))
        return FreeMemory(before_gib=self.before_gib, after_gib=(after + self.before_gib * (1 - self.fraction),))


def _handed_over(rank: RankReport, rest_bytes: int | None, fraction: float) -> _HandedOver:
    rest = rank.rest_bytes
    chosen = rest_bytes if rest_bytes is not None else int(rest.middle) if rest is not None else 0
    return _HandedOver(rest_bytes=chosen, before_gib=_printed_gib(rank.load_begin), fraction=fraction)


def _after_weights(rank: RankReport) -> Callable[[int], tuple[float, ...]] | None:
    after = _printed_gib(rank.after_weights)
    return None if after is None else lambda stages: (after,) * stages


def _idle_fraction(rank: RankReport) -> float | None:
    """Share of the card that stayed idle after the start, beyond what should stay free."""
    from poolsplit.engines.sglang.levers import KEPT_FREE_GIB

    idle = _printed_gib(rank.summary.available if rank.summary else None)
    before = _printed_gib(rank.load_begin)
    return None if idle is None or not before else (idle - KEPT_FREE_GIB) / before


def _printed_gib(size: PrintedSize | None) -> float | None:
    return None if size is None else size.value
