"""`poolsplit sweep`: a grid of replays, kept point by point."""

from __future__ import annotations

import sys
from dataclasses import asdict, dataclass
from typing import Annotated, Any

from cyclopts import Parameter

from poolsplit.cli.options import OutputOptions


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """Where the points are replayed."""

    workers: int | None = None
    """Processes on this machine; one point after the other in this process without it."""
    dask: str | None = None
    """Address of a Dask scheduler, such as `tcp://10.0.0.1:8786`."""
    resume: Annotated[bool, Parameter(negative="")] = False
    """Go on with a sweep that was stopped: nothing is replayed twice."""


def sweep(
    spec: str | None = None,
    *,
    set_: Annotated[tuple[str, ...], Parameter(name="--set")] = (),
    output: Annotated[str | None, Parameter(name=["--output-folder", "-o"])] = None,
    run: RunOptions = RunOptions(),
    json: Annotated[bool, Parameter(negative="")] = False,
    quiet: Annotated[bool, Parameter(name=["--quiet", "-q"], negative="")] = False,
) -> None:
    """A grid of replays over splits, options, traces and seeds: one JSON line a point.

    Args:
        spec: TOML file: `name = value` or `name = [a, b]`; the last axis varies fastest.
        set_: `name=a,b,c`, repeatable; replaces what the file says.
        output: Folder for `results.jsonl` and `spec.json`.
        run: Where the points are replayed.
        json: One JSON object instead of text.
        quiet: No progress on stderr.
    """
    from poolsplit import api
    from poolsplit.cli.output import emit
    from poolsplit.errors import UsageError

    if output is None:
        raise UsageError("a sweep needs a folder for its results", hint="give -o DIR")
    show = None if quiet or not sys.stderr.isatty() else _progress
    found = api.sweep(spec, set_, output, **asdict(run), progress=show)
    document = {"command": "sweep", "engine": api.engine(), **found, "warnings": _unserved(found), "derivation": []}
    text = f"{found['points']} points in {output}/results.jsonl: {found['replayed']} replayed, {found['found']} found"
    emit(OutputOptions(json=json, quiet=quiet), document=document, text=text, warnings=document["warnings"])


def _unserved(found: dict[str, Any]) -> list[str]:
    """How many points have no figure, since a request of the trace does not fit their pools."""
    if not found["unserved"]:
        return []
    return [
        f"{found['unserved']} of {found['points']} points do not serve their trace: `cached_tokens_reason` says why"
    ]


def _progress(done: int, total: int) -> None:
    print(f"\r{done} of {total} points", end="\n" if done == total else "", file=sys.stderr, flush=True)
