"""A plan's inputs by what a log measured alone, where the model or the card is not known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from poolsplit.answers.planner.requests import Prepared
from poolsplit.derivation import Step
from poolsplit.engines.sglang.measured import MeasuredDeployment, MeasuredPools
from poolsplit.engines.sglang.versions import switches_for
from poolsplit.errors import InputError, LogFormatError
from poolsplit.planning.balance import token_equiv_of_log
from poolsplit.units import GIB

if TYPE_CHECKING:
    from poolsplit.engines.boot_report import BootReport, Interval, RankReport
    from poolsplit.engines.engine import Solution
    from poolsplit.engines.sglang.command import LaunchCommand

DEFAULT_SLOTS_PER_REQUEST = 5
"""With overlap and a tracking buffer, which is what `auto` gives on most hybrids."""
DEFAULT_CONTEXT_LEN = 262_144
_SLOT_COUNTS = (1, 3, 4, 5)
LINES_HINT = (
    "a plan needs the lines `Mamba Cache is allocated. max_mamba_cache_size: ...` and `KV Cache is allocated. ...` "
    "of one start; `poolsplit read` says what a log holds"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadLog:
    """One start out of a log, and what stands beside it on the command line."""

    boot: BootReport
    rank: RankReport
    launch: LaunchCommand
    version: str
    warnings: tuple[str, ...]


def prepare_measured(log: ReadLog) -> Prepared:
    """The deployment by measured sizes alone.

    Raises:
        LogFormatError: The pool lines print no sizes or no slots.
        InputError: Verify scratch is shown and not what it is for.
    """
    slot, row, rest = log.rank.state_bytes_per_slot, log.rank.kv_bytes_per_token, log.rank.rest_bytes
    if slot is None or row is None or rest is None or log.rank.state is None:
        raise LogFormatError("the pool lines print no sizes to measure by", hint=LINES_HINT)
    if log.rank.state.state_slots is None or log.rank.kv_tokens is None:
        raise LogFormatError("the state pool line does not say how many slots it has", hint=LINES_HINT)
    slots, assumed = _slots_per_request(log)
    measured = _pools(log, slots, (slot, row, rest))
    deployment = MeasuredDeployment(
        measured=measured, switches=switches_for(log.version), launch=log.launch if log.launch.values else None
    )
    return Prepared(
        deployment=deployment,
        launch_values=dict(log.launch.values),
        model=str(log.launch.values.get("model_path") or log.boot.model_class or "model not named"),
        device="card of the log",
        version=log.version,
        constants_origin="boot_log",
        rest_origin="pools",
        rest_source="the printed pools added up",
        rest_error_bytes=rest_error_bytes(rest),
        token_equiv_published=published_token_equiv(log.rank),
        steps=printed_steps(log.rank.state_bytes, log.rank.kv_bytes),
        warnings=(*log.warnings, *assumed, *_unlike(deployment.solve({}), measured)),
    )


def _pools(log: ReadLog, slots: int, sizes: tuple[Interval, Interval, Interval]) -> MeasuredPools:
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


def _slots_per_request(log: ReadLog) -> tuple[int, tuple[str, ...]]:
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


def _draft_states(log: ReadLog) -> int:
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


def published_token_equiv(rank: RankReport) -> float | None:
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


def rest_error_bytes(rest: Interval | None) -> int:
    """How far the printed bytes may be off, either way."""
    return 0 if rest is None else int((rest.high - rest.low) / 2)


def printed_steps(state: Interval | None, kv: Interval | None) -> tuple[Step, ...]:
    """The printed pools as steps."""
    source = "printed to two decimals of a GiB"
    return tuple(
        Step(name=name, value=round(size.middle), unit="bytes", source=source)
        for name, size in (("printed_state_pool", state), ("printed_kv_pool", kv))
        if size is not None
    )


def _unlike(solution: Solution, measured: MeasuredPools) -> tuple[str, ...]:
    """A warning where the printed slots do not follow from the flags that are known."""
    state = solution.pools.stages[0].state
    if state is None or not solution.pools.state_slots:
        return ()
    if abs(state.state_slots - measured.state_slots) <= max(2, measured.state_slots // 100):
        return ()
    text = (
        f"by the known flags the pool would hold {state.state_slots} slots and the log says {measured.state_slots}: "
        "some flag of the launch is not in the log; give it beside --boot-log"
    )
    return (text,)
