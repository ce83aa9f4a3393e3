"""Both pools of a server's start to scale, as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from poolsplit.units import GIB, format_size

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from poolsplit.engines.boot_report import BootReport, Interval, RankReport

BAR_CHARS = 60
MAX_RANKS = 8


def pool_lines(boot: BootReport) -> Iterator[str]:
    """Both pools of every kind of rank, to one scale."""
    ranks = [rank for rank in boot.pool_ranks if rank.rest_bytes or rank.state or rank.kv]
    groups = _equal_ranks(ranks)
    largest = max((rank.rest_bytes.middle for rank in ranks if rank.rest_bytes), default=0.0)
    for labels, rank in groups[:MAX_RANKS]:
        name = "every rank" if labels == ["-"] else ", ".join(labels)
        if rank.rest_bytes and largest > 0:
            yield f"{name}: {rank.rest_bytes.middle / GIB:.2f} GiB in both pools"
            yield f"  [{_bar(rank, largest)}]"
        else:
            yield f"{name}: sizes not complete"
        yield from (f"  {line}" for line in _rank_lines(rank))
    if len(groups) > MAX_RANKS:
        yield f"and {len(groups) - MAX_RANKS} further kinds of ranks"


def _equal_ranks(ranks: Sequence[RankReport]) -> list[tuple[list[str], RankReport]]:
    groups: list[tuple[list[str], RankReport]] = []
    for rank in ranks:
        for labels, other in groups:
            if (rank.state, rank.kv) == (other.state, other.kv):
                labels.append(rank.label)
                break
        else:
            groups.append(([rank.label], rank))
    return groups


def _bar(rank: RankReport, largest: float) -> str:
    parts = (("#", rank.state_bytes), ("~", rank.scratch_bytes), ("=", rank.kv_bytes))
    bar = "".join(sign * round(BAR_CHARS * part.middle / largest) for sign, part in parts if part)
    return bar.ljust(BAR_CHARS)[:BAR_CHARS]


def _rank_lines(rank: RankReport) -> Iterator[str]:
    if rank.state:
        slots = "?" if rank.state.state_slots is None else f"{rank.state.state_slots:,}"
        each = f" x {_span(rank.state_bytes_per_slot)} a slot (K + 1 are held)" if rank.state_bytes_per_slot else ""
        yield f"# state   {_size(rank.state_bytes):>10}  {slots} slots{each}"
    if rank.scratch_bytes:
        states = f"  {rank.scratch_states.middle:.0f} states" if rank.scratch_states else ""
        yield f"~ scratch {_size(rank.scratch_bytes):>10}{states}"
    if rank.kv:
        tokens = "?" if rank.kv_tokens is None else f"{rank.kv_tokens:,}"
        each = f" x {_span(rank.kv_bytes_per_token)} a token" if rank.kv_bytes_per_token else ""
        draft = f" (draft pools: {len(rank.kv) - 1})" if len(rank.kv) > 1 else ""
        dtype = f" in {rank.kv[0].dtype.removeprefix('torch.')}" if rank.kv[0].dtype else ""
        yield f"= KV      {_size(rank.kv_bytes):>10}  {tokens} tokens{dtype}{each}{draft}"
    if rank.token_equiv:
        yield (
            f"one slot is worth {rank.token_equiv.middle:,.0f} tokens "
            f"({rank.token_equiv.low:,.0f} to {rank.token_equiv.high:,.0f}){_worth(rank)}"
        )
    if rank.unexplained_bytes:
        yield f"named by no line between weights and pool end: {rank.unexplained_bytes.middle / GIB:.2f} GiB"


def _worth(rank: RankReport) -> str:
    slots = rank.state.state_slots if rank.state else None
    tokens, equiv = rank.kv_tokens, rank.token_equiv
    if slots is None or tokens is None or equiv is None or equiv.middle <= 0:
        return ""
    worth = f"{(slots + 1) * equiv.middle:,.0f} tokens, the KV pool = {tokens / equiv.middle:,.0f} slots"
    return f": the state pool = {worth}"


def _size(interval: Interval | None) -> str:
    return f"{interval.middle / GIB:.2f} GiB" if interval else "not told"


def _span(interval: Interval | None) -> str:
    if interval is None:
        return "?"
    low, high = format_size(int(interval.low)), format_size(int(interval.high))
    return low if low == high else f"{low} to {high}"
