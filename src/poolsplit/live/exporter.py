"""What the live rooms need to know of an engine: where it answers and how its answers are read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any

    from poolsplit.engines.live_reading import Advice, Reading, Series, ServerFacts


@dataclass(frozen=True, slots=True, kw_only=True)
class Exporter:
    """One engine seen from outside: paths, readers and spellings."""

    engine: str
    metrics_path: str
    metrics_hint: str
    info_paths: tuple[str, ...]
    """Tried in order."""
    loads_path: str
    is_wanted: Callable[[str], bool]
    read_metrics: Callable[[Iterable[Series]], Reading]
    read_info: Callable[[Mapping[str, Any]], ServerFacts]
    trim_info: Callable[[Mapping[str, Any]], Mapping[str, Any]]
    """What of an info answer may be kept in a recording."""
    read_loads: Callable[[Mapping[str, Any]], Mapping[int, Mapping[str, int]]]
    read_accelerator: Callable[[Mapping[str, Any]], str | None]
    advice: Advice
