"""The traffic of a command line: one length, a pair, a spread, or a trace."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from poolsplit.errors import InputError, UsageError
from poolsplit.units import parse_count
from poolsplit.workload.lengths import LengthMix, mix_of, read_length_lines, read_percentiles, single_length
from poolsplit.workload.traffic import DEFAULT_OVERFLOW_FRACTION, Traffic

if TYPE_CHECKING:
    from poolsplit.answers.planner.requests import Prepared, WorkloadRequest
    from poolsplit.planning.choose import Choice


def read_traffic(request: WorkloadRequest) -> Traffic:
    """The traffic of a command line.

    Raises:
        UsageError: No length, or lengths given in two ways.
    """
    overflow = DEFAULT_OVERFLOW_FRACTION if request.overflow is None else request.overflow
    if not 0 < overflow < 1:
        raise UsageError(
            f"an overflow of {overflow:g} is not a chance", where="--overflow", hint="between 0 and 1, 0.05"
        )
    if request.concurrency is not None and request.concurrency < 1:
        raise UsageError(
            f"{request.concurrency} running requests cannot be planned for", where="--concurrency", hint="1 or more"
        )
    peak, median = request.concurrency, request.concurrency_median
    if median is not None and not 0 < median <= (peak or median):
        raise UsageError(
            f"a median of {median} running requests does not go with a peak of {peak}",
            where="--concurrency-median",
            hint="the median is at least 1 and at most the peak",
        )
    return Traffic(lengths=_lengths(request), overflow_fraction=overflow, concurrency=peak, concurrency_median=median)


def with_length_warnings(prepared: Prepared, traffic: Traffic, choice: Choice) -> Prepared:
    """What was prepared, with a warning where some requests are longer than the engine accepts.

    Raises:
        InputError: Every request is longer than that.
    """
    context_len = choice.recommended.solution.pools.context_len
    mix = traffic.lengths
    if not context_len or mix.longest_tokens <= context_len:
        return prepared
    shortest = mix.points[0][0]
    if shortest > context_len:
        raise InputError(
            f"requests of {shortest:,} tokens{'' if mix.is_single else ' and more'} are longer than the context length "
            f"of {context_len:,} tokens: the engine serves none of them",
            hint="plan shorter requests, or raise `--context-length` as far as the model goes",
        )
    percent = 100 * sum(share for tokens, share in mix.points if tokens > context_len)
    text = (
        f"{percent:.3g} % of the requests are longer than the context length of {context_len:,} tokens: the engine "
        "rejects or cuts them, and they are planned for all the same"
    )
    return replace(prepared, warnings=(*prepared.warnings, text))


def _lengths(request: WorkloadRequest) -> LengthMix:
    pair = request.input is not None or request.output is not None
    given = [
        name
        for name, there in (
            ("--context", request.context),
            ("--input/--output", pair),
            ("--lengths", request.lengths),
            ("--trace", request.trace),
        )
        if there
    ]
    if len(given) != 1:
        what = "no length is given" if not given else f"lengths are given in {len(given)} ways: {', '.join(given)}"
        raise UsageError(what, hint="give --context N, --input N --output N, --lengths FILE or --trace FILE")
    if request.context is not None:
        return single_length(parse_count(request.context))
    if request.lengths is not None:
        return _mix(request.lengths)
    if request.trace is not None:
        return _trace_mix(request.trace)
    if request.input is None or request.output is None:
        raise UsageError("one of --input and --output is missing", hint="give both: mean tokens in and out")
    tokens_in, tokens_out = parse_count(request.input), parse_count(request.output)
    return single_length(tokens_in + tokens_out, origin="pairs", input_tokens=tokens_in)


def _mix(text: str) -> LengthMix:
    from pathlib import Path

    if "=" in text and not Path(text).exists():
        return read_percentiles(text)
    return read_length_lines(_read_text(text).splitlines())


def _read_text(name: str) -> str:
    import sys
    from pathlib import Path

    if name == "-":
        return sys.stdin.read()
    try:
        return Path(name).expanduser().read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        raise InputError(
            f"cannot read the lengths: {reason}", where=name, hint="a file of lengths, or `p50=2k,p90=32k,p99=128k`"
        ) from None


def _trace_mix(name: str) -> LengthMix:
    from poolsplit.traces.formats import read_trace
    from poolsplit.traces.reading import ReadOptions

    trace = read_trace([name], ReadOptions())
    totals = (trace.input_tokens + trace.output_tokens).tolist()
    counts: dict[int, float] = {}
    for tokens in totals:
        counts[tokens] = counts.get(tokens, 0.0) + 1.0
    return mix_of(counts.items(), origin="trace", input_tokens_mean=float(trace.input_tokens.mean()))
