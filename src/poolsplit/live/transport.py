"""HTTP connections that end at a deadline, whatever the other side does.

A socket's own timeout starts anew with every byte, so a server that sends one header byte a second would hold a look
for ever. Here a timer shuts the socket down; the read then fails at once.
"""

from __future__ import annotations

import contextlib
import http.client
import socket
import threading
import urllib.request
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import ssl
    from collections.abc import Iterator


class Deadline:
    """Shuts down the sockets that it was given when its time is over."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sockets: list[socket.socket] = []
        self.is_over = False

    def watch(self, sock: socket.socket) -> None:
        """One more socket to be shut down in time."""
        with self._lock:
            self._sockets.append(sock)
        if self.is_over:
            self._shut_down()

    def end(self) -> None:
        """The time is over."""
        self.is_over = True
        self._shut_down()

    def _shut_down(self) -> None:
        with self._lock:
            for sock in self._sockets:
                with contextlib.suppress(OSError):
                    sock.shutdown(socket.SHUT_RDWR)


@contextlib.contextmanager
def deadline(seconds: float) -> Iterator[Deadline]:
    """A deadline from now until the block ends."""
    watched = Deadline()
    timer = threading.Timer(seconds, watched.end)
    timer.daemon = True
    timer.start()
    try:
        yield watched
    finally:
        timer.cancel()


class _WatchedHTTP(http.client.HTTPConnection):
    """A connection whose socket is watched from the moment it is open."""

    watched: Deadline

    def connect(self) -> None:
        super().connect()
        self.watched.watch(self.sock)


class _WatchedHTTPS(http.client.HTTPSConnection):
    """The same over TLS; the handshake itself is under the socket's own timeout."""

    watched: Deadline

    def connect(self) -> None:
        super().connect()
        self.watched.watch(self.sock)


class WatchedHTTPHandler(urllib.request.HTTPHandler):
    """Opens watched connections.

    Args:
        watched: The deadline.
    """

    def __init__(self, watched: Deadline) -> None:
        super().__init__()
        self._watched = watched

    def http_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        """Opens one."""
        return self.do_open(self._connection, req)

    def _connection(self, host: str, /, **arguments: Any) -> http.client.HTTPConnection:
        connection = _WatchedHTTP(host, **arguments)
        connection.watched = self._watched
        return connection


class WatchedHTTPSHandler(urllib.request.HTTPSHandler):
    """The same over TLS.

    Args:
        watched: The deadline.
        context: What to trust.
    """

    def __init__(self, watched: Deadline, context: ssl.SSLContext) -> None:
        super().__init__(context=context)
        self._watched, self._trusted = watched, context

    def https_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        """Opens one."""
        return self.do_open(self._connection, req)

    def _connection(self, host: str, /, **arguments: Any) -> http.client.HTTPConnection:
        connection = _WatchedHTTPS(host, context=self._trusted, **arguments)
        connection.watched = self._watched
        return connection
