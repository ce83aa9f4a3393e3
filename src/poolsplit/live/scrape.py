"""What one look brings home, from a live server or from a recording."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from poolsplit.errors import EngineUnreachableError
from poolsplit.live.fetch import NotFoundError, get

if TYPE_CHECKING:
    from collections.abc import Mapping

    from poolsplit.live.exporter import Exporter
    from poolsplit.live.fetch import Connection

INFO_EVERY_S = 60.0
"""The info answer is computed by every worker of the server, so it is asked for seldom."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RawScrape:
    """Answers of one server at one moment, as text and decoded JSON."""

    server: str
    time_s: float
    metrics: str | None = None
    info: Mapping[str, Any] | None = None
    loads: Mapping[str, Any] | None = None
    error: str | None = None
    """Why there is no answer at all."""
    warnings: tuple[str, ...] = ()


class LiveServer:
    """One server, asked with GETs only.

    Args:
        root: The server's address.
        connection: Time, token and certificates.
        exporter: Where the engine answers.
    """

    def __init__(self, root: str, connection: Connection, exporter: Exporter) -> None:
        self.root = root
        self._connection = connection
        self._exporter = exporter
        self._info_due_s = float("-inf")
        self._info_path: str | None = None

    def scrape(self, now_s: float) -> RawScrape:
        """One look.

        Raises:
            EngineUnreachableError: Neither metrics nor loads are answered.
        """
        warnings: list[str] = []
        metrics, loads = self._metrics(warnings)
        info = None
        if now_s >= self._info_due_s:
            info = self._info(warnings)
            loads = loads or self._card()
            self._info_due_s = now_s + INFO_EVERY_S
        return RawScrape(
            server=self.root, time_s=now_s, metrics=metrics, info=info, loads=loads, warnings=tuple(warnings)
        )

    def ask_info_again(self) -> None:
        """The server started anew: its facts are not those known."""
        self._info_due_s = float("-inf")

    def _metrics(self, warnings: list[str]) -> tuple[str | None, Mapping[str, Any] | None]:
        try:
            body = get(self.root + self._exporter.metrics_path, self._connection)
            return body.decode("utf-8", errors="replace"), None
        except NotFoundError:
            pass
        try:
            loads = self._json(self._exporter.loads_path)
        except NotFoundError:
            raise EngineUnreachableError(
                "the server exports neither metrics nor loads", hint=self._exporter.metrics_hint, where=self.root
            ) from None
        warnings.append(f"no metrics page, so neither pool is seen: {self._exporter.metrics_hint}")
        return None, loads

    def _info(self, warnings: list[str]) -> Mapping[str, Any] | None:
        paths = (self._info_path,) if self._info_path else self._exporter.info_paths
        for path in paths:
            try:
                info = self._json(path)
            except NotFoundError:
                continue
            except EngineUnreachableError as error:
                warnings.append(f"no facts of the start-up: {error}")
                return None
            self._info_path = path
            return info
        warnings.append("no facts of the start-up: the server has no info page")
        return None

    def _card(self) -> Mapping[str, Any] | None:
        """The loads answer for the card's name alone; older releases do not have it."""
        try:
            return self._json(self._exporter.loads_path)
        except EngineUnreachableError:
            return None

    def _json(self, path: str) -> Mapping[str, Any]:
        url = self.root + path
        try:
            decoded = json.loads(get(url, self._connection))
        except (ValueError, RecursionError):
            raise EngineUnreachableError(
                "the answer is not JSON", hint="is this the server's own address?", where=url
            ) from None
        if not isinstance(decoded, dict):
            raise EngineUnreachableError("the answer is not a JSON object", hint="check the address", where=url)
        return decoded
