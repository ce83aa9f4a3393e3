"""`poolsplit explain`: answers to the questions people ask about the two pools."""

from __future__ import annotations

from poolsplit import api
from poolsplit.cli.options import OutputOptions
from poolsplit.cli.output import emit


def explain(topic: str | None = None, /, *, out: OutputOptions = OutputOptions()) -> None:  # noqa: B008  frozen
    """Answers to the questions people ask about the two pools.

    Args:
        topic: Name of a question; all questions without it.
        out: Where the answer goes and in which form.
    """
    pages = api.explain() if topic is None else (api.explain(topic),)
    fields = [{"name": page.name, "question": page.question, "text": page.text} for page in pages]
    document = {"command": "explain", "engine": api.engine(), "topics": fields, "warnings": [], "derivation": []}
    if topic is None:
        width = max(len(page.name) for page in pages)
        text = "\n".join(f"{page.name.ljust(width)}  {page.question}" for page in pages)
    else:
        text = f"{pages[0].question}\n\n{pages[0].text}"
    emit(out, document=document, text=text)
