"""Live servers: looked at again and again, or put to conditions once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from poolsplit.api.facts import engine

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from poolsplit.live.fetch import Connection
    from poolsplit.live.gate import Split
    from poolsplit.live.session import Tick


def server_connection(*, token_file: str | None, ca_file: str | None, timeout: str) -> Connection:
    """How to reach live servers; the key comes from the file or from POOLSPLIT_TOKEN.

    Raises:
        InputError: The key cannot be read, or the timeout is no duration.
    """
    from poolsplit.answers.live.watch import connection
    from poolsplit.units import parse_duration

    return connection(token_file=token_file, ca_file=ca_file, timeout_s=parse_duration(timeout))


def watch(targets: Sequence[str], *, interval: str, looks: int | None, window: str, **request: Any) -> Iterator[Tick]:
    """Looks at live servers, or at a recorded session, and judges every look.

    Args:
        targets: Addresses, or one recording.
        interval: Time between two looks, such as `10s`.
        looks: How many; None goes on without end.
        window: Time that findings look back.
        request: The other fields of `poolsplit.answers.live.watch.WatchRequest`.

    Raises:
        InputError: A plan, recording, key or duration that cannot be read.
        EngineUnreachableError: No server answers the first look.
    """
    from poolsplit.answers.live.watch import WatchRequest
    from poolsplit.answers.live.watch import watch as looks_at
    from poolsplit.live.session import Pace
    from poolsplit.units import parse_duration

    pace = Pace(interval_s=parse_duration(interval), looks=looks)
    return looks_at(WatchRequest(targets=tuple(targets), pace=pace, window_s=parse_duration(window), **request))


def watch_documents(tick: Tick) -> list[dict[str, Any]]:
    """The JSON objects of one look."""
    from poolsplit.answers.live.watch import EXPORTER
    from poolsplit.live.document import tick_documents

    return tick_documents(tick, engine=EXPORTER.engine)


def watch_mismatch(tick: Tick) -> bool:
    """Whether a predicted figure is not what the server shows."""
    return any(row.ok is False for judged in tick.judged for row in judged.comparisons)


def check(
    target: str,
    *,
    connection: Connection,
    plan: str | None = None,
    over: str | None = None,
    split: Split = "recommended",
    **conditions: Any,
) -> dict[str, Any]:
    """Whether a server, log, recording or plan meets conditions, as a document.

    Args:
        target: An address, or a file.
        connection: How to reach a server.
        plan: What was predicted.
        over: Time to watch a server for, such as `60s`.
        split: Which split of a plan is judged: the one that it recommends, or its launch as it stands.
        conditions: Fields of `poolsplit.live.gate.Conditions`.

    Raises:
        InputError: A file that is none of these, or a condition that cannot hold.
        EngineUnreachableError: The server does not answer.
    """
    from poolsplit.answers.live.gate import Gate
    from poolsplit.answers.live.gate import check as put_to
    from poolsplit.live.gate import Conditions
    from poolsplit.units import parse_duration

    span_s = None if over is None else parse_duration(over)
    asked = Conditions(**conditions)
    gate = Gate(target=target, plan=plan, connection=connection, conditions=asked, span_s=span_s, split=split)
    return {**put_to(gate), "engine": engine()}
