"""The server from its start to its end."""

from __future__ import annotations

import errno
import os
import socket
from importlib.util import find_spec
from typing import TYPE_CHECKING

from poolsplit.errors import InputError, MissingExtraError
from poolsplit.report.plotly_bundle import INSTALL

if TYPE_CHECKING:
    from collections.abc import Callable

DEFAULT_PORT = 8378
"""The same at every start, so that a kept link goes on working."""
_PACKAGES = ("starlette", "uvicorn", "plotly")
_PATIENCE_S = 2
_LAST_PORT = 65535


def serve(host: str, port: int | None, announce: Callable[[str], None]) -> None:
    """Serves the page until it is interrupted or terminated.

    Args:
        host: Address to listen on; on any but this machine's own a token is asked for.
        port: Port to listen on; without it the usual one, or a free one where that is taken.
        announce: Takes the page's address once it can be opened.

    Raises:
        MissingExtraError: The packages of the page are not installed.
        InputError: The address cannot be listened on.
    """
    missing = [name for name in _PACKAGES if find_spec(name) is None]
    if missing:
        raise MissingExtraError(f"the page needs packages that are not installed: {', '.join(missing)}", hint=INSTALL)
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    listening = _listen(host, port)
    with listening:
        _run(host, listening, announce)


def _run(host: str, listening: socket.socket, announce: Callable[[str], None]) -> None:
    import uvicorn

    from poolsplit.web.app import Server, build_app
    from poolsplit.web.guard import Access
    from poolsplit.web.uploads import Uploads

    access, server = Access.on(host), Server(Uploads())

    class StoppingWork(uvicorn.Server):
        """Ends the work before it waits for the pages that follow it."""

        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            """Stops in order."""
            server.jobs.stop()
            await super().shutdown(sockets)

    config = uvicorn.Config(
        build_app(access, server),
        log_level="critical",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=_PATIENCE_S,
        lifespan="on",
    )
    announce(_address(host, listening.getsockname()[1], access.token))
    StoppingWork(config).run(sockets=[listening])


def _listen(host: str, port: int | None) -> socket.socket:
    """A socket that takes connections from now on.

    Raises:
        InputError: No port, no such address of this machine, or the port is taken.
    """
    if port is not None and not 0 <= port <= _LAST_PORT:
        raise InputError(f"{port} is no port", where="--port", hint=f"give a number up to {_LAST_PORT}")
    try:
        return _bound(host, DEFAULT_PORT if port is None else port)
    except OSError as error:
        if port is None and error.errno == errno.EADDRINUSE:
            return _bound(host, 0)
        raise InputError(
            f"cannot listen there: {error.strerror}",
            where=f"{host}:{DEFAULT_PORT if port is None else port}",
            hint="choose another `--port`, or leave it out for a free one",
        ) from None


def _bound(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return socket.create_server((host, port), family=family)


def _address(host: str, port: int, token: str | None) -> str:
    name = f"[{host}]" if ":" in host else host
    return f"http://{name}:{port}/" + (f"?token={token}" if token else "")
