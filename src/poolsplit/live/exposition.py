"""The exposition text to series, with prometheus-client's parser; wanted lines only, one bad line costs one line.

Lines are parsed one by one and without their `# TYPE` line on purpose: with it, a counter printed without `_total`
would gain that ending. A name with labels is parsed once and remembered; only its value changes between scrapes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from poolsplit.engines.live_reading import Series

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MAX_KNOWN_LINES = 50_000
"""Names with labels kept at once; label sets that come and go cannot grow the memory beyond this."""


class ExpositionReader:
    """Parses scrapes of one server.

    Args:
        is_wanted: Whether a series, by its printed name, is to be read.
    """

    def __init__(self, is_wanted: Callable[[str], bool]) -> None:
        self._is_wanted = is_wanted
        self._known: dict[str, Series] = {}
        self.bad_lines = 0
        """Wanted lines of the last scrape that could not be parsed."""

    def read(self, text: str) -> Iterator[Series]:
        """Series of one scrape, in the order of the page."""
        self.bad_lines = 0
        if len(self._known) > MAX_KNOWN_LINES:
            self._known.clear()
        for line in wanted_lines(text, self._is_wanted):
            try:
                yield self._series(line)
            except ValueError:
                self.bad_lines += 1

    def _series(self, line: str) -> Series:
        head, tail = line.rsplit("}", 1) if "}" in line else [*line.split(None, 1), ""][:2]
        known = self._known.get(head)
        if known is None or "#" in tail or "_" in tail:
            known = _parse(line)
            if "#" not in line:
                self._known[head] = known
            return known
        value, *_ = tail.split() or [""]
        return known._replace(value=float(value))


def wanted_lines(text: str, is_wanted: Callable[[str], bool]) -> Iterator[str]:
    """The sample lines of a page whose name is wanted, stripped."""
    for line in text.split("\n"):  # a label may hold what other rules call an end of line
        stripped = line.strip()
        name = stripped.partition("{")[0].split(None, 1)[:1]
        if name and is_wanted(name[0]):
            yield stripped


def _parse(line: str) -> Series:
    from prometheus_client.parser import text_string_to_metric_families

    for family in text_string_to_metric_families(line):
        for sample in family.samples:
            return Series(sample.name, tuple(sorted(sample.labels.items())), float(sample.value))
    raise ValueError(line)
