"""Answers to the questions people ask about the two pools: one page each, shared by the command line and the docs."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import resources

from poolsplit.errors import InputError

ORDER = (
    "ratio",
    "clamp",
    "slots",
    "pin",
    "context-parallel",
    "fp8-kv",
    "speculation",
    "spread",
    "sessions",
    "stages",
    "headroom",
    "printed-sizes",
    "upgrade",
    "traffic",
)
"""Names in the order in which they are best read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """One question and its answer."""

    name: str
    question: str
    text: str


def topic(name: str) -> Topic:
    """One page by name.

    Raises:
        InputError: No such page; the hint names the near ones or all.
    """
    if name not in ORDER:
        from difflib import get_close_matches

        near = get_close_matches(name, ORDER, n=1)
        hint = f"did you mean `{near[0]}`?" if near else f"the topics are {', '.join(ORDER)}"
        raise InputError(f"there is no topic `{name}`", hint=hint)
    page = resources.files(__name__).joinpath(f"{name}.md").read_text(encoding="utf-8")
    heading, _, text = page.partition("\n")
    return Topic(name=name, question=heading.removeprefix("# ").strip(), text=text.strip())


def topics() -> tuple[Topic, ...]:
    """Every page, in reading order."""
    return tuple(topic(name) for name in ORDER)
