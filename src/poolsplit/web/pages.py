"""The page's own files, and plotly's bundle from the installed package."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from starlette.responses import FileResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from poolsplit.report.plotly_bundle import plotly_bundle

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import BaseRoute

STATIC = Path(__file__).parent / "static"


def routes() -> list[BaseRoute]:
    """The routes of files."""
    bundle = plotly_bundle()

    async def index(request: Request) -> Response:
        del request
        return FileResponse(STATIC / "index.html")

    async def plotly(request: Request) -> Response:
        del request
        return FileResponse(bundle, media_type="text/javascript")

    return [
        Route("/", index),
        Route("/plotly.min.js", plotly),
        Mount("/static", StaticFiles(directory=STATIC)),
    ]
