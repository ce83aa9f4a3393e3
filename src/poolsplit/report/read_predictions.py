"""Printed figures beside what releases and known models give, as text."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from poolsplit.engines.boot_report import BootReport, Prediction, ReadAnswer

WIDTH = 100
MAX_MATCHES = 4
_WITHHELD = {
    "requests_clamped_by_state": "how many more slots run more requests",
    "state_full_while_kv_idle": "how many more slots run more requests",
    "state_dtype_lever": "what two-byte states would bring",
    "state_slots_out_of_reach": "which slots no request can use",
}
"""What each finding with a price of its own is about."""


def prediction_lines(answer: ReadAnswer) -> Iterator[str]:
    """What each release's rules give, what they leave unadvised, and which models fit."""
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
