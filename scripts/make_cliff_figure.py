"""Draws docs/concepts/residency-cliff.svg from the tables of docs/replay.md, or checks that it is current (`--check`).

The tables are made by `bench/replay_cliff.py` from replays of recorded coding sessions.
"""

import math
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from generated_page import DOCS, settle

PANELS = (("KV tokens, states ample", "KV tokens"), ("state slots, KV ample", "state slots"))
COLOURS = ("#0072b2", "#d55e00", "#009e73")
WIDTH, HEIGHT, MARGIN, GAP = 380, 260, 48, 40
SUFFIXES = {"": 1.0, "k": 1e3, "M": 1e6}


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """One table: reuse in percent of the input tokens, one curve a number of sessions."""

    label: str
    ticks: tuple[str, ...]
    curves: tuple[tuple[str, tuple[float, ...]], ...]

    def across(self, tick: str) -> float:
        """Where a size lies, 0 to 1, on a logarithmic axis."""
        low, high, here = (math.log(size(each)) for each in (self.ticks[0], self.ticks[-1], tick))
        return (here - low) / (high - low)


def size(text: str) -> float:
    """A number as the tables write it: `0.5M`, `320`."""
    found = re.fullmatch(r"([\d.]+)([kM]?)", text)
    if found is None:
        raise SystemExit(f"{text} is no size")
    return float(found[1]) * SUFFIXES[found[2]]


def panel(page: str, head: str, label: str) -> Panel:
    """The table of the page whose first cell is `head`."""
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in page.split(f"| {head} |")[1].split("\n\n", maxsplit=1)[0].split("\n")
    ]
    curves = tuple((row[0], tuple(float(cell) for cell in row[1:])) for row in rows[2:])
    return Panel(label=label, ticks=tuple(rows[0]), curves=curves)


def drawn(each: Panel, left: int) -> Iterator[str]:
    """One panel as SVG, its left edge at `left`."""
    bottom = MARGIN + HEIGHT

    def at(tick: str, percent: float) -> str:
        return f"{left + each.across(tick) * WIDTH:.1f},{bottom - percent / 100 * HEIGHT:.1f}"

    for percent in range(0, 101, 25):
        y = bottom - percent / 100 * HEIGHT
        yield f'<path d="M{left} {y:g}h{WIDTH}" stroke="currentColor" stroke-opacity="0.2"/>'
        yield f'<text x="{left - 8}" y="{y + 4:g}" text-anchor="end">{percent}</text>'
    for tick in each.ticks:
        x = left + each.across(tick) * WIDTH
        yield f'<text x="{x:.1f}" y="{bottom + 18}" text-anchor="middle">{tick}</text>'
    yield f'<text x="{left + WIDTH / 2:g}" y="{bottom + 40}" text-anchor="middle">{each.label}</text>'
    for (name, values), colour in zip(each.curves, COLOURS, strict=True):
        points = [at(tick, value) for tick, value in zip(each.ticks, values, strict=True)]
        yield f'<polyline points="{" ".join(points)}" fill="none" stroke="{colour}" stroke-width="2.5"/>'
        for point, value in zip(points, values, strict=True):
            x, y = point.split(",")
            yield f'<circle cx="{x}" cy="{y}" r="4" fill="{colour}"><title>{name}: {value:g} %</title></circle>'


def legend(names: Sequence[str]) -> Iterator[str]:
    """The curves by colour."""
    for number, (name, colour) in enumerate(zip(names, COLOURS, strict=True)):
        x = MARGIN + number * 120
        yield f'<path d="M{x} 20h24" stroke="{colour}" stroke-width="3"/><text x="{x + 30}" y="24">{name}</text>'


def figure(panels: Sequence[Panel]) -> str:
    """The whole figure; colours of lines are apart for colour-blind eyes too, text follows the page."""
    width, height = 2 * (WIDTH + MARGIN) + GAP + MARGIN, HEIGHT + 2 * MARGIN + 10
    title = "Reused share of the input tokens, in percent, against the size of each pool"
    body = [*legend([name for name, _ in panels[0].curves])]
    body.append(f'<text x="{width - MARGIN}" y="24" text-anchor="end">percent of the input tokens reused</text>')
    for number, each in enumerate(panels):
        body += drawn(each, MARGIN + number * (WIDTH + MARGIN + GAP))
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" font-family="sans-serif" '
        f'font-size="13" fill="currentColor"><title>{title}</title>'
    )
    return "\n".join([head, *body, "</svg>"]) + "\n"


def main() -> int:
    """Writes the figure, or says that it is out of date."""
    page = (DOCS / "replay.md").read_text(encoding="utf-8")
    panels = [panel(page, head, label) for head, label in PANELS]
    return settle({DOCS / "concepts" / "residency-cliff.svg": figure(panels)})


if __name__ == "__main__":
    sys.exit(main())
