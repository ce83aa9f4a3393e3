"""`poolsplit surface`: reuse at every pair of pool sizes, and the best split of a budget."""

from __future__ import annotations

from dataclasses import asdict

from poolsplit.cli.cache_options import CacheOptions
from poolsplit.cli.options import PageOptions
from poolsplit.cli.surface_options import BudgetOptions, OrderOptions, SearchOptions


def surface(
    *traces: str,
    search: SearchOptions = SearchOptions(),  # noqa: B008  frozen
    budget: BudgetOptions = BudgetOptions(),  # noqa: B008  frozen
    cache: CacheOptions = CacheOptions(),  # noqa: B008  frozen
    order: OrderOptions = OrderOptions(),  # noqa: B008  frozen
    out: PageOptions = PageOptions(),  # noqa: B008  frozen
) -> None:
    """Which prefixes survive at every split, and which split of a budget is best.

    Args:
        traces: Files of one request trace with block ids.
        search: How far the search goes.
        budget: Bytes to share.
        cache: The server's cache.
        order: The order of requests.
        out: Where the answer goes.
    """
    from poolsplit import api
    from poolsplit.cli.output import emit, use_color
    from poolsplit.cli.page_file import check_page, write_page
    from poolsplit.cli.surface_output import draw, last_stage, picture_kind
    from poolsplit.report.surface_screen import surface_screen

    kind = None if search.picture is None else picture_kind(search.picture)
    check_page(out.html, "surface")
    request = api.surface_request(server=asdict(cache), pace=asdict(order), budget=asdict(budget))
    trace = api.read_trace(traces)
    stages = api.surface(trace, request, confirm=search.confirm, refine=search.refine)
    document = last_stage(stages, refine=search.refine, quiet=out.quiet)
    inputs = {"traces": list(traces), **asdict(budget), **asdict(cache), **asdict(order)}
    document = {"command": "surface", "engine": document["engine"], "inputs": inputs, **document}
    if search.picture is not None and kind is not None:
        draw(document, search.picture, kind)
    write_page(out.html, document)
    text = surface_screen(document, color=use_color(out), explain=out.explain)
    emit(out, document=document, text=text, warnings=document["warnings"])
