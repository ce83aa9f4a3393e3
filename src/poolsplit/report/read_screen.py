"""One screen about a server's start: both pools to scale, requests, findings; plain text, no colour needed."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from poolsplit.units import GIB, format_size

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from poolsplit.engines.boot_report import (
        BootReport,
        Finding,
        Interval,
        Prediction,
        RankReport,
        ReadAnswer,
        RuntimeReport,
    )

WIDTH = 100
BAR_CHARS = 60
MAX_RANKS = 8
MAX_FINDINGS = 8
MAX_MATCHES = 4
_MARKS = {"error": "!!", "warning": "! ", "info": "- "}
_KINDS = {
    "hybrid": "hybrid, two pools",
    "not_hybrid": "not a hybrid: no state pool",
    "elastic": "hybrid, elastic state pool",
    "other_engine": "another engine",
    "not_a_boot": "no start-up lines",
}
_ENGINES = {
    "sglang": "SGLang",
    "vllm": "vLLM",
    "tensorrt_llm": "TensorRT-LLM",
    "llama.cpp": "llama.cpp",
    None: "unknown",
}
_BINDINGS = {"state": "the state pool", "kv": "the KV pool", "request_cap": "the request cap"}
_WITHHELD = {
    "requests_clamped_by_state": "how many more slots run more requests",
    "state_full_while_kv_idle": "how many more slots run more requests",
    "state_dtype_lever": "what two-byte states would bring",
    "state_slots_out_of_reach": "which slots no request can use",
}
"""What each finding with a price of its own is about."""


def read_screen(answer: ReadAnswer, *, explain: bool = False) -> str:
    """The screen for the last start in the log, with every step where that is asked for."""
    boot = answer.report.last
    if boot is None or boot.engine is None:
        return "nothing of a server's start or running time was found"
    parts = [
        _head(boot, len(answer.report.boots)),
        _requests(boot),
        list(_pools(boot)),
        list(_other_engine(boot)),
        _runtime(boot.runtime),
        list(_predictions(answer)),
        list(_findings(answer.findings)),
        _missing(boot),
        _steps(answer) if explain else [],
    ]
    return "\n\n".join("\n".join(lines) for lines in parts if lines)


def _head(boot: BootReport, boots: int) -> list[str]:
    model = boot.model or (f"class {boot.model_class}" if boot.model_class else "model not named")
    version = boot.version or ("version not told" if boot.engine == "sglang" else "")
    unified = ", one unified buffer" if boot.unified else ""
    unified += f", {boot.role} worker" if boot.role else ""
    first = f"{_ENGINES.get(boot.engine, boot.engine)} {version}".strip() + f" | {model} | {_KINDS[boot.kind]}{unified}"
    several = [f"{boots} starts in the log; this is the last"] if boots > 1 else []
    return [first, *several]


def _requests(boot: BootReport) -> list[str]:
    if boot.granted_running_requests is None and boot.binding is None:
        return []
    asked, granted = _count(boot.requested_running_requests), _count(boot.granted_running_requests)
    lines = [f"requests: asked for {asked}, granted {granted}{_really(boot)}"]
    if boot.binding:
        lines.append(f"stopped by {_BINDINGS[boot.binding]}: {boot.binding_reason}")
    elif boot.binding_reason:
        lines.append(f"stopped by: not known, {boot.binding_reason}")
    if boot.slots_per_request is not None:
        lines.append(f"slots per request: {boot.slots_per_request} ({boot.slots_per_request_reason})")
    elif boot.slots_per_request_reason:
        lines.append(f"slots per request: {boot.slots_per_request_reason}")
    return lines


def _count(requests: int | None) -> str:
    return "an unknown number" if requests is None else f"{requests:,}"


def _really(boot: BootReport) -> str:
    if boot.runtime is None or boot.runtime.running is None:
        return ""
    return f", running {boot.runtime.running.peak:,.0f} at the peak and {boot.runtime.running.mean:,.1f} on average"


def _pools(boot: BootReport) -> Iterator[str]:
    ranks = [rank for rank in boot.pool_ranks if rank.rest_bytes or rank.state or rank.kv]
    groups = _equal_ranks(ranks)
    largest = max((rank.rest_bytes.middle for rank in ranks if rank.rest_bytes), default=0.0)
    for labels, rank in groups[:MAX_RANKS]:
        name = "every rank" if labels == ["-"] else ", ".join(labels)
        if rank.rest_bytes and largest > 0:
            yield f"{name}: {rank.rest_bytes.middle / GIB:.2f} GiB in both pools"
            yield f"  [{_bar(rank, largest)}]"
        else:
            yield f"{name}: sizes not complete"
        yield from (f"  {line}" for line in _rank_lines(rank))
    if len(groups) > MAX_RANKS:
        yield f"and {len(groups) - MAX_RANKS} further kinds of ranks"


def _equal_ranks(ranks: Sequence[RankReport]) -> list[tuple[list[str], RankReport]]:
    groups: list[tuple[list[str], RankReport]] = []
    for rank in ranks:
        for labels, other in groups:
            if (rank.state, rank.kv) == (other.state, other.kv):
                labels.append(rank.label)
                break
        else:
            groups.append(([rank.label], rank))
    return groups


def _bar(rank: RankReport, largest: float) -> str:
    parts = (("#", rank.state_bytes), ("~", rank.scratch_bytes), ("=", rank.kv_bytes))
    bar = "".join(sign * round(BAR_CHARS * part.middle / largest) for sign, part in parts if part)
    return bar.ljust(BAR_CHARS)[:BAR_CHARS]


def _rank_lines(rank: RankReport) -> Iterator[str]:
    if rank.state:
        slots = "?" if rank.state.state_slots is None else f"{rank.state.state_slots:,}"
        each = f" x {_span(rank.state_bytes_per_slot)} a slot (K + 1 are held)" if rank.state_bytes_per_slot else ""
        yield f"# state   {_size(rank.state_bytes):>10}  {slots} slots{each}"
    if rank.scratch_bytes:
        states = f"  {rank.scratch_states.middle:.0f} states" if rank.scratch_states else ""
        yield f"~ scratch {_size(rank.scratch_bytes):>10}{states}"
    if rank.kv:
        tokens = "?" if rank.kv_tokens is None else f"{rank.kv_tokens:,}"
        each = f" x {_span(rank.kv_bytes_per_token)} a token" if rank.kv_bytes_per_token else ""
        draft = f" (draft pools: {len(rank.kv) - 1})" if len(rank.kv) > 1 else ""
        dtype = f" in {rank.kv[0].dtype.removeprefix('torch.')}" if rank.kv[0].dtype else ""
        yield f"= KV      {_size(rank.kv_bytes):>10}  {tokens} tokens{dtype}{each}{draft}"
    if rank.token_equiv:
        yield (
            f"one slot is worth {rank.token_equiv.middle:,.0f} tokens "
            f"({rank.token_equiv.low:,.0f} to {rank.token_equiv.high:,.0f}){_worth(rank)}"
        )
    if rank.unexplained_bytes:
        yield f"named by no line between weights and pool end: {rank.unexplained_bytes.middle / GIB:.2f} GiB"


def _worth(rank: RankReport) -> str:
    slots = rank.state.state_slots if rank.state else None
    tokens, equiv = rank.kv_tokens, rank.token_equiv
    if slots is None or tokens is None or equiv is None or equiv.middle <= 0:
        return ""
    worth = f"{(slots + 1) * equiv.middle:,.0f} tokens, the KV pool = {tokens / equiv.middle:,.0f} slots"
    return f": the state pool = {worth}"


def _size(interval: Interval | None) -> str:
    return f"{interval.middle / GIB:.2f} GiB" if interval else "not told"


def _span(interval: Interval | None) -> str:
    if interval is None:
        return "?"
    low, high = format_size(int(interval.low)), format_size(int(interval.high))
    return low if low == high else f"{low} to {high}"


def _other_engine(boot: BootReport) -> Iterator[str]:
    if boot.foreign is None:
        return
    yield "figures that can be read; no advice for this engine:"
    yield from (f"  {name.replace('_', ' ')}: {value}" for name, value in boot.foreign.figures.items())


def _runtime(runtime: RuntimeReport | None) -> list[str]:
    if runtime is None:
        return []
    parts = []
    for name, figure in (("state", runtime.state_usage_fraction), ("KV", runtime.kv_usage_fraction)):
        if figure is not None:
            parts.append(f"{name} pool {figure.mean:.0%} mean, {figure.peak:.0%} peak")
    if runtime.queue is not None:
        parts.append(f"queue {runtime.queue.mean:.1f} mean, {runtime.queue.peak:.0f} peak")
    reuse = runtime.cached_token_fraction
    parts.append("prefix reuse not told" if reuse is None else f"{reuse:.1%} of prompt tokens from the cache")
    parts.append(f"{runtime.retractions} retractions")
    return textwrap.wrap(f"running, {runtime.samples:,} samples: " + "; ".join(parts), WIDTH)


def _predictions(answer: ReadAnswer) -> Iterator[str]:
    for group in _alike(answer.predictions):
        yield from _prediction(group)
    last = answer.report.last
    if answer.predictions_reason and last is not None and last.model is not None:
        text = f"not held to the rules of a release: {answer.predictions_reason}"
        yield from textwrap.wrap(text, WIDTH, break_on_hyphens=False)
    if answer.withheld:
        yield from textwrap.wrap(_withheld(answer.withheld, last), WIDTH, break_on_hyphens=False)
    if answer.matches:
        shown = [f"{m.model} at TP{m.tensor_parallel} ({m.state_dtype} state, {m.kv_dtype} KV)" for m in answer.matches]
        more = f" and {len(shown) - MAX_MATCHES} more" if len(shown) > MAX_MATCHES else ""
        yield from textwrap.wrap(f"the pools fit {'; '.join(shown[:MAX_MATCHES])}{more}; others may fit too", WIDTH)


def _withheld(ids: Sequence[str], boot: BootReport | None) -> str:
    """Advice that is not given, in words, and how to get it all the same."""
    beside = boot is not None and boot.launch is not None and boot.launch.form == "given"
    without = ". Without the launch beside it the log's own figures are enough for that advice" if beside else ""
    topics = list(dict.fromkeys(_WITHHELD[id_] for id_ in ids))
    return (
        f"no release's rules give these figures for this launch, so nothing is advised on {' and '.join(topics)}: its "
        f"flags are not those of the server that wrote the log, or the build is patched{without}"
    )


def _alike(predictions: Sequence[Prediction]) -> list[list[Prediction]]:
    """Releases that say the same, together."""
    groups: list[list[Prediction]] = []
    for prediction in predictions:
        for group in groups:
            if (group[0].refused, group[0].card) == (prediction.refused, prediction.card) and _misses(
                group[0]
            ) == _misses(prediction):
                group.append(prediction)
                break
        else:
            groups.append([prediction])
    return groups


def _misses(prediction: Prediction) -> list[tuple[str, str, float]]:
    return [(each.rank, each.name, each.predicted) for each in prediction.figures if not each.follows]


def _prediction(group: Sequence[Prediction]) -> Iterator[str]:
    prediction = group[0]
    releases = ", ".join(sorted(each.version for each in group))
    if prediction.refused:
        verdict = "refuses it as the log does" if prediction.refused_as_logged else "would not start"
        yield f"{releases}: {verdict}: {prediction.refused}"
        return
    card = f" (on {prediction.card})" if prediction.card else ""
    yield f"{releases}{card}: {prediction.following} of {len(prediction.figures)} printed figures follow"
    for figure in prediction.figures:
        if not figure.follows:
            given = _predicted(figure.predicted)
            yield f"  {figure.rank} {figure.name}: printed {figure.printed}, rules give {given}"


def _predicted(value: float) -> str:
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:.4g}"


def _findings(findings: Sequence[Finding]) -> Iterator[str]:
    for finding in findings[:MAX_FINDINGS]:
        mark = _MARKS[finding.severity]
        yield from textwrap.wrap(
            finding.text, WIDTH, initial_indent=f"{mark} ", subsequent_indent="   ", break_on_hyphens=False
        )
        if finding.flags:
            yield from textwrap.wrap(
                " | ".join((finding.flags[0] + _price(finding), *finding.flags[1:])),
                WIDTH,
                initial_indent="   set ",
                subsequent_indent="       ",
                break_on_hyphens=False,
            )
    if len(findings) > MAX_FINDINGS:
        yield f"and {len(findings) - MAX_FINDINGS} more in the JSON form"


def _price(finding: Finding) -> str:
    if finding.price is None:
        return ""
    parts = []
    if finding.price.delta_requests is not None:
        parts.append(f"{finding.price.delta_requests:+,} requests")
    if finding.price.delta_kv_tokens is not None:
        parts.append(f"{finding.price.delta_kv_tokens:+,} tokens")
    return f" ({', '.join(parts)})" if parts else ""


def _steps(answer: ReadAnswer) -> list[str]:
    return [f"{step.name}: {step.value} {step.unit}".rstrip() + f"  ({step.source})" for step in answer.derivation]


def _missing(boot: BootReport) -> list[str]:
    return textwrap.wrap(f"not in the log: {', '.join(boot.missing)}", WIDTH) if boot.missing else []
