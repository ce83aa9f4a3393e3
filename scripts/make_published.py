"""Writes docs/published.md: figures that others published beside ours, with the commands.

    .venv/bin/python scripts/make_published.py
    .venv/bin/python scripts/make_published.py --check

Every command of the page is run, but those with a date: they take minutes, and keep the figures of that date. Without
the folder of public traces beside the checkout, what reads a trace keeps what was measured.
"""

import sys
from collections.abc import Iterable, Sequence
from typing import Any

from generated_page import DOCS, settle, table
from published_figures import Boot, Row, boot_figures, boots, every, facts, rows_of, runs, to_the_digit

PAGE = DOCS / "published.md"
HEAD = """# Published figures beside ours

Figures that engine authors, operators and papers published, the figure that poolsplit gives, and the command that
gives it. Written by `scripts/make_published.py` from the facts in `scripts/published`; a test runs the commands again.
A figure agrees when ours rounds to what was printed, to its last digit. Where free memory is not published it is chosen
by one figure, marked *chosen by*: that one is no check and is not counted. Commands run from the root of a checkout;
sizes are GiB, which the engine prints as GB.
"""
BOOTS = """
## Start-ups that people printed

Logs and tables of real servers whose launch is known. `poolsplit read` takes the pools from the printed lines and asks
which release's rules give every figure. Sizes must round to the printed digit. Slots and tokens that were solved from
rounded sizes agree when the printed one lies within what the rounding leaves, often one slot; one column counts what is
equal to the digit. Fresh start-ups were found after the rules were written; the others were at hand before.
"""
KIND = """
## In kind only

Effects whose figure cannot be had again, because the workload is not public in full, and what ours shows instead.
"""
MISSING = "\n## Not reproduced\n"
Printed = tuple[Boot, list[dict[str, Any]]]


def number(value: float | None, digits: int) -> str:
    """A figure to as many digits as were published."""
    return "refused" if value is None else f"{value:,.{digits}f}"


def difference(row: Row) -> str:
    """What ours is off by."""
    if row.ours is None or row.follows:
        return "-" if row.ours is None else "same"
    off = row.ours - row.figure.published
    return f"{off:+,.{row.figure.digits}f} ({100 * off / row.figure.published:+.1f} %)"


def figure_table(rows: Iterable[Row]) -> str:
    """One group's figures."""
    cells = [
        (
            at,
            row.run.what,
            row.figure.name,
            number(row.figure.published, row.figure.digits),
            number(row.ours, row.figure.digits),
            "*chosen by*" if row.figure.fitted else difference(row),
        )
        for at, row in numbered(rows)
    ]
    return table(("", "what", "figure", "published", "ours", "difference"), cells)


def numbered(rows: Iterable[Row]) -> list[tuple[int, Row]]:
    """Rows with the number of their command in the group."""
    seen: dict[str, int] = {}
    return [(seen.setdefault(row.run.command, len(seen) + 1), row) for row in rows]


def commands(texts: Sequence[str]) -> str:
    """Commands under the numbers of the table."""
    return "\n".join(["```text", *(f"{at}  {text}" for at, text in enumerate(texts, start=1)), "```"])


def sources(pairs: Iterable[tuple[int, str]]) -> str:
    """Each source with the rows it stands for."""
    found: dict[str, list[str]] = {}
    for at, source in pairs:
        listed = found.setdefault(source, [])
        if str(at) not in listed:
            listed.append(str(at))
    return "Sources: " + "; ".join(f"{', '.join(ats)}: {source}" for source, ats in found.items()) + "."


def group_part(group: dict[str, str], rows: Sequence[Row]) -> str:
    """One group of the page."""
    first = {at: row.run for at, row in reversed(numbered(rows))}
    ordered = [first[at] for at in sorted(first)]
    notes = [f"- {at}: {run.note}." for at, run in enumerate(ordered, start=1) if run.note]
    dated = [f"- {at}: measured on {run.date}." for at, run in enumerate(ordered, start=1) if run.date]
    parts = [
        f"## {group['title']}",
        group["text"],
        figure_table(rows),
        commands([run.command for run in ordered]),
        sources(enumerate((run.source for run in ordered), start=1)),
        "\n".join([*notes, *dated]),
    ]
    return "\n\n".join(part for part in parts if part)


