"""The stages of a surface as documents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from poolsplit.answers.surfaces.answer import refined, surface_stages
from poolsplit.answers.surfaces.confirm import confirmed, with_confirmed
from poolsplit.answers.surfaces.document import surface_document
from poolsplit.answers.surfaces.ground import ground_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from poolsplit.answers.surfaces.answer import SurfaceAnswer
    from poolsplit.answers.surfaces.request import SurfaceRequest
    from poolsplit.traces.trace import Trace


def surface_documents(
    trace: Trace, request: SurfaceRequest, *, confirm: bool, refine: bool
) -> Iterator[dict[str, Any]]:
    """One document a stage, each better than the one before."""
    ground = ground_of(trace, version=request.version, server=request.server, timing=request.timing)
    stages = surface_stages(ground, request.budget, request.current)
    yield from map(surface_document, _stages(stages, confirm=confirm, refine=refine))


def _stages(stages: Iterator[SurfaceAnswer], *, confirm: bool, refine: bool) -> Iterator[SurfaceAnswer]:
    for answer in stages:
        yield answer
        last = answer
    if confirm and last.line is not None:
        last = with_confirmed(last, confirmed(last.ground, last.line))
        yield last
    if refine:
        yield from refined(last)
