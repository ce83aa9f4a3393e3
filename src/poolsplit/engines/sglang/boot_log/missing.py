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
    if boot.model is None:
        yield "model"
    if boot.version is None:
        yield "version"
    if boot.launch is None:
        yield "flags"
    if hybrid and not any(rank.state for rank in ranks):
        yield "state pool line"
    if not any(rank.kv for rank in ranks):
        yield "KV pool line"
    for rank in ranks:
        yield from (f"{rank.label}: {name}" for name in _missing_of_rank(rank))
    if not any(rank.load_begin for rank in ranks):
        yield "free memory before the weights"
    if not any(rank.after_weights for rank in ranks):
        yield "free memory after the weights"
    if boot.granted_running_requests is None:
        yield "granted requests"
    if boot.requested_running_requests is None:
        yield "requested requests"
    if hybrid and boot.slots_per_request is None:
        yield "slots per request"
    if not any(rank.summary and rank.summary.context_len for rank in ranks):
        yield "context_len"


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
