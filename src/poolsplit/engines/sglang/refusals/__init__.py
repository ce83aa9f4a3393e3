"""Every refusal of the engine that we know, in our own words: what is wrong, what was expected, the flag to move.

The ids and their figures are the project's own vocabulary, shared with the golden answers. Rules and solver raise
through `refuse`, so that an id has one text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from poolsplit.engines.sglang.refusals.attention import ATTENTION
from poolsplit.engines.sglang.refusals.drafts import DRAFTS
from poolsplit.engines.sglang.refusals.entry import Refusal
from poolsplit.engines.sglang.refusals.layout import LAYOUT
from poolsplit.engines.sglang.refusals.sizing import SIZING
from poolsplit.engines.sglang.refusals.state import STATE
from poolsplit.errors import LaunchRefusedError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["ARGUMENTS", "LAUNCHER", "REFUSALS", "Refusal", "refuse"]

ARGUMENTS = "server_args"
"""Stage of a refusal before anything is sized."""
LAUNCHER = "launcher"
"""Stage of the launcher's second validation."""

REFUSALS: dict[str, Refusal] = {**SIZING, **STATE, **ATTENTION, **LAYOUT, **DRAFTS}


def refuse(
    reason: str, *, stage: str = ARGUMENTS, figures: Mapping[str, int | float] | None = None, **words: object
) -> LaunchRefusedError:
    """The error of one refusal, to be raised by the caller.

    Args:
        reason: An id of `REFUSALS`.
        stage: Where the engine refuses.
        figures: The numbers that belong to the refusal; they also fill the message.
        **words: What else the message names.
    """
    entry = REFUSALS[reason]
    message = entry.message.format(**(figures or {}), **words)
    return LaunchRefusedError(message, stage=stage, reason=reason, figures=figures, hint=entry.hint)
