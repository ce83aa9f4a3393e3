"""A plan's inputs out of a start-up log: constants and bytes as the server printed them, flags as it showed them.

Where the model is known its exact sizes are used, as long as the printed pools agree with them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from poolsplit.derivation import Step
from poolsplit.engines.free_memory import FreeMemory
from poolsplit.engines.sglang.command import LaunchCommand, parse_flags, parse_tokens
from poolsplit.engines.sglang.command.dump import asked_for
from poolsplit.engines.sglang.measured import MeasuredDeployment, MeasuredPools
from poolsplit.engines.sglang.versions import DEFAULT_VERSION, switches_for
from poolsplit.errors import InputError, LaunchRefusedError, LogFormatError
from poolsplit.planning.balance import token_equiv_of_log
from poolsplit.units import GIB

if TYPE_CHECKING:
    from poolsplit.engines.boot_report import BootReport, Interval, RankReport
    from poolsplit.engines.engine import Solution
    from poolsplit.engines.resolved_pools import ResolvedPools
    from poolsplit.engines.sglang.deployment import SglangDeployment
    from poolsplit.engines.sglang.resolved import ResolvedFlags
    from poolsplit.opened_launch import LaunchRequest
    from poolsplit.planner import Prepared

DEFAULT_SLOTS_PER_REQUEST = 5
"""With overlap and a tracking buffer, which is what `auto` gives on most hybrids."""
DEFAULT_CONTEXT_LEN = 262_144
_SLOT_COUNTS = (1, 3, 4, 5)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Log:
    boot: BootReport
    rank: RankReport
    launch: LaunchCommand
    version: str
    warnings: tuple[str, ...]


def prepare_from_log(request: LaunchRequest, name: str) -> Prepared:
    """The deployment that a log describes.

    Raises:
        LogFormatError: The log lacks a line that a plan cannot do without; the message names it.
    """
    log = _read(request, name)
    exact = _with_model(request, log)
    return exact if exact is not None else _measured(log)


def _read(request: LaunchRequest, name: str) -> _Log:
    from poolsplit.engines.sglang.boot_log import read_files

    try:
        report = read_files([name])
    except InputError as error:
        hint = error.hint or "--boot-log takes a start-up log, a gzip file of one, or `-`"
        raise InputError(error.message, where=error.where, hint=hint) from None
    hybrid = [boot for boot in report.boots if any(rank.state and rank.kv for rank in boot.ranks.values())]
    if not hybrid:
        raise LogFormatError(_what_is_missing(report.boots), where=name, hint=_LINES_HINT)
    boot = hybrid[-1]
    rank = _tightest(boot)
    version, warnings = _version(request, boot)
    launch = _launch(request, boot, version)
    several = (f"{len(report.boots)} starts are in the log: the last with both pools counts",)
    return _Log(
        boot=boot,
        rank=rank,
        launch=launch,
        version=version,
        warnings=(*launch.warnings, *warnings, *(several if len(report.boots) > 1 else ())),
    )


_LINES_HINT = (
    "a plan needs the lines `Mamba Cache is allocated. max_mamba_cache_size: ...` and `KV Cache is allocated. ...` "
    "of one start; `poolsplit read` says what a log holds"
)


def _what_is_missing(boots: tuple[BootReport, ...]) -> str:
    ranks = [rank for boot in boots for rank in boot.ranks.values()]
    if any(rank.state for rank in ranks):
        return "the log has a state pool line and no KV pool line with its sizes"
    if any(rank.kv for rank in ranks):
        return "the log has a KV pool line and no state pool line: the server is no hybrid, or the log is cut"
    return "there is no pool line in the log"


def _tightest(boot: BootReport) -> RankReport:
    """The rank whose pools bind: fewest slots, then fewest rows."""
    ranks = [rank for rank in boot.ranks.values() if rank.state and rank.kv]
    return min(
        ranks,
        key=lambda rank: (
            rank.rest_bytes is None,
            (rank.state and rank.state.state_slots) or 0,
            rank.kv_tokens or 0,
        ),
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
        launch = LaunchCommand(text="", form="server_args", release=version, values=values, env={})
    extra = parse_flags(request.engine_flags, version)
    name = request.model or launch.model or boot.model
    values = {**({"model_path": name} if name else {}), **launch.values, **extra.values}
    return replace(launch, values=values, warnings=(*launch.warnings, *extra.warnings))


def _with_model(request: LaunchRequest, log: _Log) -> Prepared | None:
    """The deployment by the model's exact sizes; None where the model or card is not known or the pools disagree."""
    from poolsplit.opened_launch import open_launch
    from poolsplit.planner import Prepared, buffers_for, deployment_of, levers_for
    from poolsplit.shapes import catalog

    name = log.launch.values.get("model_path")
    named = request.model is not None
    if name is None or not (named or catalog.find(str(name))) or (request.gpu is None and request.gpu_arch is None):
        return None
    opened = open_launch(replace(request, model=str(name), engine_version=log.version), log.launch)
    deployment = deployment_of(opened, _handed_over(log.rank, None))
    fitted = _fit(deployment, log.rank, log.boot.granted_running_requests)
    if fitted is None:
        return None
    state, kv = log.rank.state_bytes, log.rank.kv_bytes
    return Prepared(
        deployment=fitted,
        levers=levers_for(fitted),
        buffers=buffers_for(fitted),
        model=opened.shape.name,
        device=opened.device.name,
        version=opened.switches.version,
        constants_origin=opened.model.origin,
        rest_origin="pools",
        rest_source="slots and rows that the log prints, at the model's exact sizes",
        rest_error_bytes=_error(log.rank.rest_bytes),
        token_equiv_published=_published(log.rank),
        steps=_log_steps(state, kv),
        warnings=(*opened.warnings, *log.warnings),
    )


