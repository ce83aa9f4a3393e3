"""One GET with every bound set: time in all, size, redirects within the same server only."""

from __future__ import annotations

import http.client
import ssl
import urllib.error
import urllib.request
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from poolsplit.errors import EngineUnreachableError, InputError, PoolsplitError, UsageError
from poolsplit.live.transport import WatchedHTTPHandler, WatchedHTTPSHandler, deadline
from poolsplit.units import MIB

if TYPE_CHECKING:
    from http.client import HTTPMessage

    from poolsplit.live.transport import Deadline

MAX_BYTES = 64 * MIB
_CHUNK_BYTES = 64 * 1024
_UNAUTHORIZED = (401, 403)
_NOT_FOUND = 404


class NotFoundError(EngineUnreachableError):
    """The server answered, but has no such path."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """How to speak to one server."""

    timeout_s: float = 10.0
    """For a whole answer, connection included."""
    token: str | None = None
    """Sent as a bearer token; never printed."""
    ca_file: str | None = None
    """Certificates to trust instead of the system's."""
    max_bytes: int = MAX_BYTES

    def __repr__(self) -> str:
        """Never shows the token."""
        return f"Connection(timeout_s={self.timeout_s}, token={'set' if self.token else None}, ca_file={self.ca_file})"


class _SameServerRedirects(urllib.request.HTTPRedirectHandler):
    """Follows a redirect only to the same scheme, host and port: a token must not leave the server it is for."""

    def redirect_request(
        self, req: urllib.request.Request, fp: Any, code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> urllib.request.Request | None:
        if urlsplit(req.full_url)[:2] != urlsplit(newurl)[:2]:
            fp.close()
            raise EngineUnreachableError(
                f"redirected to another server, `{newurl}`", hint="give that server's address", where=req.full_url
            )
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def server_root(url: str) -> str:
    """A server's address without a trailing path of ours: `http://host:30000/metrics` gives `http://host:30000`.

    Raises:
        UsageError: Neither http nor https, or no host.
    """
    text = url if "://" in url else f"http://{url}"
    try:
        parts = urlsplit(text)
        known = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:  # brackets without an end, a port that is no number or too large
        known = False
    if not known:
        raise UsageError(f"`{url}` is not a server's address", hint="write it as `http://host:30000`")
    if parts.username is not None or parts.password is not None:
        raise UsageError("a server's address must not hold a password", hint="use `--token-file` or POOLSPLIT_TOKEN")
    path = parts.path.rstrip("/").removesuffix("/metrics").removesuffix("/server_info")
    return f"{parts.scheme}://{parts.netloc}{path}"


def get(url: str, connection: Connection) -> bytes:
    """The body of one GET.

    Raises:
        NotFoundError: The server has no such path.
        EngineUnreachableError: No answer in time, refused, too large, or not a 200.
        InputError: The certificate file cannot be read.
    """
    request = urllib.request.Request(url, headers=_headers(connection), method="GET")  # noqa: S310 - http(s) only
    with deadline(connection.timeout_s) as watched:
        try:
            return _answer(request, connection, watched)
        except PoolsplitError:
            raise
        except Exception as error:  # noqa: BLE001 - a shut socket fails in many ways; what is no network's goes on
            if watched.is_over:
                raise _no_answer(TimeoutError(), url, connection) from None
            raise _translated(error, url, connection) from None


def _answer(request: urllib.request.Request, connection: Connection, watched: Deadline) -> bytes:
    opener = urllib.request.build_opener(
        WatchedHTTPHandler(watched),
        WatchedHTTPSHandler(watched, _tls_context(connection.ca_file)),
        _SameServerRedirects(),
    )
    with opener.open(request, timeout=connection.timeout_s) as response:
        _refuse_compressed(response.headers.get("Content-Encoding"), request.full_url)
        body = _read_bounded(response, request.full_url, connection)
    if watched.is_over:
        raise TimeoutError
    return body


def _translated(error: Exception, url: str, connection: Connection) -> Exception:
    """A library's error in our own words; one that is no network's stays what it is."""
    if isinstance(error, urllib.error.HTTPError):
        with error:
            return _status_error(error.code, url)
    if isinstance(error, urllib.error.URLError):
        return _no_answer(error.reason, url, connection)
    if isinstance(error, http.client.IncompleteRead):
        return EngineUnreachableError("the answer was cut short", hint="look at the server's log", where=url)
    if isinstance(error, http.client.HTTPException):
        text = f"the answer is not HTTP ({type(error).__name__})"
        return EngineUnreachableError(text, hint="check host and port", where=url)
    if isinstance(error, (OSError, ValueError)):
        return _no_answer(error, url, connection)
    return error


def _headers(connection: Connection) -> dict[str, str]:
    headers = {"Accept": "text/plain;version=0.0.4, application/json", "User-Agent": "poolsplit"}
    if connection.token:
        headers["Authorization"] = f"Bearer {connection.token}"
    return headers


@lru_cache(maxsize=8)
def _tls_context(ca_file: str | None) -> ssl.SSLContext:
    """What to trust; read once, for it takes longer than a look."""
    if ca_file is None:
        return ssl.create_default_context()
    try:
        return ssl.create_default_context(cadata=Path(ca_file).read_text(encoding="ascii"))
    except (OSError, ValueError) as error:
        hint = "give the authority in PEM form"
        raise InputError(f"not a file of certificates: {error}", hint=hint, where=ca_file) from None


def _refuse_compressed(encoding: str | None, url: str) -> None:
    """Compression is not asked for; a proxy that adds it all the same would make the page unreadable."""
    if encoding not in (None, "", "identity"):
        raise EngineUnreachableError(
            f"the answer is compressed ({encoding}), which was not asked for",
            hint="give the server's own address, not that of the proxy before it",
            where=url,
        )


def _read_bounded(response: Any, url: str, connection: Connection) -> bytes:
    """Reads to the end, but no more than the bound."""
    parts, size = [], 0
    while chunk := response.read1(_CHUNK_BYTES):
        size += len(chunk)
        if size > connection.max_bytes:
            raise EngineUnreachableError(
                f"the answer is larger than {connection.max_bytes // MIB} MiB",
                hint="this is not a server's metrics page; check the address",
                where=url,
            )
        parts.append(chunk)
    if response.length:
        raise http.client.IncompleteRead(b"", response.length)
    return b"".join(parts)


def _status_error(code: int, url: str) -> EngineUnreachableError:
    if code == _NOT_FOUND:
        return NotFoundError("the server has no such path", hint="check the address", where=url)
    if code in _UNAUTHORIZED:
        hint = "give the server's key with `--token-file FILE` or in POOLSPLIT_TOKEN"
        return EngineUnreachableError(f"the server refuses the request ({code})", hint=hint, where=url)
    return EngineUnreachableError(f"the server answered with status {code}", hint="look at the server's log", where=url)


def _no_answer(reason: object, url: str, connection: Connection) -> EngineUnreachableError:
    if isinstance(reason, TimeoutError):
        return EngineUnreachableError(
            f"no whole answer within {connection.timeout_s:g} s",
            hint="is the server overloaded? `--timeout` allows more time",
            where=url,
        )
    if isinstance(reason, ssl.SSLCertVerificationError):
        return EngineUnreachableError(
            f"the certificate is not trusted: {reason.verify_message}",
            hint="give the certificate's authority with `--ca-file FILE`",
            where=url,
        )
    text = getattr(reason, "strerror", None) or str(reason) or type(reason).__name__
    return EngineUnreachableError(
        f"no answer: {text.lower()}", hint="is the server up, and is this its port?", where=url
    )
