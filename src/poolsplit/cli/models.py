"""`poolsplit models`: the embedded models, or one model on one page."""

from __future__ import annotations

from poolsplit import api
from poolsplit.cli.options import OutputOptions
from poolsplit.cli.output import emit
from poolsplit.report.model_document import model_text, models_document, models_text


def models(model: str | None = None, /, *, output: OutputOptions | None = None) -> None:
    """The embedded models, or one of them.

    Args:
        model: An embedded id, a folder or `config.json`, or a hub id; all embedded models without it.
        output: Where the answer goes and in which form.
    """
    options = output or OutputOptions()
    cards = api.models() if model is None else (api.model(model),)
    document = models_document(cards)
    text = models_text(cards) if model is None else model_text(cards[0], explain=options.explain)
    warnings = () if model is None else document["warnings"]
    emit(options, document={**document, "engine": api.engine(), "model": model}, text=text, warnings=warnings)
