"""`poolsplit replay`: which prefixes survive at one split."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from poolsplit.cli.cache_options import CacheOptions
from poolsplit.cli.options import OutputOptions, PageOptions

if TYPE_CHECKING:
    from poolsplit.answers.replay_request import ReplayRequest


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class SplitOptions:
    """The server's two pools, and their copies on the host."""

    plan: str | None = None
    """Take the server from the JSON of `poolsplit plan`; what the line says wins."""
    state_slots: int | None = None
    """Usable slots of the state pool."""
    kv_tokens: str | None = None
    """Tokens of the KV pool: `1200000`, `512k`."""
    max_running_requests: int | None = None
    """Most requests at once; what the slots allow without it."""
    hicache_ratio: float | None = None
    """Host tier as many times both device pools."""
    hicache_size: float | None = None
    """Host tier of so many GB (1e9 bytes) a rank, by the prices of `--plan`."""
    host_state_slots: int | None = None
    """States that the host keeps, with `--host-kv-tokens`."""
    host_kv_tokens: str | None = None
    """KV tokens that the host keeps: `2680896`, `4M`."""
    hicache_write_policy: Literal["write_through", "write_through_selective", "write_back"] | None = None
    """What is copied to the host: all that is inserted, what is met twice, or what is evicted."""
    enable_unified_memory: Annotated[bool | None, Parameter(negative="")] = None
    """Both pools share the bytes that they add up to, at the prices of the plan, or of the two options below."""
    state_bytes: int | None = None
    """Bytes of one state slot."""
    kv_bytes: float | None = None
    """Bytes of one KV token."""


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class PaceOptions:
    """Whose clock the requests follow, and how fast the server is."""

    mode: Literal["order", "recorded", "closed"] = "order"
    """In their order, at recorded arrivals, or by sessions that wait for their answers and think."""
    sessions: int = 1
    """Open sessions (closed), or requests outstanding at once (order)."""
    prefill_tokens_per_s: float | None = None
    """How fast the server prefills."""
    decode_tokens_per_s: str | None = None
    """Tokens a second of one request: `60`, or by running requests `1:80,32:45`."""
    rates_from: str | None = None
    """Take what is not given of both rates from the batch lines of this run-time log."""
    timeline: str | None = None
    """Write both pools over time to this CSV file."""


def replay(
    *traces: str,
    batch: Annotated[str | None, Parameter(allow_leading_hyphen=True)] = None,
    levers: bool = False,
    split: SplitOptions = SplitOptions(),
    cache: CacheOptions = CacheOptions(),  # noqa: B008  frozen
    pace: PaceOptions = PaceOptions(),
    out: PageOptions = PageOptions(),  # noqa: B008  frozen
) -> int:
    """Which prefixes survive at one split, request by request, as the engine would decide.

    Args:
        traces: Files of one request trace with block ids or token ids.
        batch: File of workloads, one JSON object a line, or `-`: one line of decisions each.
        levers: Price other chunk sizes, track intervals, caps a path, strategies and policies, one change each.
        split: The server's two pools, and their copies on the host.
        cache: The options that decide what survives in them.
        pace: The clock.
        out: Where the answer goes.
    """
    from poolsplit.errors import UsageError

    if out.html is not None and (levers or batch is not None):
        raise UsageError("`--html` draws one replay of a trace", hint="leave `--levers` and `--batch` out")
    if batch is not None:
        if traces:
            raise UsageError(
                f"a batch brings its own workloads, and `{traces[0]}` would not be replayed",
                hint="leave the trace or `--batch` out",
            )
        if levers:
            raise UsageError("`--levers` is about a trace, not a batch", hint="give a trace in place of `--batch`")
        return _answer_batch(batch, out)
    if not traces:
        raise UsageError("there is nothing to replay", hint="give a trace, or `--batch FILE`")
    if levers and pace.timeline is not None:
        raise UsageError("a timeline is of one replay, and `--levers` runs many", hint="leave one of the two out")
    request = _request(split, cache, pace)
    if levers:
        return _price_levers(traces, request, out)
    return _replay_once(traces, request, pace.timeline, out)


def _request(split: SplitOptions, cache: CacheOptions, pace: PaceOptions) -> ReplayRequest:
    from dataclasses import asdict

    from poolsplit import api

    return api.replay_request(split={**asdict(split), **asdict(cache)}, pace=asdict(pace))


def _replay_once(traces: tuple[str, ...], request: ReplayRequest, timeline_file: str | None, out: PageOptions) -> int:
    from poolsplit import api
    from poolsplit.cli.kernel_notice import kernel_ready, nothing_known
    from poolsplit.cli.output import emit, write_text
    from poolsplit.cli.page_file import check_page, write_page
    from poolsplit.cli.request_progress import request_progress
    from poolsplit.report.replay_screen import replay_screen

    check_page(out.html, "replay")
    with nothing_known():
        trace = api.read_trace(traces)
        with kernel_ready(quiet=out.quiet), request_progress(len(trace), quiet=out.quiet) as progress:
            document, timeline = api.replay_trace(trace, request, progress)
    if timeline_file is not None:
        write_text(api.timeline_csv(timeline), timeline_file)
    write_page(out.html, {**document, "timeline": api.timeline_columns(timeline)})
    text = replay_screen(document, timeline, explain=out.explain)
    emit(out, document=document, text=text, warnings=document["warnings"])
    return 0


def _price_levers(traces: tuple[str, ...], request: ReplayRequest, out: OutputOptions) -> int:
    from poolsplit import api
    from poolsplit.cli.kernel_notice import kernel_ready, nothing_known
    from poolsplit.cli.output import emit
    from poolsplit.cli.request_progress import request_progress
    from poolsplit.report.lever_screen import lever_screen

    levers = api.cache_levers(request)
    with nothing_known():
        trace = api.read_trace(traces)
        total = (1 + len(levers)) * len(trace)
        with kernel_ready(quiet=out.quiet), request_progress(total, quiet=out.quiet) as progress:
            document = api.price_levers(trace, request, levers, progress)
    emit(out, document=document, text=lever_screen(document, explain=out.explain), warnings=document["warnings"])
    return 0


def _answer_batch(batch: str, out: OutputOptions) -> int:
    from poolsplit import api
    from poolsplit.cli.batch_lines import batch_lines
    from poolsplit.cli.kernel_notice import kernel_ready

    with batch_lines(batch, out) as (source, target), kernel_ready(quiet=out.quiet):
        target.writelines(api.replay_batch(source))
    return 0
