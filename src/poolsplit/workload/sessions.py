"""Kept sessions: state slots and KV tokens that they and the running requests need together."""

from __future__ import annotations

import math
from dataclasses import dataclass

from poolsplit.errors import InputError
from poolsplit.units import ceil_div

MOST_OF_A_SESSION = 1_000_000
"""Most checkpoints, and most margin as a factor, that are taken: far above any session's."""
MOST_COUNTED = 1 << 60
"""Most sessions, and most tokens of one, that are taken: more does not multiply as a float."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptSessions:
    """Sessions whose prefixes are to survive between their turns."""

    sessions: int
    tokens: int
    """Tokens that one of them holds."""
    checkpoints: float
    """State checkpoints that one idle session keeps."""
    margin_fraction: float = 0.0

    def __post_init__(self) -> None:
        sane = 0 <= self.checkpoints <= MOST_OF_A_SESSION and 0 <= self.margin_fraction <= MOST_OF_A_SESSION
        if not sane or not 1 <= self.sessions <= MOST_COUNTED or not 1 <= self.tokens <= MOST_COUNTED:
            raise InputError(
                "kept sessions and their tokens are counted from 1 to 2^60, checkpoints and a margin from 0 "
                f"to {MOST_OF_A_SESSION:,}",
                where="--sessions",
                hint="such as `--sessions 200 --session-tokens 32k --checkpoints-per-session 1`",
            )

    def slots_needed(self, slots_per_request: int, running: int) -> int:
        """State slots: the most of S x n + c x (N - n) over n running, with the margin.

        A running session's checkpoints are inside its reserve and are counted once.

        Source: published residency arithmetic; held by `test_sessions`.
        """
        most = min(running, self.sessions)
        at_ends = (self._slots(slots_per_request, count) for count in (0, most))
        return math.ceil(max(at_ends) * (1 + self.margin_fraction))

    def tokens_needed(self) -> int:
        """KV tokens that the kept sessions hold, with the margin."""
        return math.ceil(self.sessions * self.tokens * (1 + self.margin_fraction))

    def bound_by(self, slots_per_request: int, running: int) -> str:
        """`concurrency` where running requests take most of the slots, `residency` where idle sessions do."""
        most = min(running, self.sessions)
        if self._slots(slots_per_request, 0) > self._slots(slots_per_request, most):
            return "residency"
        return "concurrency" if slots_per_request * most >= self.checkpoints * (self.sessions - most) else "residency"

    def _slots(self, slots_per_request: int, running: int) -> float:
        return slots_per_request * running + self.checkpoints * (self.sessions - running)


def checkpoints_of_path(tokens: int, chunk_tokens: int, states_per_path: int | None) -> int:
    """Checkpoints that one path of so many tokens leaves: one a prefill chunk, at most the soft limit a path.

    The limit spares the tail, forks, locked and leaf states, so a path with forks may hold more.
    """
    made = max(1, ceil_div(tokens, chunk_tokens))
    return made if states_per_path is None else min(made, max(1, states_per_path))
