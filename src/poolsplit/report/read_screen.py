"""One screen about a server's start: both pools to scale, requests, findings; plain text, no colour needed."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from poolsplit.report.read_pools import pool_lines
from poolsplit.report.read_predictions import WIDTH, prediction_lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from poolsplit.engines.boot_report import (
        BootReport,
        Finding,
        ReadAnswer,
        RuntimeReport,
    )

MAX_FINDINGS = 8
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


def read_screen(answer: ReadAnswer, *, explain: bool = False) -> str:
    """The screen for the last start in the log, with every step where that is asked for."""
    boot = answer.report.last
    if boot is None or boot.engine is None:
        return "nothing of a server's start or running time was found"
    parts = [
        _head(boot, len(answer.report.boots)),
        _requests(boot),
        list(pool_lines(boot)),
        list(_other_engine(boot)),
        _runtime(boot.runtime),
        list(prediction_lines(answer)),
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
