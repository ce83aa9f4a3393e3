"""What follows from a log: the reader joined with the resolver, the catalog and the prices of changes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from poolsplit.answers.logs.launches import NothingToPredictError, launch_of, named_device
from poolsplit.answers.logs.matches import catalog_matches
from poolsplit.answers.logs.predict import deployment_under, predict_all
from poolsplit.answers.logs.prices import price_findings
from poolsplit.derivation import Step
from poolsplit.engines import other_engines
from poolsplit.engines.boot_facts import Launch
from poolsplit.engines.boot_report import ReadAnswer
from poolsplit.engines.sglang.boot_log import read_files
from poolsplit.engines.sglang.boot_log.findings import findings_of
from poolsplit.engines.sglang.boot_log.missing import missing_fields
from poolsplit.engines.sglang.boot_log.requests import with_slots_per_request
from poolsplit.errors import InputError, PoolsplitError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from poolsplit.answers.logs.launches import LoggedLaunch
    from poolsplit.engines.boot_report import BootReport, CatalogMatch, Finding, LogReport, Prediction

__all__ = ["answer_of", "read_answer"]


def read_answer(
    names: Sequence[str],
    *,
    extra_flags: Mapping[str, Any] | None = None,
    gpu: str | None = None,
    progress: Callable[[int], None] | None = None,
) -> ReadAnswer:
    """Reads logs and answers for their last start; the arguments are those of `api.read_log`.

    Raises:
        InputError: There is nothing to read, or it cannot be read.
    """
    if not names:
        raise InputError("there is nothing to read", hint="name a log file, a folder, or `-` for standard input")
    extra = Launch(form="given", values=extra_flags) if extra_flags else None
    report = read_files(names, other_forms=other_engines.FORMS, extra_launch=extra, progress=progress)
    return answer_of(report, gpu)


def answer_of(report: LogReport, gpu: str | None = None) -> ReadAnswer:
    """Findings, predictions and matches for the last start of a report.

    Args:
        report: What the log says.
        gpu: The card's name, where the user gives it; else cards that fit the printed memory are tried.

    Raises:
        InputError: No such card.
    """
    boot = report.last
    device = named_device(gpu) if gpu else None
    if boot is None:
        return ReadAnswer(report=report)
    findings = findings_of(boot)
    derivation = tuple(_steps(boot))
    if boot.kind != "hybrid" and not _may_be_hybrid(boot):
        return ReadAnswer(report=report, findings=findings, derivation=derivation)
    try:
        launch = launch_of(boot, device)
    except NothingToPredictError as nothing:
        matches = catalog_matches(boot) if boot.model is None else ()
        return ReadAnswer(
            report=report,
            findings=_for_matches(findings, matches),
            matches=matches,
            predictions_reason=str(nothing),
            derivation=derivation,
        )
    if boot.kind != "hybrid" and launch.shape.state is None:
        return ReadAnswer(report=report, findings=findings, derivation=derivation)
    return _predicted(report, boot if boot.kind == "hybrid" else _as_hybrid(boot), launch, findings)


def _predicted(report: LogReport, boot: BootReport, launch: LoggedLaunch, findings: tuple[Finding, ...]) -> ReadAnswer:
    """The answer for a start whose launch is known: priced under the release that explains it, where one does."""
    predictions = predict_all(boot, launch)
    holding = next((prediction for prediction in predictions if prediction.holds), None)
    withheld: tuple[str, ...] = ()
    if holding is None:
        findings, withheld = _without_priced(findings)
    elif holding.refused is None:
        known = _with_slots_of_rules(boot, launch, holding)
        if known is not boot:
            boot, findings = known, findings_of(known)
        findings = price_findings(boot, launch, holding, findings)
    return ReadAnswer(
        report=replace(report, boots=(*report.boots[:-1], boot)),
        findings=findings,
        predictions=_in_order(predictions),
        withheld=withheld,
        derivation=tuple(_steps(boot)),
    )


def _may_be_hybrid(boot: BootReport) -> bool:
    """A start that ended before any line could show a state pool; the model tells whether it would have had one."""
    return boot.engine == "sglang" and boot.hybrid is None and bool(boot.errors)


def _as_hybrid(boot: BootReport) -> BootReport:
    known = replace(boot, kind="hybrid", hybrid=True)
    return replace(known, missing=missing_fields(known))


def _for_matches(findings: tuple[Finding, ...], matches: tuple[CatalogMatch, ...]) -> tuple[Finding, ...]:
    """Findings without two-byte states where every model that fits has them already."""
    halved = bool(matches) and all(match.state_dtype != "float32" for match in matches)
    return tuple(finding for finding in findings if not (halved and finding.id == "state_dtype_lever"))


def _with_slots_of_rules(boot: BootReport, launch: LoggedLaunch, holding: Prediction) -> BootReport:
    """The start with the slots a request of the release that explains it, where the log leaves them open."""
    if boot.slots_per_request is not None:
        return boot
    try:
        slots = deployment_under(boot, launch, holding).solve({}).pools.slots_per_request
    except PoolsplitError:
        return boot
    if not slots:
        return boot
    known = with_slots_per_request(boot, slots, f"the rules of {holding.version} for these flags")
    return replace(known, missing=missing_fields(known))


def _without_priced(findings: tuple[Finding, ...]) -> tuple[tuple[Finding, ...], tuple[str, ...]]:
    """Findings whose numbers rest on the rules are left out when the rules do not give the printed figures."""
    kept = tuple(finding for finding in findings if finding.price is None)
    return kept, tuple(finding.id for finding in findings if finding.price is not None)


def _in_order(predictions: tuple[Prediction, ...]) -> tuple[Prediction, ...]:
    """Those that hold first, then by how much follows; newest first among equals."""
    return tuple(sorted(predictions, key=lambda each: (not each.holds, -each.following)))


def _steps(boot: BootReport) -> Iterator[Step]:
    """How the worked-out figures follow from the printed ones."""
    for label, rank in boot.ranks.items():
        named = (
            ("state bytes per slot", rank.state_bytes_per_slot, "bytes", "(conv + ssm) / (slots + 1 padding slot)"),
            ("KV bytes per token", rank.kv_bytes_per_token, "bytes", "printed KV sizes / (tokens + 1 page)"),
            ("tokens a slot is worth", rank.token_equiv, "tokens", "state bytes per slot / KV bytes per token"),
            ("both pools", rank.rest_bytes, "bytes", "sum of the printed pools"),
            ("static fraction", rank.implied_static_fraction, "fraction", "1 - (after weights - pools) / before"),
            ("named by no line", rank.unexplained_bytes, "bytes", "after weights - pools - pool end"),
        )
        for name, interval, unit, source in named:
            if interval is not None:
                form = ".4f" if unit == "fraction" else ",.0f"
                span = f"{interval.low:{form}} to {interval.high:{form}}"
                yield Step(name=f"{label} {name}", value=span, unit=unit, source=source)
    if boot.slots_per_request is not None:
        yield Step(
            name="slots per request",
            value=boot.slots_per_request,
            unit="slots",
            source=boot.slots_per_request_reason or "",
        )
    if boot.binding is not None:
        yield Step(name="binding", value=boot.binding, unit="", source=boot.binding_reason or "")
