"""What a start's lines leave out, said once for each field."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from poolsplit.engines.boot_report import BootReport, RankReport


def missing_fields(boot: BootReport) -> tuple[str, ...]:
    """Names of the fields that no line carries; for a hybrid or plain start only."""
    if boot.kind not in ("hybrid", "not_hybrid"):
        return ()
    return tuple(dict.fromkeys(_missing(boot)))


def _missing(boot: BootReport) -> Iterator[str]:
    ranks = list(boot.ranks.values())
    hybrid = boot.kind == "hybrid"
    known = {
        "model": boot.model is not None,
        "version": boot.version is not None,
        "flags": boot.launch is not None,
        "state pool line": not hybrid or any(rank.state for rank in ranks),
        "KV pool line": any(rank.kv for rank in ranks),
        "free memory before the weights": any(rank.load_begin for rank in ranks),
        "free memory after the weights": any(rank.after_weights for rank in ranks),
        "granted requests": boot.granted_running_requests is not None,
        "requested requests": boot.requested_running_requests is not None,
        "slots per request": not hybrid or boot.slots_per_request is not None,
        "context_len": any(rank.summary and rank.summary.context_len for rank in ranks),
    }
    yield from (name for name, there in known.items() if not there)
    for rank in ranks:
        yield from (f"{rank.label}: {name}" for name in _missing_of_rank(rank))


def _missing_of_rank(rank: RankReport) -> Iterator[str]:
    if rank.state is not None:
        fields = (
            ("max_mamba_cache_size", rank.state.state_slots),
            ("conv_state size", rank.state.conv),
            ("ssm_state size", rank.state.ssm),
        )
        yield from (name for name, value in fields if value is None)
    if rank.kv:
        pool = rank.kv[0]
        yield from () if pool.tokens is not None else ("KV tokens",)
        if pool.kv is None:
            yield from (name for name, value in (("K size", pool.k), ("V size", pool.v)) if value is None)
