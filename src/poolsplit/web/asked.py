"""What the page asks, decoded and checked: the words of the command line's options, and nothing else."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from poolsplit.errors import InputError, UsageError

if TYPE_CHECKING:
    from poolsplit.answers.opened_launch import LaunchRequest


class Words(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A group of options; what is not said is None."""

    def given(self) -> dict[str, Any]:
        """The options by name."""
        return msgspec.structs.asdict(self)


Asked = TypeVar("Asked", bound=Words)
MOST_TEXT = 1 << 16
"""Longest launch or flags that are read: no launch is so long, and words are held against words."""
_NO_NUMBER = re.compile(r"^Expected `(?P<kind>int|float)(?: \| null)?`, got .* - at `\$[\w.]*\.(?P<field>\w+)`$")


class LaunchWords(Words, frozen=True, kw_only=True):
    """A launch: model, card, memory, and flags or a pasted command."""

    model: str | None = None
    gpu: str | None = None
    gpu_memory: str | None = None
    gpu_arch: str | None = None
    weights: str | None = None
    free_before: str | None = None
    free_after: str | None = None
    engine_version: str | None = None
    flags: str = ""
    launch: str = ""

    def request(self) -> LaunchRequest:
        """The launch as the command line would ask for it.

        Raises:
            UsageError: Flags with a quote that does not end.
        """
        from poolsplit import api

        words = {name: self._filled(name) for name in LaunchWords.__struct_fields__ if name not in ("flags", "launch")}
        return api.launch_request(**words, engine_flags=flag_words(self.flags), pasted=pasted(self.launch))

    def _filled(self, name: str) -> str | None:
        """A field; one left empty says nothing."""
        return (getattr(self, name) or "").strip() or None


class WorkloadWords(Words, frozen=True, kw_only=True):
    """Lengths and concurrency."""

    context: str | None = None
    input: str | None = None
    output: str | None = None
    lengths: str | None = None
    overflow: float | None = None
    concurrency: int | None = None
    concurrency_median: int | None = None

    def __post_init__(self) -> None:
        """Takes percentiles only: files of this machine are not the page's to name."""
        if self.lengths is not None and ("=" not in self.lengths or "/" in self.lengths):
            raise ValueError("write percentiles, such as p50=2k,p90=32k,p99=128k")


class SessionWords(Words, frozen=True, kw_only=True):
    """Sessions to keep."""

    sessions: int | None = None
    session_tokens: str | None = None
    checkpoints_per_session: float | None = None
    margin: float | None = None


class PlanWords(LaunchWords, frozen=True, kw_only=True):
    """Everything that a plan on the page asks."""

    workload: WorkloadWords = WorkloadWords()
    sessions: SessionWords = SessionWords()
    levers: bool = True
    pair: bool = False
    compare_version: str | None = None


class JobWords(Words, frozen=True, kw_only=True):
    """Long work by its kind."""

    kind: str
    arguments: dict[str, Any] = msgspec.field(default_factory=dict)


def decoded(body: bytes, kind: type[Asked]) -> Asked:
    """A body of JSON as what it asks.

    Raises:
        InputError: No JSON, a field that there is none of, or a value of another type.
    """
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise _unreadable(error) from None


def converted(value: Any, kind: type[Asked]) -> Asked:
    """A decoded object as what it asks.

    Raises:
        InputError: A field that there is none of, or a value of another type.
    """
    try:
        return msgspec.convert(value, kind)
    except msgspec.MsgspecError as error:
        raise _unreadable(error) from None


def _unreadable(error: Exception) -> InputError:
    """A number that is none, by the option that it stands for; anything else no page of ours sends."""
    wrong = _NO_NUMBER.search(str(error))
    if wrong is None:
        return InputError(f"the request cannot be read: {error}", hint="reload the page")
    option = f"--{wrong['field'].replace('_', '-')}"
    if wrong["kind"] == "int":
        return InputError(f"`{option}` takes a whole number", hint="write digits alone, such as `20`")
    return InputError(f"`{option}` takes a number", hint="write a point before the decimals, such as `0.5`")


def flag_words(text: str) -> tuple[str, ...]:
    """Engine flags as a shell would divide them.

    Raises:
        UsageError: A quote that does not end, a word that is no flag of the engine, or too long.
    """
    from poolsplit import api

    try:
        words = shlex.split(_bounded(text))
    except ValueError:
        raise UsageError("a quote in the flags does not end", hint="close it, or leave it out") from None
    strange, flags = api.split_engine_flags(words, own_options=())
    if strange:
        raise UsageError(
            f"`{strange[0]}` is no flag of the engine", hint="a whole launch command has a place of its own"
        )
    return tuple(flags)


def pasted(text: str) -> tuple[str, ...]:
    """A pasted launch as one word.

    Raises:
        UsageError: The word that means standard input on a command line, or too long.
    """
    launch = _bounded(text.strip())
    if launch == "-":
        raise UsageError("`-` is no launch command", hint="paste the command itself")
    return (launch,) if launch else ()


def _bounded(text: str) -> str:
    if len(text) > MOST_TEXT:
        raise UsageError(f"the launch is longer than {MOST_TEXT:,} characters", hint="paste the command alone")
    return text
