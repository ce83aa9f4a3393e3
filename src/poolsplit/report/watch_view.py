"""The live terminal view: both pools of every rank as bars, redrawn at every look."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from poolsplit.report.watch_line import finding_blocks, watch_line

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rich.console import Group, RenderableType

BAR_CELLS = 24
_USED, _KEPT, _FREE = "█", "▒", "·"


def watch_view(documents: Sequence[Mapping[str, Any]]) -> Group:
    """One look at all servers, ready to be drawn."""
    from rich.console import Group
    from rich.text import Text

    parts: list[RenderableType] = []
    for document in documents:
        parts.append(Text(watch_line(document), style="bold"))
        if "ranks" in document:
            parts.append(_pool_table(document))
            blocks = finding_blocks(document).values()
            parts.extend(Text(line, style=_style(line)) for block in blocks for line in block)
    parts.append(Text(f"{_USED} in use  {_KEPT} kept for reuse  {_FREE} free", style="dim"))
    return Group(*parts)


def pool_bar(pool: Mapping[str, int] | None, cells: int = BAR_CELLS) -> str:
    """A pool as a row of cells: in use, kept for reuse, free. What is in use is never drawn as nothing."""
    if pool is None or not pool["capacity"]:
        return "-"
    used = round(cells * pool["used"] / pool["capacity"])
    used = min(cells, max(used, 1 if pool["used"] else 0))
    kept = min(cells - used, round(cells * pool["evictable"] / pool["capacity"]))
    return _USED * used + _KEPT * kept + _FREE * (cells - used - kept)


def _pool_table(document: Mapping[str, Any]) -> RenderableType:
    from rich.table import Table

    table = Table(box=None, padding=(0, 1))
    for name in ("rank", "pool", "", "in use", "kept", "free"):
        table.add_column(name, justify="right" if name in ("in use", "kept", "free") else "left", no_wrap=True)
    for rank in document["ranks"]:
        for name in ("state", "kv", "window_kv"):
            pool = rank[name]
            if pool is not None and pool["capacity"]:
                figures = (f"{pool[part]:,}" for part in ("used", "evictable", "available"))
                table.add_row(rank["rank"], name, pool_bar(pool), *figures)
    return table


def _style(line: str) -> str:
    if line.startswith(("error", "mismatch")):
        return "red"
    return "yellow" if line.startswith("warning") else ""
