"""`poolsplit surface`: reuse at every pair of pool sizes, and the best split of a budget."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

from cyclopts import Parameter

from poolsplit.cli.options import OutputOptions
from poolsplit.cli.surface_options import BudgetOptions, CacheOptions, OrderOptions


def surface(  # noqa: PLR0913  a command's option groups are its arguments
    *traces: str,
    refine: Annotated[bool, Parameter(negative="")] = False,
    confirm: bool = True,
    picture: str | None = None,
    budget: BudgetOptions = BudgetOptions(),  # noqa: B008  frozen
    cache: CacheOptions = CacheOptions(),  # noqa: B008  frozen
    order: OrderOptions = OrderOptions(),  # noqa: B008  frozen
    out: OutputOptions = OutputOptions(),  # noqa: B008  frozen
) -> None:
    """Which prefixes survive at every split, and which split of a budget is best.

    Args:
        traces: Files of one request trace with block ids.
        refine: Go on replaying cells, the most doubtful first; stop it at any time (Ctrl-C) for the best so far.
        confirm: Put the best split, its neighbours and the default to the whole scheduler.
        picture: Draw the surface to this file: `.svg` or `.png`.
        budget: Bytes to share.
        cache: The server's cache.
        order: The order of requests.
        out: Where the answer goes.
    """
    from poolsplit import api
    from poolsplit.cli.output import emit, use_color
    from poolsplit.cli.surface_output import draw, last_stage, picture_kind
    from poolsplit.report.surface_screen import surface_screen

    kind = None if picture is None else picture_kind(picture)
    request = api.surface_request(server=asdict(cache), pace=asdict(order), budget=asdict(budget))
    trace = api.read_trace(traces)
    document = last_stage(api.surface(trace, request, confirm=confirm, refine=refine), refine=refine, quiet=out.quiet)
    inputs = {"traces": list(traces), **asdict(budget), **asdict(cache), **asdict(order)}
    document = {"command": "surface", "engine": document["engine"], "inputs": inputs, **document}
    if picture is not None and kind is not None:
        draw(document, picture, kind)
    text = surface_screen(document, color=use_color(out), explain=out.explain)
    emit(out, document=document, text=text, warnings=document["warnings"])
