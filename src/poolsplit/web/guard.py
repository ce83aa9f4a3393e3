"""Who may ask: the Host header, where a request comes from, the token; and the headers of every answer."""

from __future__ import annotations

import ipaddress
import secrets
import socket
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

from starlette.datastructures import Headers, MutableHeaders

from poolsplit.web.replies import json_reply

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

TOKEN_HEADER = "X-Poolsplit-Token"  # noqa: S105  a header's name
API = "/api/"
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
        "font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
    "Cache-Control": "no-cache",
}
_OWN_SITE = ("same-origin", "none")


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """Where the server listens and who may ask."""

    host: str
    token: str | None
    """What every request to the API carries; None on this machine's own address."""

    @classmethod
    def on(cls, host: str) -> Access:
        """Open on this machine's own address; with a fresh token on any other."""
        return cls(host=host, token=None if is_loopback(host) else secrets.token_urlsafe(32))

    def admits_host(self, header: str) -> bool:
        """Whether a Host header names this server; a name that somebody else's DNS points here does not."""
        name = _host_name(header)
        if is_loopback(name) or name == self.host.casefold():
            return True
        anywhere = self.host in ("0.0.0.0", "::")  # noqa: S104  compared, not bound
        return anywhere and (_address(name) is not None or name == socket.gethostname().casefold())

    def admits_token(self, given: str) -> bool:
        """Whether the token is the right one, in a time that tells nothing."""
        return self.token is None or secrets.compare_digest(given.encode(), self.token.encode())


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches the address."""
    address = _address(host)
    return host.casefold() == "localhost" if address is None else address.is_loopback


class Guard:
    """Refuses what must not be asked, and puts the headers on every answer."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app = app
        self._access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        refusal = self._refusal(scope)
        answer = self._app if refusal is None else json_reply({"error": refusal[1], "hint": refusal[2]}, refusal[0])
        await answer(scope, receive, with_headers)

    def _refusal(self, scope: Scope) -> tuple[int, str, str] | None:
        headers = Headers(scope=scope)
        if not self._access.admits_host(headers.get("host", "")):
            return 421, "this address is not served here", "open the address that `poolsplit ui` printed"
        if not scope["path"].startswith(API):
            return None
        if not _from_our_page(headers):
            return 403, "another site may not ask here", "open the address that `poolsplit ui` printed"
        query = parse_qs(scope["query_string"].decode("latin-1"))
        given = headers.get(TOKEN_HEADER) or query.get("token", [""])[0]
        if not self._access.admits_token(given):
            return 401, "the token is missing or wrong", "open the whole address that `poolsplit ui` printed"
        return None


def _from_our_page(headers: Headers) -> bool:
    """Whether a browser asks from our own page, or something that is no browser asks."""
    if headers.get("sec-fetch-site", "same-origin") not in _OWN_SITE:
        return False
    origin = headers.get("origin")
    return origin is None or origin.partition("://")[2] == headers.get("host")


def _host_name(header: str) -> str:
    try:
        return (urlsplit(f"//{header}").hostname or "").casefold()
    except ValueError:
        return ""


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None
