"""What differs between two sides, each difference put into the first launch alone and solved again."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from poolsplit.answers.differences.sides import outcome_under
from poolsplit.engines.launch_difference import Change, Outcome
from poolsplit.engines.sglang.deployment import DRAFT_PATH
from poolsplit.engines.sglang.flags import FLAG_NAMES
from poolsplit.engines.sglang.versions import switches_for

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from poolsplit.answers.differences.sides import Side
    from poolsplit.engines.sglang.deployment import SglangDeployment

_NOT_COMPARED = frozenset(
    {"host", "port", "log_level", "random_seed", "served_model_name", "nccl_port", "dist_init_addr"}
)
"""Fields that say where a server listens or how it is called."""
_NO_MODEL = "no model, card or memory is known: name a log with them, or --gpu"


def changes_between(a: Side, b: Side, base: SglangDeployment | None) -> Iterator[Change]:
    """Every field, variable, release and memory that differs; without a launch to solve, no effect is known."""
    now = outcome_under(base, {}) if base is not None else None
    for name in sorted({*a.values, *b.values} - _NOT_COMPARED):
        mine, theirs = a.values.get(name), b.values.get(name)
        if mine != theirs:
            yield _change(name, (mine, theirs), base, now)
    if a.env is not None and b.env is not None:
        yield from _env_changes(a.env, b.env, base, now)
    if a.version and b.version and a.version != b.version:
        alone = replace(base, switches=switches_for(b.version), _resolved={}) if base and b.deployment else None
        yield _with_effect("engine_version", (a.version, b.version), now, outcome_under(alone, {}) if alone else None)
    if base is not None and b.deployment is not None and base.memory != b.deployment.memory:
        alone = replace(base, memory=b.deployment.memory)
        yield _with_effect("free_memory", (_memory(base), _memory(b.deployment)), now, outcome_under(alone, {}))


def _env_changes(
    mine: Mapping[str, str], theirs: Mapping[str, str], base: SglangDeployment | None, now: Outcome | None
) -> Iterator[Change]:
    """Variables that only one sets, or that differ."""
    for name in sorted({*mine, *theirs}):
        values = mine.get(name), theirs.get(name)
        if values[0] == values[1]:
            continue
        then = None
        if base is not None:
            env = {key: value for key, value in base.flags.env.items() if key != name}
            env |= {name: values[1]} if values[1] is not None else {}
            then = outcome_under(replace(base, flags=replace(base.flags, env=env), _resolved={}), {})
        yield _with_effect(name, values, now, then)


def _change(name: str, values: tuple[Any, Any], base: SglangDeployment | None, now: Outcome | None) -> Change:
    if name == "model_path" or (name == DRAFT_PATH and not _own_draft(values[1], base)):
        return _unpriced(name, values, "another checkpoint")
    if name not in FLAG_NAMES and name != DRAFT_PATH:
        return Change(
            field=name, a=values[0], b=values[1], effect_requests=0, effect_tokens=0, reason="does not reach the pools"
        )
    return _with_effect(name, values, now, outcome_under(base, {name: values[1]}) if base is not None else None)


def _own_draft(draft: str | None, base: SglangDeployment | None) -> bool:
    """Whether a launch names its own model as the draft, whose layers are then known."""
    launch = base.launch if base is not None else None
    return draft is not None and launch is not None and draft == launch.model


def _with_effect(name: str, values: tuple[Any, Any], now: Outcome | None, then: Outcome | None) -> Change:
    if now is None or then is None:
        return _unpriced(name, values, _NO_MODEL)
    if now.requests is None or then.requests is None or now.kv_tokens is None or then.kv_tokens is None:
        return _unpriced(name, values, then.origin if then.requests is None else now.origin)
    return Change(
        field=name,
        a=values[0],
        b=values[1],
        effect_requests=then.requests - now.requests,
        effect_tokens=then.kv_tokens - now.kv_tokens,
        reason="solved again with this change alone",
    )


def _unpriced(name: str, values: tuple[Any, Any], reason: str) -> Change:
    """A change whose effect is not known, and why."""
    return Change(field=name, a=values[0], b=values[1], effect_requests=None, effect_tokens=None, reason=reason)


def _memory(deployment: SglangDeployment) -> str:
    memory = deployment.memory
    if callable(memory):
        return "not told"
    after = ", ".join(f"{gib:.2f}" for gib in memory.after_gib)
    return f"{memory.before_gib:.2f} GiB before, {after} GiB after the weights"
