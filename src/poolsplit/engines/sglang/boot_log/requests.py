"""How many requests run, how many were asked for, and which limit stands between the two."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from poolsplit.engines.boot_report import Interval
from poolsplit.engines.sglang.rules.families import DEFAULT_STATE_TO_KV_RATIO

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from poolsplit.engines.boot_facts import KvReduction, Launch, RequestCap
    from poolsplit.engines.boot_report import BootReport, RankReport

SLOTS_PER_REQUEST = (1, 2, 3, 4, 5)
"""What the engine may reserve for one request: 1 without prefix cache, 3 without tracking slots, up to 5 with."""
SMALLEST_DEFAULT_REQUESTS = 2048
LARGEST_DEFAULT_REQUESTS = 4096
SPECULATIVE_DEFAULT_REQUESTS = 48
_WORKER = re.compile(r"\bDP(?P<dp>\d+)\b.*\bTP(?P<tp>\d+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Requests:
    """The answer, each part with its reason."""

    requested: int | None
    granted: int | None
    binding: str | None
    binding_reason: str | None
    slots_per_request: int | None
    slots_reason: str | None


def work_out(
    ranks: Mapping[str, RankReport],
    cap: RequestCap | None,
    reduction: KvReduction | None,
    launch: Launch | None,
    known_slots: tuple[int, str] | None = None,
) -> Requests:
    """Puts the cap line, the summary, the pool lines and the arguments together.

    Args:
        ranks: What each rank printed.
        cap: The tightest cap line.
        reduction: The line on a KV pool that reduces the requests.
        launch: What was asked for; a request cap counts all data-parallel workers, granted figures count one.
        known_slots: Slots a request with the reason, where something else than the log tells them.
    """
    requested = _whole(launch, "max_running_requests")
    if requested is None and reduction is not None:
        requested = reduction.requested
    granted = _granted(ranks, cap, reduction)
    slots = tightest_slots(ranks, cap)
    per_request, slots_reason = known_slots or _slots_per_request(cap, launch, slots, granted)
    share = None if requested is None else max(1, requested // attention_workers(launch, ranks))
    binding, reason = _binding(ranks, (cap, reduction), (share, granted), slots, per_request)
    return Requests(
        requested=requested,
        granted=granted,
        binding=binding,
        binding_reason=reason,
        slots_per_request=per_request,
        slots_reason=slots_reason,
    )


def with_slots_per_request(boot: BootReport, slots: int, reason: str) -> BootReport:
    """A start whose slots a request are known from elsewhere, with what stops its requests then."""
    requests = work_out(boot.ranks, boot.cap, boot.kv_reduction, boot.launch, (slots, reason))
    return replace(
        boot,
        slots_per_request=slots,
        slots_per_request_reason=reason,
        binding=requests.binding or boot.binding,
        binding_reason=requests.binding_reason if requests.binding else boot.binding_reason,
    )


def attention_workers(launch: Launch | None, labels: Iterable[str]) -> int:
    """Workers that share what is asked for: each grants requests and sizes pools for itself."""
    values = launch.values if launch else {}
    size = values.get("dp_size")
    if launch is None or size is None:
        return sharing_workers(labels)
    return size if values.get("enable_dp_attention") is True and isinstance(size, int) and size > 0 else 1


def sharing_workers(labels: Iterable[str]) -> int:
    """Data-parallel workers between which the tensor-parallel ranks are shared out: no two have the same rank."""
    ranks = [(match["dp"], match["tp"]) for match in map(_WORKER.search, labels) if match]
    each = {dp: {tp for other, tp in ranks if other == dp} for dp, _ in ranks}
    shared_out = sum(map(len, each.values())) == len(set().union(*each.values()))
    return max(1, len(each)) if shared_out else 1


def rank_count(labels: Iterable[str], kind: str) -> int:
    """Ranks of one kind, such as `TP`, that the labels show; at least one."""
    form = re.compile(rf"\b{kind}(?:\d+\.\.\.?(?:{kind})?)?(\d+)")
    return max((int(number) for label in labels for number in form.findall(label)), default=0) + 1


def tightest_cap(ranks: Iterable[RankReport]) -> RequestCap | None:
    """The cap line with the fewest requests."""
    caps = [rank.cap for rank in ranks if rank.cap and rank.cap.granted is not None]
    return min(caps, key=lambda cap: cap.granted or 0, default=None)


def tightest_slots(ranks: Mapping[str, RankReport], cap: RequestCap | None) -> int | None:
    """Fewest state slots of any rank."""
    printed = [rank.state.state_slots for rank in ranks.values() if rank.state]
    known = [slots for slots in printed if slots is not None]
    if known:
        return min(known)
    return cap.state_slots if cap else None


def tightest_tokens(ranks: Mapping[str, RankReport]) -> int | None:
    """Fewest KV rows of any rank."""
    printed = [rank.summary.kv_tokens for rank in ranks.values() if rank.summary]
    known = [tokens for tokens in [*printed, *(rank.kv_tokens for rank in ranks.values())] if tokens is not None]
    return min(known, default=None)


def context_len(ranks: Mapping[str, RankReport]) -> int | None:
    """Longest request that the server takes."""
    lengths = (rank.summary.context_len for rank in ranks.values() if rank.summary)
    return next((length for length in lengths if length is not None), None)


def _granted(ranks: Mapping[str, RankReport], cap: RequestCap | None, reduction: KvReduction | None) -> int | None:
    summaries = [rank.summary.max_running_requests for rank in ranks.values() if rank.summary]
    known = [granted for granted in summaries if granted is not None]
    if known:
        return min(known)
    if cap is not None:
        return cap.granted
    return reduction.granted if reduction else None


def _slots_per_request(
    cap: RequestCap | None, launch: Launch | None, slots: int | None, granted: int | None
) -> tuple[int | None, str | None]:
    if cap is not None and cap.slots_per_request is not None:
        return cap.slots_per_request, "the cap line says so"
    if launch is not None and launch.values.get("disable_radix_cache") is True:
        return 1, "the prefix cache is off"
    if not slots or not granted:
        return None, None
    exact = [number for number in SLOTS_PER_REQUEST if slots // number == granted]
    if len(exact) == 1:
        return exact[0], f"{slots} slots // {exact[0]} = {granted} requests"
    if exact:
        several = ", ".join(map(str, exact[:-1]))
        return None, f"{several} or {exact[-1]}: {slots} slots // each = {granted} requests"
    most = slots // granted
    return None, f"at most {most}, since {slots} slots carry {granted} requests" if most else None


def _binding(
    ranks: Mapping[str, RankReport],
    lines: tuple[RequestCap | None, KvReduction | None],
    asked: tuple[int | None, int | None],
    slots: int | None,
    per_request: int | None,
) -> tuple[str | None, str | None]:
    (cap, reduction), (requested, granted) = lines, asked
    if cap is not None:
        return "state", "the log says that the state pool caps the requests"
    if reduction is not None:
        return "kv", "the log says that the KV pool reduces the requests"
    if granted is None:
        return None, None
    return _binding_by_figures(ranks, requested, granted, slots, per_request)


def _binding_by_figures(
    ranks: Mapping[str, RankReport], requested: int | None, granted: int, slots: int | None, per_request: int | None
) -> tuple[str | None, str | None]:
    """Which figure gives the granted requests, where no line says it."""
    by_state = slots // per_request if slots is not None and per_request else None
    if slots == granted and per_request == 1 and _sized_by_requests(ranks):
        return "request_cap", "one slot for each request: without a prefix cache the request cap sizes the state pool"
    if requested is not None and granted >= requested:
        exact = " (and the state slots end exactly there)" if by_state == granted else ""
        return "request_cap", f"all {requested} requested are granted{exact}"
    if by_state == granted:
        return "state", f"{slots} slots // {per_request} a request = {granted}"
    tokens = tightest_tokens(ranks)
    if tokens is not None and tokens // 2 == granted:
        return "kv", f"{tokens} KV tokens // 2 = {granted}"
    own = _own_default(ranks, granted) if requested is None else None
    if own is not None:
        return "request_cap", own
    return None, f"no printed figure gives {granted} requests"


def _own_default(ranks: Mapping[str, RankReport], granted: int) -> str | None:
    """What the engine asks for by itself, where nothing was asked for and the figure is that one."""
    if SMALLEST_DEFAULT_REQUESTS <= granted <= LARGEST_DEFAULT_REQUESTS:
        return "the engine's own default for the requests"
    if granted == SPECULATIVE_DEFAULT_REQUESTS and any(rank.scratch_bytes for rank in ranks.values()):
        return "the engine's own default for the requests under speculation"
    return None


def _sized_by_requests(ranks: Mapping[str, RankReport]) -> bool:
    """Whether the state pool is far from the share that a ratio would give it."""
    share = DEFAULT_STATE_TO_KV_RATIO / (1 + DEFAULT_STATE_TO_KV_RATIO)
    for rank in ranks.values():
        if rank.state_bytes and rank.rest_bytes:
            taken = rank.state_bytes.over(rank.rest_bytes) or Interval(low=0, high=1)
            return not (taken.low - 0.02 <= share <= taken.high + 0.02)
    return False


def _whole(launch: Launch | None, name: str) -> int | None:
    value = launch.values.get(name) if launch else None
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None
