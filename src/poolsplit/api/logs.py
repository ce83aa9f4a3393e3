"""What servers did, from their logs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from poolsplit.answers.opened_launch import LaunchRequest
    from poolsplit.engines.boot_report import ReadAnswer
    from poolsplit.engines.launch_difference import Difference


def read_log(
    names: Sequence[str],
    *,
    extra_flags: Mapping[str, Any] | None = None,
    gpu: str | None = None,
    progress: Callable[[int], None] | None = None,
) -> ReadAnswer:
    """What a server did, from its logs: every start, and what follows from the last one.

    Args:
        names: Files, gzip files, folders or `-`, in order of time.
        extra_flags: Flags that the log does not show, by the engine's field names.
        gpu: The card by name; without it, cards that fit the printed memory are tried.
        progress: Called with the bytes of each part read.

    Raises:
        InputError: There is nothing to read, or it cannot be read.
    """
    from poolsplit.answers.logs import read_answer

    return read_answer(names, extra_flags=extra_flags, gpu=gpu, progress=progress)


def check_log(answer: ReadAnswer) -> None:
    """Whether a server that we know wrote what was read.

    Raises:
        LogFormatError: None did.
    """
    from poolsplit.errors import LogFormatError

    last = answer.report.last
    if last is None or last.engine is None:
        raise LogFormatError(
            "this is not a log of a server that we know",
            hint="it holds no pool, weight, request or periodic line of SGLang, vLLM, TensorRT-LLM or llama.cpp",
        )


def read_mismatch(answer: ReadAnswer) -> bool:
    """Whether figures were predicted and follow under no release."""
    return bool(answer.predictions) and not any(prediction.holds for prediction in answer.predictions)


def diff(a: str, b: str, request: LaunchRequest) -> Difference:
    """What differs between two logs, launch commands or plans, and what each difference changes.

    Args:
        a: A log file, a plan document or a launch command.
        b: The other one.
        request: Card and memory for launch commands; see `launch_request`.

    Raises:
        InputError: One of them is none of these.
    """
    from poolsplit.answers.differences import difference_of

    return difference_of((a, b), request, lambda name: read_log((name,)))
