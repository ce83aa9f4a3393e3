"""Stages of a surface followed on stderr, stopped at any time, and pictures of it."""

from __future__ import annotations

import contextlib
import signal
import sys
from typing import TYPE_CHECKING, Any

from poolsplit.cli.output import replacing
from poolsplit.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from types import FrameType


def last_stage(stages: Iterator[dict[str, Any]], *, refine: bool, quiet: bool) -> dict[str, Any]:
    """The last of some documents, each better than the one before; an interrupt ends it with the best so far."""
    best: dict[str, Any] | None = None
    try:
        with _terminated_as_interrupt():
            for stage in stages:
                first, best = best is None, stage
                if first and refine and not quiet:
                    print("refining: stop it at any time for the best so far", file=sys.stderr, flush=True)
                if not quiet and sys.stderr.isatty():
                    print(f"\r{_progress(stage)}", end="", file=sys.stderr, flush=True)
    except KeyboardInterrupt:
        if best is None:
            raise
        best["warnings"] = [*best["warnings"], "stopped: this is the best so far"]
    if not quiet and sys.stderr.isatty():
        print(file=sys.stderr)
    if best is None:
        raise UsageError("there is nothing to replay", hint="give a trace with requests")
    return best


def _progress(stage: Mapping[str, Any]) -> str:
    cells = [method for row in stage["method"] for method in row]
    replayed = sum(method in {"replay", "scheduler"} for method in cells)
    return f"{stage['replays']} replays, {replayed} of {len(cells)} cells replayed"


@contextlib.contextmanager
def _terminated_as_interrupt() -> Iterator[None]:
    """A polite request to end is an interrupt, too."""

    def stop(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def picture_kind(path: str) -> str:
    """The kind of picture that a name asks for.

    Raises:
        UsageError: An ending that is no picture.
    """
    for kind in ("svg", "png"):
        if path.endswith(f".{kind}"):
            return kind
    raise UsageError(f"`{path}` is neither SVG nor PNG", hint="end the name of the picture in `.svg` or `.png`")


def draw(document: Mapping[str, Any], path: str, kind: str) -> None:
    """Writes the surface as a picture."""
    from poolsplit.report.heat_map import heat_png, heat_svg

    content = heat_svg(document).encode() if kind == "svg" else heat_png(document)
    with replacing(path) as handle:
        handle.write(content)
