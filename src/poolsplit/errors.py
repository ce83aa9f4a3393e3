"""The whole error tree. The command line prints `error: message`, `hint: hint` and exits with `exit_code`.

    PoolsplitError
    ├── InputError                 exit 2   a file, flag or value that we cannot accept
    │   ├── UsageError                      the command line itself
    │   ├── UnsupportedModelError           a config key, layer kind or family that is not understood
    │   │   └── IndivisibleError            heads or channels that do not divide over the ranks
    │   ├── TraceFormatError                where in the trace: file, line, JSON path
    │   ├── LogFormatError                  a log with nothing usable in it, and what was looked for
    │   └── MissingExtraError               the exact install command
    ├── LaunchRefusedError         exit 1   the engine would refuse this launch: stage, reason id, figures
    ├── InfeasiblePlanError        exit 3   no plan fits, and the nearest one that does
    └── EngineUnreachableError     exit 4   a live server did not answer

A mismatch that a check finds is a result, not an error (exit 1).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


class PoolsplitError(Exception):
    """Root of every error that a caller may see.

    Args:
        message: What is wrong, one lower-case sentence without a full stop.
        hint: What to do about it.
        where: A file and line, a flag or a URL, when there is one.
    """

    exit_code = 2

    def __init__(self, message: str, *, hint: str = "", where: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.where = where

    def __str__(self) -> str:
        return f"{self.where}: {self.message}" if self.where else self.message


class InputError(PoolsplitError):
    """A file, flag or value that cannot be accepted."""


class UsageError(InputError):
    """The command line does not follow the documented form."""


class UnsupportedModelError(InputError):
    """A model config with a key, layer kind, dtype or family that is not understood."""


class IndivisibleError(UnsupportedModelError):
    """Heads or channels of a model that do not divide over the ranks.

    Args:
        count: How many there are.
        what: What they are.
        width: The ranks that share them.
    """

    def __init__(self, count: int, what: str, width: int) -> None:
        super().__init__(
            f"{count} {what} of the state layers do not divide over {width} ranks",
            hint="choose a tensor-parallel width that divides the model's heads",
        )
        self.count = count
        self.what = what
        self.width = width


class TraceFormatError(InputError):
    """A request trace that does not follow its format; `where` names file, line and JSON path."""


class LogFormatError(InputError):
    """A log without anything usable in it."""


class MissingExtraError(InputError):
    """A feature whose optional packages are not installed; the hint is the install command."""


class LaunchRefusedError(PoolsplitError):
    """The engine would refuse this launch.

    Args:
        message: The refusal in our own words.
        stage: Where the engine refuses: `server_args`, `solver[pp_rank=N]` or `launcher`.
        reason: The id of the refusal.
        figures: The numbers of the refusal, by name.
        hint: The flag to move.
    """

    exit_code = 1

    def __init__(
        self, message: str, *, stage: str, reason: str, figures: Mapping[str, int | float] | None = None, hint: str = ""
    ) -> None:
        super().__init__(message, hint=hint)
        self.stage = stage
        self.reason = reason
        self.figures = dict(figures or {})


class InfeasiblePlanError(PoolsplitError):
    """No plan fits; the hint names the nearest one that does."""

    exit_code = 3


class EngineUnreachableError(PoolsplitError):
    """A live server did not answer."""

    exit_code = 4
