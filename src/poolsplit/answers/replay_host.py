"""The host tier that a command line or a plan asks of a replay."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Any

from poolsplit.errors import InputError, UsageError
from poolsplit.replay.host_pools import HostPools
from poolsplit.units import parse_count
from poolsplit.workload.host_tier import DevicePools, HostTier

if TYPE_CHECKING:
    from collections.abc import Mapping

HOST_WORDS = ("host_state_slots", "host_kv_tokens", "hicache_ratio", "hicache_size", "hicache_write_policy")
"""Words of the command line."""
DEFAULT_POLICY = "write_through"
VERIFIED = (
    "decisions, against the engine's own tree, pools and scheduler on a CPU where copies end at once: 1,307 of 1,307 "
    "random workloads equal in every field"
)
NOT_VERIFIED = (
    "by reading, not verified against the engine: how long a copy holds its node, and what a server makes of the sizes"
)


def host_of(words: Mapping[str, Any], device: Mapping[str, int], prices: Mapping[str, float]) -> HostPools | None:
    """The tier that is asked for: by its pools, by a ratio to the device's, or by bytes where prices are known.

    Args:
        words: Those of `HOST_WORDS` that are given.
        device: `state_slots` and `kv_tokens`.
        prices: `state_bytes_per_slot` and `kv_bytes_per_token` of a plan, or nothing.

    Raises:
        UsageError: A policy without pools, one pool without the other, or several sizes at once.
        InputError: A size that is none, or bytes without prices.
    """
    given = {word: words[word] for word in HOST_WORDS if words.get(word) is not None}
    policy = given.pop("hicache_write_policy", DEFAULT_POLICY)
    if not given:
        if words.get("hicache_write_policy") is not None:
            raise UsageError("a write policy without a host tier", hint="add `--hicache-ratio`, or both host pools")
        return None
    pools = _declared(given) or _sized(given, device, prices)
    return HostPools(kv_tokens=pools[1], state_slots=pools[0], write_policy=policy)


def _declared(given: Mapping[str, Any]) -> tuple[int, int] | None:
    both = [word for word in ("host_state_slots", "host_kv_tokens") if word in given]
    if not both:
        return None
    if len(given) > len(both):
        raise UsageError("the host tier has two sizes", hint="give both host pools, or `--hicache-ratio` alone")
    if len(both) == 1:
        raise UsageError(
            f"the host tier has no `--{'host-kv-tokens' if 'host_state_slots' in given else 'host-state-slots'}`",
            hint="give both host pools, or `--hicache-ratio`",
        )
    return int(given["host_state_slots"]), _count(given["host_kv_tokens"])


def _sized(given: Mapping[str, Any], device: Mapping[str, int], prices: Mapping[str, float]) -> tuple[int, int]:
    if len(given) > 1:
        raise UsageError("the host tier has two sizes", hint="give `--hicache-ratio` or `--hicache-size`")
    if "hicache_size" in given and not prices:
        raise UsageError(
            "what bytes hold is not known without prices",
            where="--hicache-size",
            hint="add `--plan plan.json`, or give both host pools",
        )
    slot_bytes, row_bytes = int(prices.get("state_bytes_per_slot", 1)), float(prices.get("kv_bytes_per_token", 1))
    pools = DevicePools(
        state_slots=device["state_slots"],
        kv_tokens=device["kv_tokens"],
        slot_bytes=slot_bytes,
        row_bytes=row_bytes,
        state_bytes=(device["state_slots"] + 1) * slot_bytes,
    )
    word, size = next(iter(given.items()))
    if not 0 < size < inf:
        raise InputError(f"a host tier of {size:g} keeps nothing", where=f"--{word.replace('_', '-')}", hint="above 0")
    tier = HostTier.by_size(size, pools, shared=True) if word == "hicache_size" else HostTier.by_ratio(size, pools)
    return tier.states, tier.tokens


def _count(value: int | str) -> int:
    return parse_count(value) if isinstance(value, str) else value
