"""Printing of watched looks: JSON lines, status lines or a drawn view, and the exit code of `--check`."""

from __future__ import annotations

import json
import sys
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from poolsplit import api
from poolsplit.cli.output import replacing, use_color
from poolsplit.errors import EngineUnreachableError, UsageError
from poolsplit.report.watch_line import derivation_lines, finding_blocks, warning_lines, watch_line
from poolsplit.report.watch_view import watch_view
from poolsplit.report.whole_document import whole

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from poolsplit.answers.live.watch import Tick
    from poolsplit.cli.options import OutputOptions

Documents = list[dict[str, Any]]


def print_ticks(ticks: Iterator[Tick], *, out: OutputOptions, live: bool, check: bool) -> int:
    """Prints look after look until they end or are interrupted; 1 when `check` finds the last one not as predicted.

    Raises:
        UsageError: A view and JSON at once.
    """
    if live and (out.json or out.output):
        raise UsageError("`--live` draws on the terminal and gives no data", hint="leave out `--json` and `-o`")
    last: Tick | None = None
    with ExitStack() as stack:
        show = _view(stack, out) if live else _lines(stack, out)
        try:
            for tick in ticks:
                last = tick
                show(api.watch_documents(tick))
        except KeyboardInterrupt:
            pass  # the usual end of a watch
    return _exit_code(last) if check else 0


def _lines(stack: ExitStack, out: OutputOptions) -> Callable[[Documents], None]:
    handle = stack.enter_context(replacing(out.output)) if out.output not in (None, "-") else None
    teller = _Teller(out)

    def show(documents: Documents) -> None:
        text = "".join(f"{line}\n" for document in documents for line in teller.lines(document))
        if handle is not None:
            handle.write(text.encode())
        else:
            sys.stdout.write(text)
            sys.stdout.flush()

    return show


class _Teller:
    """Turns documents into lines; a finding is told when it comes up, not again at every look while it lasts."""

    def __init__(self, out: OutputOptions) -> None:
        self._out = out
        self._told: dict[str, set[str]] = {}

    def lines(self, document: Mapping[str, Any]) -> list[str]:
        if self._out.json:
            return [json.dumps(whole(document), ensure_ascii=False, allow_nan=False)]
        blocks = finding_blocks(document)
        warnings = {f"warning {line}": line for line in warning_lines(document)}
        told = self._told.get(self._key(document), set())
        self._told[self._key(document)] = {*blocks, *warnings}
        for name, line in warnings.items():
            if name not in told and not self._out.quiet:
                print(f"warning: {line}", file=sys.stderr)
        fresh = [line for name, block in blocks.items() if name not in told for line in block]
        return [watch_line(document), *fresh, *(derivation_lines(document) if self._out.explain else ())]

    def _key(self, document: Mapping[str, Any]) -> str:
        return f"{document.get('server')} {document.get('replica')}"


def _view(stack: ExitStack, out: OutputOptions) -> Callable[[Documents], None]:
    from rich.console import Console
    from rich.live import Live

    console = Console(no_color=not use_color(out), highlight=False)
    drawn = stack.enter_context(Live(console=console, auto_refresh=False))

    def show(documents: Documents) -> None:
        drawn.update(watch_view(documents), refresh=True)

    return show


def _exit_code(last: Tick | None) -> int:
    if last is None:
        return 0
    if last.errors:
        server, error = last.errors[0]
        raise EngineUnreachableError(error, hint="the check needs an answer of every server", where=server)
    return 1 if api.watch_mismatch(last) else 0