def boot_part(printed: Sequence[Printed]) -> str:
    """The start-ups: one row each, then every figure."""
    cells = [
        (
            at,
            boot.what,
            boot.build,
            boot.rules,
            f"{sum(each['follows'] for each in figures)} of {len(figures)}",
            sum(to_the_digit(each) for each in figures),
            "no" if boot.known else "yes",
        )
        for at, (boot, figures) in enumerate(printed, start=1)
    ]
    notes = [f"- {at}: {boot.note}." for at, (boot, _) in enumerate(printed, start=1) if boot.note]
    parts = [
        table(("", "start-up", "build", "rules of", "figures agree", "to the digit", "fresh"), cells),
        "\n".join(notes),
        commands([boot.command for boot, _ in printed]),
        sources((at, boot.source) for at, (boot, _) in enumerate(printed, start=1)),
        "### Every printed figure",
        table(("", "rank", "figure", "printed", "ours"), [line for each in lines(printed) for line in each]),
    ]
    return BOOTS + "\n" + "\n\n".join(parts)


def lines(printed: Sequence[Printed]) -> list[list[tuple[object, ...]]]:
    """Every figure of every start-up."""
    return [
        [
            (at, each["rank"], each["name"], each["printed"], ours(each) + ("" if each["follows"] else " **(no)**"))
            for each in figures
        ]
        for at, (_, figures) in enumerate(printed, start=1)
    ]


def ours(figure: dict[str, Any]) -> str:
    """Our value of one printed figure."""
    value = figure["predicted"]
    return f"{value:,.4f}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)


def summary(rows: Sequence[Row], printed: Sequence[Printed]) -> str:
    """How much agrees, in one table."""
    fresh = [(boot, figures) for boot, figures in printed if not boot.known]
    cells: list[tuple[object, ...]] = []
    for name, some in (("start-ups found afterwards", fresh), ("start-ups at hand before", known(printed))):
        whole = sum(all(each["follows"] for each in figures) for _, figures in some)
        each_one = [each for _, figures in some for each in figures]
        agree, exact = sum(each["follows"] for each in each_one), sum(map(to_the_digit, each_one))
        cells.append((name, f"{whole} of {len(some)}", f"{agree} of {len(each_one)}", exact))
    for group in facts("figures")["group"]:
        checked = [row for row in rows if row.run.group == group["id"] and not row.figure.fitted]
        agree = sum(row.follows for row in checked)
        cells.append((group["title"], "", f"{agree} of {len(checked)}", agree))
    return table(("", "whole", "figures agree", "to the digit"), cells)


def known(printed: Sequence[Printed]) -> list[Printed]:
    """Start-ups whose figures were at hand while the rules were written."""
    return [each for each in printed if each[0].known]


def page(rows: Sequence[Row], printed: Sequence[Printed]) -> str:
    """The whole page."""
    apart = facts("apart")
    parts = [HEAD + "\n" + summary(rows, printed), boot_part(printed).strip()]
    parts += [
        group_part(group, [row for row in rows if row.run.group == group["id"]]) for group in facts("figures")["group"]
    ]
    kind = [(each["what"], each["ours"], each["why"], each["source"]) for each in apart["kind"]]
    missing = [(each["what"], each["why"], each["source"]) for each in apart["missing"]]
    parts += [KIND.strip(), table(("published", "ours", "why not the figure", "source"), kind)]
    parts += [MISSING.strip(), table(("published", "why", "source"), missing)]
    return "\n\n".join(parts) + "\n"


def main() -> int:
    """Writes or checks the page."""
    listed = boots()
    printed = list(zip(listed, every(boot_figures, listed), strict=True))
    rows = [row for rows in every(rows_of, runs()) for row in rows]
    return settle({PAGE: page(rows, printed)})


if __name__ == "__main__":
    sys.exit(main())
