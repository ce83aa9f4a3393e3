"""Findings on how many requests run and what stops the next one."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from poolsplit.engines.boot_report import Finding, Price
from poolsplit.engines.sglang.boot_log.requests import (
    LARGEST_DEFAULT_REQUESTS,
    SLOTS_PER_REQUEST,
    attention_workers,
    context_len,
    tightest_slots,
    tightest_tokens,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from poolsplit.engines.boot_report import BootReport, RankReport

FROM_POOL_LINES = "worked out from the printed pools; tokens are rows per rank"
ROOMY_RATIO = 4
"""A KV pool that holds every granted request at full length this many times over."""


def limit_findings(boot: BootReport) -> Iterator[Finding]:
    """What the granted requests and the pools say to each other."""
    if boot.kind != "hybrid":
        return
    if boot.binding == "state" and boot.granted_running_requests is not None:
        yield from _clamped_by_state(boot, boot.granted_running_requests)
    elif boot.binding == "kv" and boot.granted_running_requests is not None:
        yield _clamped_by_kv(boot, boot.granted_running_requests)
    yield from _short_kv(boot)
    yield from _roomy_kv(boot)
    yield from _unusable_slots(boot)
    yield from _uneven_ranks(boot)


def slots_needed(boot: BootReport, requests: int) -> int | None:
    """Value of `--max-mamba-cache-size` that carries the requests; it is divided by the data-parallel workers."""
    if boot.slots_per_request is None:
        return None
    workers = attention_workers(boot.launch, boot.ranks)
    return workers * math.ceil(requests / workers) * boot.slots_per_request


def widest_rank(boot: BootReport) -> RankReport | None:
    """The rank whose pools are printed most fully."""
    full = [rank for rank in boot.pool_ranks if rank.token_equiv is not None]
    return full[0] if full else None


def price_of_slots(boot: BootReport, more_slots: int) -> Price | None:
    """What more slots cost in KV tokens, and give in requests, at unchanged memory."""
    rank = widest_rank(boot)
    if rank is None or rank.token_equiv is None or boot.slots_per_request is None:
        return None
    slots = tightest_slots(boot.ranks, boot.cap) or 0
    requests = (slots + more_slots) // boot.slots_per_request - slots // boot.slots_per_request
    tokens = -round(more_slots * rank.token_equiv.middle)
    return Price(delta_requests=requests, delta_kv_tokens=tokens, source=FROM_POOL_LINES)


def _clamped_by_state(boot: BootReport, granted: int) -> Iterator[Finding]:
    requested, per_request = boot.requested_running_requests, boot.slots_per_request
    if granted <= 0:
        yield Finding(
            id="no_request_fits",
            severity="error",
            text=f"no request can run: {_slots_text(boot)}",
            evidence=_cap_evidence(boot),
            flags=(f"--max-mamba-cache-size {per_request}",) if per_request else ("--mem-fraction-static",),
        )
        return
    workers = attention_workers(boot.launch, boot.ranks)
    short = requested is None or requested > granted * workers
    target = requested if requested is not None and short else (granted + 1) * workers
    advice = _more_slots(boot, target)
    asked = f", {requested} were asked for" if requested is not None else ""
    shown = "; the info endpoint and `server_args` keep showing the request" if requested is not None else ""
    each = f" on each of {workers} workers" if workers > 1 else ""
    yield Finding(
        id="requests_clamped_by_state",
        severity="warning" if short else "info",
        text=f"{granted} requests run{each}{asked}: {_slots_text(boot)}{shown}{advice.text}",
        evidence=_cap_evidence(boot),
        flags=advice.flags,
        price=advice.price,
    )
    yield from _half_state(boot)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Advice:
    """How more requests would run."""

    text: str
    flags: tuple[str, ...]
    price: Price | None = None


def _more_slots(boot: BootReport, target: int) -> _Advice:
    """The slots for `target` requests of all workers, or why both pools together do not hold them."""
    need, slots = slots_needed(boot, target), tightest_slots(boot.ranks, boot.cap)
    if need is None or slots is None:
        return _Advice(text="", flags=("--max-mamba-cache-size (higher)",))
    share = _share_by_length(boot)
    more = need // attention_workers(boot.launch, boot.ranks) - slots
    price, tokens = price_of_slots(boot, more) if more > 0 else None, tightest_tokens(boot.ranks)
    if price is not None and tokens is not None and -(price.delta_kv_tokens or 0) >= tokens:
        text = f". {target} requests need {need} slots, more than both pools hold"
        flags = ("--mem-fraction-static (higher)", "--max-running-requests (lower)")
        return _Advice(text=text + (share.text if share else ""), flags=(*(share.flags if share else ()), *flags))
    text = f". {target} requests need {need} slots"
    if price is None and more > 0:
        text += "; what they cost in KV tokens is not in the log"
    if share is None or boot.requested_running_requests is not None:
        return _Advice(text=text, flags=(f"--max-mamba-cache-size {need}",), price=price)
    return _Advice(text=text + share.text, flags=(f"--max-mamba-cache-size {need}", *share.flags), price=price)


def _share_by_length(boot: BootReport) -> _Advice | None:
    """The balance of both pools, which depends on a length that no log tells; None with scratch or a pinned pool."""
    rank, tokens, granted = widest_rank(boot), tightest_tokens(boot.ranks), boot.granted_running_requests
    values = boot.launch.values if boot.launch else {}
    if rank is None or rank.token_equiv is None or not (tokens and granted and boot.slots_per_request):
        return None
    if rank.scratch_bytes is not None or values.get("max_mamba_cache_size") is not None:
        return None
    copies = values.get("dcp_size")
    copies = copies if isinstance(copies, int) and copies > 0 else 1
    step = round(boot.slots_per_request * rank.token_equiv.middle * copies)
    text = (
        f". Each further request costs {step:,} KV tokens. The pools balance at {tokens * copies // granted:,} tokens "
        f"a request, prompt and answer; if yours are shorter on average, the ratio {step:,} / average runs more"
    )
    return _Advice(text=text, flags=(f"--mamba-full-memory-ratio ({step} / average tokens of a request)",))


def _half_state(boot: BootReport) -> Iterator[Finding]:
    """Two-byte states: more slots from the same bytes."""
    rank, dtype = widest_rank(boot), boot.launch.values.get("mamba_ssm_dtype") if boot.launch else None
    if dtype in ("bfloat16", "float16") or rank is None or boot.slots_per_request is None:
        return
    ssm, conv, slots = rank.ssm_bytes_per_slot, rank.conv_bytes_per_slot, tightest_slots(boot.ranks, boot.cap)
    if ssm is None or conv is None or slots is None or ssm.low <= 0:
        return
    fewest = math.floor((slots + 1) * (ssm.low + conv.low) / (ssm.low / 2 + conv.high)) - 1
    gained = fewest // boot.slots_per_request - slots // boot.slots_per_request
    if gained > 0:
        yield Finding(
            id="state_dtype_lever",
            severity="info",
            text=f"if the recurrent state is kept in float32 now, two bytes give about {fewest} slots from the same "
            f"memory; the convolution part keeps its size, so the factor is below 2, and accuracy is yours to check",
            flags=("--mamba-ssm-dtype bfloat16",),
            price=Price(delta_requests=gained, delta_kv_tokens=0, source=FROM_POOL_LINES),
        )


def _clamped_by_kv(boot: BootReport, granted: int) -> Finding:
    requested = boot.requested_running_requests
    asked = f", {requested} were asked for" if requested is not None else ""
    return Finding(
        id="requests_clamped_by_kv",
        severity="warning",
        text=f"{granted} requests run{asked}: the KV pool stops the next one, not the state pool",
        evidence=(boot.binding_reason or "",),
        flags=("--mamba-full-memory-ratio (lower)", "--kv-cache-dtype fp8_e4m3", "--mem-fraction-static (higher)"),
    )


def _short_kv(boot: BootReport) -> Iterator[Finding]:
    tokens, longest = tightest_tokens(boot.ranks), context_len(boot.ranks)
    copies = boot.launch.values.get("dcp_size") if boot.launch else None
    logical = tokens * copies if tokens is not None and isinstance(copies, int) else tokens
    if logical is not None and longest is not None and 0 < logical < longest:
        yield Finding(
            id="kv_smaller_than_context",
            severity="warning",
            text=f"the KV pool holds {logical:,} tokens, less than one request of the longest length ({longest:,}): "
            "such a request can never run",
            flags=(f"--context-length {logical}", "--mamba-full-memory-ratio (lower)"),
        )


def _roomy_kv(boot: BootReport) -> Iterator[Finding]:
    tokens, longest = tightest_tokens(boot.ranks), context_len(boot.ranks)
    granted = boot.granted_running_requests
    if not (tokens and longest and granted) or boot.binding != "request_cap":
        return
    times = tokens / (granted * longest)
    if times >= ROOMY_RATIO:
        yield Finding(
            id="kv_pool_larger_than_needed",
            severity="info",
            text=f"the KV pool holds {times:.1f} times what {granted} requests of the longest length "
            f"({longest:,} tokens) need; the request cap, not a pool, stops the next request",
            flags=(f"--max-running-requests {min(int(granted * times), LARGEST_DEFAULT_REQUESTS)}",),
        )


def _unusable_slots(boot: BootReport) -> Iterator[Finding]:
    """More slots than the engine's largest own request cap can reserve."""
    slots = tightest_slots(boot.ranks, boot.cap)
    most = LARGEST_DEFAULT_REQUESTS * (boot.slots_per_request or max(SLOTS_PER_REQUEST))
    if slots is None or slots <= most:
        return
    rank = widest_rank(boot)
    gained = round((slots - most) * rank.token_equiv.middle) if rank and rank.token_equiv else None
    yield Finding(
        id="state_slots_out_of_reach",
        severity="warning",
        text=f"{slots:,} state slots are more than {LARGEST_DEFAULT_REQUESTS} requests can reserve; the rest only "
        "keeps prefixes, and the memory is lost to the KV pool",
        flags=(f"--max-mamba-cache-size {most}",),
        price=Price(delta_requests=0, delta_kv_tokens=gained, source=FROM_POOL_LINES) if gained else None,
    )


def _uneven_ranks(boot: BootReport) -> Iterator[Finding]:
    slots = {rank.state.state_slots for rank in boot.ranks.values() if rank.state} - {None}
    tokens = {rank.kv_tokens for rank in boot.ranks.values() if rank.kv} - {None}
    if len(slots) > 1 or len(tokens) > 1:
        parts = [f"state slots {_list(slots)}"] if len(slots) > 1 else []
        parts += [f"KV tokens {_list(tokens)}"] if len(tokens) > 1 else []
        yield Finding(
            id="ranks_differ",
            severity="info",
            text=f"the ranks hold different pools ({'; '.join(parts)}): the tightest binds",
        )


def _list(values: set[int | None]) -> str:
    return ", ".join(f"{value:,}" for value in sorted(value for value in values if value is not None))


def _slots_text(boot: BootReport) -> str:
    slots = tightest_slots(boot.ranks, boot.cap)
    if boot.slots_per_request is None:
        return f"the state pool has {slots} slots"
    return f"the state pool has {slots} slots and each request reserves {boot.slots_per_request}"


def _cap_evidence(boot: BootReport) -> tuple[str, ...]:
    return (boot.binding_reason,) if boot.binding_reason else ()
