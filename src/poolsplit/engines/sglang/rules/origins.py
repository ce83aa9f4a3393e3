"""Which rule set each argument: the first steps of a derivation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from poolsplit.derivation import Step

if TYPE_CHECKING:
    from collections.abc import Iterator

    from poolsplit.engines.sglang.flags import Flags
    from poolsplit.engines.sglang.resolved import ResolvedFlags

_TOLD = (
    ("context_len", "tokens"),
    ("attention_backend", "name"),
    ("decode_attention_backend", "name"),
    ("page_size", "tokens"),
    ("kv_cache_dtype", "name"),
    ("chunked_prefill_size", "tokens"),
    ("disable_radix_cache", ""),
    ("mamba_radix_cache_strategy", "name"),
    ("disable_overlap_schedule", ""),
    ("mamba_ssm_dtype", "name"),
    ("speculative_num_draft_tokens", "tokens"),
    ("max_running_requests", "requests"),
    ("mem_fraction_static", "fraction"),
)
"""Arguments that move the pools and that a rule may set, in the order they are settled, each with its unit."""


def argument_steps(flags: Flags, resolved: ResolvedFlags) -> Iterator[Step]:
    """One step for each argument that moves the pools: its value, and the rule or flag it comes from."""
    rules = dict(resolved.origins)
    for name, unit in _TOLD:
        value = getattr(resolved, name)
        if value is None:
            continue
        asked = getattr(flags, "context_length" if name == "context_len" else name)
        given = asked is not None and asked is not False
        if isinstance(value, bool):
            value = "yes" if value else "no"
        yield Step(name=name, value=value, unit=unit, source=rules.get(name) or _plain_source(name, given=given))


def _plain_source(name: str, *, given: bool) -> str:
    flag = "context-length" if name == "context_len" else name.replace("_", "-")
    if given:
        return f"--{flag}, as given"
    return "the model's own" if name == "context_len" else "the engine's default"
