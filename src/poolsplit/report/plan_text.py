"""A plan for people: the answer first, then what it rests on. Plain text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from poolsplit.report.columns import columns
from poolsplit.report.derivation_text import derivation_table
from poolsplit.report.lever_words import lever_words
from poolsplit.units import format_size

if TYPE_CHECKING:
    from collections.abc import Iterator

    from poolsplit.plan_answer import PlanAnswer, SplitFigures

_BINDINGS = {
    "state": "the state pool binds",
    "kv": "the KV pool binds",
    "balanced": "both pools bind",
    "request_cap": "the request cap binds",
}


def plan_text(answer: PlanAnswer, *, explain: bool = False) -> str:
    """The screen of one plan."""
    parts = [headline(answer), *_body(answer)]
    if explain:
        parts.append(derivation_table(answer.derivation))
    return "\n\n".join(part for part in parts if part)


def headline(answer: PlanAnswer) -> str:
    """The answer in one line: what runs now, what to paste, what then runs, and whether asked sessions stay."""
    lost = answer.sessions is not None and not answer.sessions.fits
    text = _split_headline(answer) + ("; the kept sessions do not fit" if lost else "")
    if answer.replicas == 1:
        return text
    in_all = answer.running_requests_of_all_replicas
    return f"on each of {answer.replicas} replicas: {text}; {_requests(in_all)} in all"


def _split_headline(answer: PlanAnswer) -> str:
    current, best = answer.current, answer.recommended
    flags = " ".join(best.flags)
    requests = best.total_running_requests
    if answer.trace is not None:
        from poolsplit.report.plan_trace import trace_headline

        return trace_headline(answer.trace, flags, requests)
    if current is None:
        return f"does not start as it is ({answer.current_refused}). {flags} -> {_requests(requests)}"
    now = f"{_requests(current.total_running_requests)}, {_BINDINGS[current.binding]} ({_idle(current)})."
    if current.running_requests >= best.running_requests and current.mode == best.mode:
        return f"{now} No other split runs more: keep {flags}" if flags else f"{now} No other split runs more"
    if requests <= current.total_running_requests:
        tokens = (best.kv_tokens - current.kv_tokens) / max(1, current.kv_tokens)
        asked = requests == answer.workload["concurrency"]
        what = f"the {_requests(requests)} asked for" if asked else _requests(requests)
        return f"{now} {flags} -> {what}, {best.kv_tokens:,} KV tokens ({_percent(tokens)})"
    if not current.total_running_requests:
        return f"{now} {flags} -> {_requests(requests)}"
    return f"{now} {flags} -> {_requests(requests)} ({_gain(current.total_running_requests, requests)})"


def _gain(before: int, after: int) -> str:
    """What is gained: in percent, or in requests where that rounds to nothing."""
    share = (after - before) / before
    return _percent(share) if round(share, 2) else f"+{_requests(after - before)}"


def _percent(change: float) -> str:
    return f"{change:+.0%}".replace("%", " %")


def _requests(count: int) -> str:
    return f"{count:,} request" if count == 1 else f"{count:,} requests"


def _idle(figures: SplitFigures) -> str:
    """How full the pools are that do not bind."""
    kv, state = f"KV {figures.kv_used_fraction:.0%} used", f"state {figures.state_used_fraction:.0%} used"
    return {"state": kv, "kv": state}.get(figures.binding, f"{state}, {kv}").replace("%", " %")


def _body(answer: PlanAnswer) -> Iterator[str]:
    yield _splits(answer)
    if answer.trace is not None:
        from poolsplit.report.plan_trace import trace_lines

        yield trace_lines(answer.trace)
    yield _constants(answer)
    yield _stages(answer)
    yield _levers(answer)
    yield _beside(answer)
    if answer.notes:
        yield "\n".join(f"- {note}" for note in answer.notes)
    if answer.launch_command:
        yield f"launch:\n{answer.launch_command}"


def _splits(answer: PlanAnswer) -> str:
    columns_of = [("now", answer.current)] if answer.current is not None else []
    columns_of.append(("recommended", answer.recommended))
    figures = [split for _, split in columns_of if split is not None]
    workers = answer.constants.workers > 1
    rows = [
        ("split", *(_split(split) for split in figures)),
        ("state slots", *(_count(split.state_slots) for split in figures)),
        ("KV tokens", *(_count(split.kv_tokens) for split in figures)),
        ("requests by state", *(_count(split.state_requests) for split in figures)),
        ("requests by KV", *(_count(split.kv_requests) for split in figures)),
        ("granted by the engine", *(_count(split.max_running_requests) for split in figures)),
        ("really running", *(_count(split.running_requests) for split in figures)),
        ("binding", *(split.binding.replace("_", " ") for split in figures)),
    ]
    if answer.recommended.swa_tokens is not None:
        rows.insert(3, ("window tokens", *(_count(split.swa_tokens) for split in figures)))
    header = ("per worker" if workers else "", *(name for name, _ in columns_of))
    return columns(header, rows, right=(1, 2)[: len(figures)])


def _split(figures: SplitFigures) -> str:
    if figures.mode == "pin":
        return f"pin {figures.max_mamba_cache_size:,}"
    return f"ratio {figures.state_to_kv_ratio:g}"


def _levers(answer: PlanAnswer) -> str:
    """What else could be changed, on top of the recommended plan: gains in full, the rest by name."""
    offered = [lever for lever in answer.levers if lever.status == "offered"]
    lines = ["what else gives requests, each on top of the recommended plan:"]
    for lever in offered:
        if (lever.delta_requests or 0) > 0:
            flags = " ".join((*lever.flags, *(f"(without {flag})" for flag in lever.removes)))
            unit = "request" if lever.delta_requests == 1 else "requests"
            lines.append(f"  {lever.delta_requests:+,} {unit}, {lever.delta_kv_tokens:+,} KV tokens: {flags}")
            lines.append(f"      {lever.risk}")
    for label, keep in (("no change", 0), ("fewer", -1)):
        names = [lever_words(lever.name) for lever in offered if _sign(lever.delta_requests or 0) == keep]
        if names:
            lines.append(f"  {label}: {', '.join(names)}")
    lines.extend(
        f"  refused: {lever_words(lever.name)}: {lever.reason}" for lever in answer.levers if lever.status == "refused"
    )
    return "\n".join(lines) if len(lines) > 1 else ""


def _beside(answer: PlanAnswer) -> str:
    """What was asked for beside the split, and the memory that is left."""
    lines = []
    if answer.mix is not None:
        lines.append(f"spread: {answer.mix.text}")
        lines.extend(
            f"  ratio {point.ratio:.4g} ({point.factor:g}x): {point.running_requests:,} requests, "
            f"{point.expected_running:,.1f} running on average"
            for point in answer.mix.losses
        )
    if answer.compared is not None:
        lines.append(f"release: {answer.compared.text}")
        if answer.compared.keep_flags:
            lines.append(f"  to keep what stood: {' or '.join(answer.compared.keep_flags)}")
    for role in answer.pair:
        flags = " ".join(role.recommended.flags)
        lines.append(
            f"{role.role}: {role.tokens:,.0f} tokens, {_requests(role.recommended.total_running_requests)}, "
            f"{_BINDINGS[role.recommended.binding]}: {flags}"
        )
    if answer.free_after_pools_bytes is not None:
        lines.append(_free(answer.free_after_pools_bytes))
    return "\n".join(lines)


def _free(size_bytes: int) -> str:
    if size_bytes < 0:
        return f"the pools and what stands beside them take about {format_size(-size_bytes)} more than is free"
    return f"about {format_size(size_bytes)} stay free after the pools, before graphs"


def _sign(value: int) -> int:
    return (value > 0) - (value < 0)


def _count(value: int | None) -> str:
    return "-" if value is None else f"{value:,}"


def _constants(answer: PlanAnswer) -> str:
    constants, rest = answer.constants, answer.rest
    low, high = rest.interval_bytes
    spread = f", {format_size(low)} to {format_size(high)}" if low != high else ""
    worth = "" if constants.token_equiv is None else f" = {constants.token_equiv:,.0f} rows"
    slot = "-" if constants.state_bytes_per_slot is None else f"{constants.state_bytes_per_slot:,} B a slot"
    mean = answer.workload["mean_tokens"]
    lines = [
        f"{answer.model} on {answer.device}, engine rules {answer.version}, {mean:,.0f} tokens a request",
        f"{slot}{worth}, {_row(constants.kv_bytes_per_token)} B a KV row, {constants.slots_per_request} slots a request"
        + (f" + {constants.draft_states} draft states" if constants.draft_states else "")
        + f" ({constants.origin})",
        f"{format_size(rest.bytes)} for both pools{spread} ({rest.origin}: {rest.source})",
        answer.formula_note
        if answer.formula_ratio is None
        else f"published ratio {answer.formula_ratio:.4g}: {answer.formula_note}",
    ]
    if answer.pin_reason:
        lines.append(f"pinned: {answer.pin_reason}")
    return "\n".join(lines)


def _stages(answer: PlanAnswer) -> str:
    if len(answer.stages) < 2:  # noqa: PLR2004 -- one stage is the table above
        return ""
    rows = [
        (
            str(number),
            str(stage.layers),
            _count(stage.state_layers),
            _count(stage.kv_layers),
            format_size(stage.state_bytes),
            format_size(stage.kv_bytes),
            format_size(stage.idle_bytes),
            ", ".join(stage.binds),
        )
        for number, stage in enumerate(answer.stages)
    ]
    header = ("stage", "layers", "state", "KV", "state pool", "KV pool", "idle", "binds")
    table = columns(header, rows, right=(1, 2, 3, 4, 5, 6))
    return (
        f"{table}\npools as a stage allocates them; idle: charged to it and never allocated, or left by a tighter stage"
    )


def _row(size: float | None) -> str:
    if size is None:
        return "-"
    return f"{size:,}" if isinstance(size, int) else f"{size:,.1f}"