def _fit(deployment: SglangDeployment, rank: RankReport, granted: int | None) -> SglangDeployment | None:
    """The deployment with the bytes under which its solver gives what the log printed; None without such."""
    wanted = (rank.state.state_slots if rank.state else None, rank.kv_tokens)
    for rest_bytes in _candidates(deployment, rank):
        fitted = replace(deployment, memory=_handed_over(rank, rest_bytes))
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
    """Free memory that leaves these bytes for both pools, whatever the fraction."""

    rest_bytes: int
    before_gib: float | None

    def __call__(self, resolved: ResolvedFlags) -> FreeMemory:
        """Free memory around the weights for one resolved launch."""
        after = self.rest_bytes / GIB + resolved.mm_reservation_gib
        if self.before_gib is None:
            after /= resolved.mem_fraction_static
            return FreeMemory(before_gib=after, after_gib=(after,))
        return FreeMemory(
            before_gib=self.before_gib, after_gib=(after + self.before_gib * (1 - resolved.mem_fraction_static),)
        )


def _handed_over(rank: RankReport, rest_bytes: int | None) -> _HandedOver:
    rest = rank.rest_bytes
    chosen = rest_bytes if rest_bytes is not None else int(rest.middle) if rest is not None else 0
    return _HandedOver(rest_bytes=chosen, before_gib=None)


def _measured(log: _Log) -> Prepared:
    """The deployment by measured sizes alone."""
    from poolsplit.planner import Prepared

    slot, row, rest = log.rank.state_bytes_per_slot, log.rank.kv_bytes_per_token, log.rank.rest_bytes
    if slot is None or row is None or rest is None or log.rank.state is None:
        raise LogFormatError("the pool lines print no sizes to measure by", hint=_LINES_HINT)
    if log.rank.state.state_slots is None or log.rank.kv_tokens is None:
        raise LogFormatError("the state pool line does not say how many slots it has", hint=_LINES_HINT)
    slots, assumed = _slots_per_request(log)
    measured = _pools(log, slots, (slot, row, rest))
    deployment = MeasuredDeployment(
        measured=measured, switches=switches_for(log.version), launch=log.launch if log.launch.values else None
    )
    return Prepared(
        deployment=deployment,
        model=str(log.launch.values.get("model_path") or log.boot.model_class or "model not named"),
        device="card of the log",
        version=log.version,
        constants_origin="boot_log",
        rest_origin="pools",
        rest_source="the printed pools added up",
        rest_error_bytes=_error(rest),
        token_equiv_published=_published(log.rank),
        steps=_log_steps(log.rank.state_bytes, log.rank.kv_bytes),
        warnings=(*log.warnings, *assumed, *_unlike(deployment.solve({}), measured)),
    )


