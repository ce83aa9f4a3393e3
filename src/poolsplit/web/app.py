"""Routes: each a few lines between a request and what answers it."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from poolsplit.errors import PoolsplitError
from poolsplit.web import pages
from poolsplit.web.asked import JobWords, PlanWords, decoded
from poolsplit.web.choices import choices
from poolsplit.web.guard import Access, Guard
from poolsplit.web.jobs import Jobs
from poolsplit.web.plans import plan_answer
from poolsplit.web.replies import RefusedRequest, answer_error, fault_body, json_reply, to_json
from poolsplit.web.uploads import Uploads, too_large

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from starlette.requests import Request

MOST_BODY_BYTES = 32 << 20
"""Longest request that is no upload: a surface's budget may hold a whole plan."""
JSON = "application/json"
BINARY = "application/octet-stream"


class Server:
    """What the routes share."""

    def __init__(self, uploads: Uploads) -> None:
        self.uploads = uploads
        self.jobs = Jobs(uploads)
        self._choices: asyncio.Task[dict[str, Any]] | None = None

    async def choices(self, request: Request) -> Response:
        """GET /api/choices."""
        del request
        return json_reply(await asyncio.shield(self._found_choices()))

    async def plan(self, request: Request) -> Response:
        """POST /api/plan."""
        asked = decoded(await _body(request), PlanWords)
        return Response(await run_in_threadpool(lambda: to_json(plan_answer(asked))), media_type=JSON)

    async def upload(self, request: Request) -> Response:
        """POST /api/uploads."""
        _expect(request, BINARY)
        if int(request.headers.get("content-length") or 0) > self.uploads.limit_bytes:
            raise too_large(self.uploads.limit_bytes)
        kept = await self.uploads.take(request.query_params.get("name", ""), request.stream())
        return json_reply({"upload_id": kept.id, "name": kept.name, "bytes": kept.size_bytes})

    async def drop_upload(self, request: Request) -> Response:
        """DELETE /api/uploads/ID."""
        self.uploads.drop(request.path_params["id"])
        return Response(status_code=204)

    async def start_job(self, request: Request) -> Response:
        """POST /api/jobs."""
        job = await self.jobs.start(decoded(await _body(request), JobWords))
        return json_reply({"job_id": job.id})

    async def job_events(self, request: Request) -> Response:
        """GET /api/jobs/ID/events."""
        job = self.jobs.find(request.path_params["id"])
        return StreamingResponse(job.events(), media_type="text/event-stream")

    async def cancel_job(self, request: Request) -> Response:
        """DELETE /api/jobs/ID."""
        self.jobs.find(request.path_params["id"]).cancel()
        return Response(status_code=204)

    @contextlib.asynccontextmanager
    async def life(self, app: Starlette) -> AsyncIterator[None]:
        """Finds what the forms offer before a page asks, and leaves nothing behind."""
        del app
        self._found_choices()
        try:
            yield
        finally:
            await self.jobs.close()
            self.uploads.close()

    def _found_choices(self) -> asyncio.Task[dict[str, Any]]:
        if self._choices is None:
            self._choices = asyncio.create_task(run_in_threadpool(choices, self.uploads))
        return self._choices


def build_app(access: Access, server: Server) -> Guard:
    """The application behind its guard, which faults of ours pass through, too."""
    routes = [
        *pages.routes(),
        Route("/api/choices", server.choices, methods=["GET"]),
        Route("/api/plan", server.plan, methods=["POST"]),
        Route("/api/uploads", server.upload, methods=["POST"]),
        Route("/api/uploads/{id}", server.drop_upload, methods=["DELETE"]),
        Route("/api/jobs", server.start_job, methods=["POST"]),
        Route("/api/jobs/{id}/events", server.job_events, methods=["GET"]),
        Route("/api/jobs/{id}", server.cancel_job, methods=["DELETE"]),
    ]
    app = Starlette(
        routes=routes,
        exception_handlers={
            PoolsplitError: answer_error,
            RefusedRequest: answer_error,
            HTTPException: _no_such_page,
            Exception: _our_fault,
        },
        lifespan=server.life,
    )
    return Guard(app, access)


async def _body(request: Request) -> bytes:
    """A JSON body; the type makes browsers ask before another site may send it.

    Raises:
        RefusedRequest: Another type, or too long.
    """
    _expect(request, JSON)
    parts: list[bytes] = []
    size = 0
    async for part in request.stream():
        size += len(part)
        if size > MOST_BODY_BYTES:
            raise RefusedRequest(413, "the request is too long", hint="send files as uploads")
        parts.append(part)
    return b"".join(parts)


def _expect(request: Request, media_type: str) -> None:
    if request.headers.get("content-type", "").partition(";")[0].strip() != media_type:
        raise RefusedRequest(415, f"this takes {media_type}", hint="say so as the Content-Type")


async def _no_such_page(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 404
    return json_reply({"error": f"nothing answers {request.method} {request.url.path}", "hint": "open /"}, status)


async def _our_fault(request: Request, error: Exception) -> Response:
    """The server goes on."""
    del request
    return json_reply(fault_body(error), 500)
