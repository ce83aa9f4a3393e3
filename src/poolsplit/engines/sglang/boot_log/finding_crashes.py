"""What a server that stopped for another reason than its sizes is said to have done."""

from __future__ import annotations

import re
from textwrap import shorten
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from poolsplit.engines.boot_facts import EngineError

SHOWN_CHARS = 90
_RAISED = re.compile(r"(?<!\S)(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Exit|Interrupt)(?=: |:?$)")
_PROCESS = re.compile(r"(\w+) hit an exception")
_KILLED_EXIT_CODE = -9


def exception_text(error: EngineError) -> tuple[str, tuple[str, ...]]:
    """A process that reported what stopped it; its last exception is the one that ended it."""
    process = _PROCESS.search(error.text)
    who = f"the {process[1].lower()} process" if process else "a process of the server"
    raised = last_raised(error.text)
    if not raised:
        return f"{who} stopped by an exception that the log does not show, and the server with it", ()
    text = f"{who} stopped by `{raised}`, and the server with it"
    if "CUDA error" in raised or "HIP error" in raised:
        text += (
            ": a fault of a kernel or a card, not of the two pools' sizes; the call that failed may be an earlier one"
        )
        return text, ()
    return f"{text}; it names neither pool as too small, so another split is no cure: look for it by its text", ()


def last_raised(text: str) -> str:
    """What was raised last, cut to one line; empty where no exception is named."""
    names = list(_RAISED.finditer(text))
    return shorten(text[names[-1].start() :], SHOWN_CHARS, placeholder=" ...") if names else ""


def watchdog_text(figures: Mapping[str, int | float]) -> tuple[str, tuple[str, ...]]:
    """A scheduler that made no progress."""
    text = (
        f"no batch ended in {figures['timeout_s']:g} s, and the watchdog took the server for hung: a rank that waits "
        "for another, or one very long batch; neither pool's size is at fault"
    )
    return text, ("--watchdog-timeout (higher, if a batch may take so long)",)


def collective_text(figures: Mapping[str, int | float]) -> tuple[str, tuple[str, ...]]:
    """Ranks that waited for each other in vain."""
    waited = f" in {figures['timeout_s']:g} s" if "timeout_s" in figures else ""
    text = (
        f"an exchange between the ranks did not end{waited}, and the server was taken down: one rank hung or died "
        "before; its own first error, in its own log, is the cause. Neither pool's size is at fault"
    )
    return text, ("--dist-timeout (higher, if the ranks may wait so long)",)


def death_text(figures: Mapping[str, int | float]) -> tuple[str, tuple[str, ...]]:
    """A process that ended without a word of its own."""
    code = figures["exit_code"]
    why = ""
    if code == _KILLED_EXIT_CODE:
        why = ": it was killed, most often by the system for want of host memory (weights and host caches count there)"
    return f"a process of the server ended with exit code {code}{why}", ()


def silent_text() -> tuple[str, tuple[str, ...]]:
    """A server that ended because a child did, and no line says why."""
    text = (
        "the server ended because one of its processes failed, and no line of this log says why: the lines before it, "
        "of every rank, hold the reason"
    )
    return text, ()
