"""`poolsplit gpus`: the embedded cards."""

from __future__ import annotations

from poolsplit import api
from poolsplit.cli.options import OutputOptions
from poolsplit.cli.output import emit
from poolsplit.report.model_document import gpus_document, gpus_text


def gpus(*, output: OutputOptions | None = None) -> None:
    """The embedded cards.

    Args:
        output: Where the answer goes and in which form.
    """
    cards = api.gpus()
    emit(output or OutputOptions(), document={**gpus_document(cards), "engine": api.engine()}, text=gpus_text(cards))
