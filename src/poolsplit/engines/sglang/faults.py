"""Faults of the engine that a plan must not walk into, by release, each with its public number where it has one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from poolsplit.engines.sglang.flags import Flags

FIRST, LAST = "0.5.16", "0.5.23"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One known fault."""

    id: str
    topic: str
    """The lever or flag that walks into it."""
    first_release: str
    last_release: str
    """Last release known to have it; the newest known one where no fix has been seen."""
    text: str
    source: str
    """Public number, or how it was seen."""


FAULTS: tuple[Fault, ...] = (
    Fault(
        id="lazy_exact_slots",
        topic="extra_buffer_lazy",
        first_release=FIRST,
        last_release="0.5.22",
        text="slots for exactly the running requests crash at a donated state: keep one spare",
        source="published crash; 0.5.23 releases the matched state first",
    ),
    Fault(
        id="skip_lock_exact_slots",
        topic="skip_decode_lock",
        first_release="0.5.17",
        last_release=LAST,
        text="slots for exactly the running requests crash when the matched state is not locked: keep one spare",
        source="seen by running the cache",
    ),
    Fault(
        id="draft_as_slot_price",
        topic="speculation",
        first_release=FIRST,
        last_release=LAST,
        text="draft states are charged to every slot while sizing and to running requests after: KV gets the rest",
        source="issue 37066",
    ),
    Fault(
        id="host_size_each_pool",
        topic="hicache_size",
        first_release=FIRST,
        last_release="0.5.16",
        text="--hicache-size is given to each pool, so a hybrid takes it twice",
        source="issue 29034, changed by 32915",
    ),
    Fault(
        id="host_one_ratio",
        topic="hicache",
        first_release=FIRST,
        last_release=LAST,
        text="one ratio sizes the host's KV and states: too few host states leave nothing to resume",
        source="issues 39436, 39851, 39856",
    ),
    Fault(
        id="whole_model_charged",
        topic="pp_size",
        first_release=FIRST,
        last_release="0.5.16",
        text="every stage is charged the whole model's state: slots hardly grow with stages",
        source="seen by running each release",
    ),
    Fault(
        id="own_mtp_counts_all_layers",
        topic="speculative_draft_model_path",
        first_release=FIRST,
        last_release="0.5.17",
        text="naming Qwen3.5 as its own draft prices all its layers as draft layers",
        source="seen by running each release",
    ),
    Fault(
        id="int8_with_hicache",
        topic="int8_checkpoints",
        first_release=FIRST,
        last_release=LAST,
        text="int8 checkpoints do not combine with a host tier",
        source="the engine's own validation",
    ),
    Fault(
        id="packed_prefill_elements",
        topic="max_running_requests",
        first_release=FIRST,
        last_release=LAST,
        text="packed prefill batches past 2^31 elements fail in builds without the fix: 58,254 tokens on Kimi-K3",
        source="published with a Kimi-K3 build",
    ),
)

PACKED_PREFILL_TOKENS = 58_254
"""Where a packed prefill of Kimi-K3 passes 2^31 elements."""
_PACKED_ARCHITECTURE = "KimiK3ForConditionalGeneration"


def faults_in(release: str) -> tuple[Fault, ...]:
    """The faults that a release has."""
    asked = _number(release)
    return tuple(each for each in FAULTS if _number(each.first_release) <= asked <= _number(each.last_release))


def faults_of(topic: str, release: str = LAST) -> str:
    """What to mind about one topic in a release; empty when nothing is known."""
    return "; ".join(f"{fault.text} ({fault.source})" for fault in faults_in(release) if fault.topic == topic)


def faults_reached(flags: Flags, release: str) -> tuple[str, ...]:
    """What a launch as it stands walks into in a release."""
    topics = {
        "pp_size": flags.pp_size > 1,
        "extra_buffer_lazy": flags.mamba_radix_cache_strategy == "extra_buffer_lazy",
        "skip_decode_lock": flags.env.get("SGLANG_OPT_MAMBA_SKIP_DECODE_LOCK") == "1",
        "hicache": flags.enable_hierarchical_cache,
        "hicache_size": flags.enable_hierarchical_cache,
    }
    found = (faults_of(topic, release) for topic, used in topics.items() if used)
    return tuple(f"known in {release}: {text}" for text in found if text)


def packed_prefill_reachable(architecture: str, max_prefill_tokens: int) -> bool:
    """Whether one packed prefill batch can pass 2^31 elements."""
    return architecture == _PACKED_ARCHITECTURE and max_prefill_tokens >= PACKED_PREFILL_TOKENS


def _number(release: str) -> tuple[int, ...]:
    return tuple(int(part) for part in release.split(".") if part.isdecimal())