def _pools(log: _Log, slots: int, sizes: tuple[Interval, Interval, Interval]) -> MeasuredPools:
    slot, row, rest = sizes
    values, boot = log.launch.values, log.boot
    assert log.rank.state is not None and log.rank.state.state_slots is not None  # noqa: S101, PT018 -- looked at before
    assert log.rank.kv_tokens is not None  # noqa: S101 -- the same
    flags = log.launch.flags()
    summary = log.rank.summary
    return MeasuredPools(
        state_bytes_per_slot=round(slot.middle),
        kv_bytes_per_token=row.middle,
        rest_bytes=int(rest.middle),
        state_slots=log.rank.state.state_slots,
        kv_tokens=log.rank.kv_tokens,
        slots_per_request=slots,
        draft_states=_draft_states(log),
        workers=flags.dp_size if flags.enable_dp_attention else 1,
        dcp_size=flags.dcp_size,
        page_tokens=log.rank.page_tokens or int(values.get("page_size") or 1),
        context_len=(summary.context_len if summary else None) or flags.context_length or DEFAULT_CONTEXT_LEN,
        request_cap=boot.requested_running_requests or flags.max_running_requests,
        granted_requests=boot.granted_running_requests,
        ratio=flags.mamba_full_memory_ratio,
        pin=flags.max_mamba_cache_size,
    )


def _slots_per_request(log: _Log) -> tuple[int, tuple[str, ...]]:
    known = log.boot.slots_per_request
    if known in _SLOT_COUNTS:
        return int(known or 0), ()
    values = log.launch.values
    if values.get("disable_radix_cache"):
        return 1, ()
    lean = bool(values.get("disable_overlap_schedule")) or int(values.get("pp_size") or 1) > 1
    named = {"no_buffer": 3, "extra_buffer_lazy": 4, "extra_buffer": 4 if lean else 5}
    strategy = str(values.get("mamba_radix_cache_strategy") or "")
    if strategy in named:
        return named[strategy], ()
    assumed = (
        f"the log does not tell the slots of a request: {DEFAULT_SLOTS_PER_REQUEST}, the usual default, is assumed; "
        "add `--mamba-radix-cache-strategy` as the server has it"
    )
    return DEFAULT_SLOTS_PER_REQUEST, (assumed,)


def _draft_states(log: _Log) -> int:
    given = log.launch.values.get("speculative_num_draft_tokens")
    if isinstance(given, int) and log.launch.values.get("speculative_algorithm"):
        return given
    scratch, granted = log.rank.scratch_states, log.boot.granted_running_requests
    if scratch is None:
        return 0
    if granted is None:
        raise InputError(
            "the log shows verify scratch and neither the draft tokens nor the requests it is for",
            hint="add `--speculative-algorithm` and `--speculative-num-draft-tokens` as the server has them",
        )
    return max(1, round(scratch.middle / (granted + 1)))


def _published(rank: RankReport) -> float | None:
    """The published division: printed state over the slots that the line names, without the padding slot."""
    state, kv = rank.state_bytes, rank.kv_bytes
    slots = rank.state.state_slots if rank.state else None
    if state is None or kv is None or not slots or not rank.kv_tokens:
        return None
    return token_equiv_of_log(
        state_gib=state.middle / GIB,
        state_slots=slots,
        kv_gib=kv.middle / GIB,
        kv_tokens=rank.kv_tokens,
        padding_slots=0,
    )


def _error(rest: Interval | None) -> int:
    return 0 if rest is None else int((rest.high - rest.low) / 2)


def _log_steps(state: Interval | None, kv: Interval | None) -> tuple[Step, ...]:
    source = "printed to two decimals of a GiB"
    return tuple(
        Step(name=name, value=round(size.middle), unit="bytes", source=source)
        for name, size in (("printed_state_pool", state), ("printed_kv_pool", kv))
        if size is not None
    )


def _unlike(solution: Solution, measured: MeasuredPools) -> tuple[str, ...]:
    """A warning where the printed slots do not follow from the flags that are known."""
    state = solution.pools.stages[0].state
    pools: ResolvedPools | Any = solution.pools
    if state is None or not pools.state_slots:
        return ()
    if abs(state.state_slots - measured.state_slots) <= max(2, measured.state_slots // 100):
        return ()
    text = (
        f"by the known flags the pool would hold {state.state_slots} slots and the log says {measured.state_slots}: "
        "some flag of the launch is not in the log; give it beside --boot-log"
    )
    return (text,)
