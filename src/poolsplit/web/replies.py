"""Answers as JSON, and refusals as the command line words them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from starlette.responses import Response

from poolsplit.errors import EngineUnreachableError, InfeasiblePlanError, LaunchRefusedError, PoolsplitError

if TYPE_CHECKING:
    from starlette.requests import Request

_STATUS: tuple[tuple[type[PoolsplitError], int], ...] = (
    (LaunchRefusedError, 422),
    (InfeasiblePlanError, 422),
    (EngineUnreachableError, 502),
)
BAD_REQUEST = 400


class RefusedRequest(Exception):  # noqa: N818  an answer with a status, not a fault
    """A request that is answered with a status of its own."""

    def __init__(self, status: int, error: str, *, hint: str = "") -> None:
        super().__init__(error)
        self.status = status
        self.body = {"error": error, "hint": hint}


def to_json(value: Any) -> bytes:
    """JSON without numbers that JSON has no words for."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def json_reply(value: Any, status: int = 200) -> Response:
    """One JSON answer."""
    return Response(to_json(value), status_code=status, media_type="application/json")


def error_body(error: PoolsplitError) -> dict[str, Any]:
    """The two lines of an error, and what a refused launch says besides."""
    body: dict[str, Any] = {"error": " ".join(str(error).split()), "hint": " ".join(error.hint.split())}
    if isinstance(error, LaunchRefusedError):
        body |= {"reason": error.reason, "stage": error.stage, "figures": error.figures}
    return body


def fault_body(error: Exception) -> dict[str, Any]:
    """A fault of ours, which says what it is."""
    fault = " ".join(f"{type(error).__name__}: {error}".split())
    return {"error": f"poolsplit failed: {fault}", "hint": "ask on the command line, and report it if it fails there"}


async def answer_error(request: Request, error: Exception) -> Response:
    """A refusal of ours as JSON; the handler of the server's own exceptions."""
    del request
    if isinstance(error, RefusedRequest):
        return json_reply(error.body, error.status)
    if isinstance(error, PoolsplitError):
        status = next((status for kind, status in _STATUS if isinstance(error, kind)), BAD_REQUEST)
        return json_reply(error_body(error), status)
    raise error
