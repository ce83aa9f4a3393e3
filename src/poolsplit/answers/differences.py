"""Two logs, launch commands or plans compared: which flag explains the difference in requests and tokens.

Every changed flag is put into the first launch alone, and the launch is solved again.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from poolsplit.answers.launch_memory import find_memory
from poolsplit.answers.logs.launches import NothingToPredictError, launch_of, launch_values_of, named_device
from poolsplit.answers.logs.predict import deployment_of_log
from poolsplit.answers.opened_launch import LaunchRequest, open_launch
from poolsplit.engines.launch_difference import Change, Difference, Outcome
from poolsplit.engines.sglang.command import parse_launch
from poolsplit.engines.sglang.deployment import SglangDeployment
from poolsplit.engines.sglang.flags import FLAG_NAMES
from poolsplit.engines.sglang.versions import switches_for
from poolsplit.errors import InputError, PoolsplitError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from poolsplit.engines.boot_report import BootReport, ReadAnswer

_DOCUMENT_HEAD_BYTES = 64
_MOST_SCRIPT_BYTES = 1 << 20
_NOT_COMPARED = frozenset(
    {"host", "port", "log_level", "random_seed", "served_model_name", "nccl_port", "dist_init_addr"}
)
"""Fields that say where a server listens or how it is called."""
_NO_MODEL = "no model, card or memory is known: name a log with them, or --gpu"


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One of the two."""

    kind: str
    values: Mapping[str, Any]
    env: Mapping[str, str] | None = None
    """Environment variables of a launch command; None where nothing shows them."""
    warnings: tuple[str, ...] = ()
    outcome: Outcome
    deployment: SglangDeployment | None = None
    version: str | None = None
    reason: str = ""
    """Why it cannot be solved again."""


def difference_of(texts: tuple[str, str], request: LaunchRequest, read: Callable[[str], ReadAnswer]) -> Difference:
    """Compares two sides.

    Args:
        texts: Each a log file, a plan document or a launch command.
        request: Card and memory, for launch commands.
        read: Reads a log.

    Raises:
        InputError: One of them is none of these.
    """
    a, b = (_side(text, request, read) for text in texts)
    if a.deployment is None and b.deployment is not None and a.kind == "launch":
        a = _borrowing(a, b.deployment)
    base = a.deployment
    silent = next((side.kind for side in (a, b) if not side.values), None)
    changes = () if silent else tuple(_changes(a, b, base))
    return Difference(
        kinds=(a.kind, b.kind),
        a=a.outcome,
        b=b.outcome,
        changes=changes,
        explains_requests=_strongest(changes, a.outcome.requests, b.outcome.requests, "effect_requests"),
        explains_tokens=_strongest(changes, a.outcome.kv_tokens, b.outcome.kv_tokens, "effect_tokens"),
        engine={"name": "sglang", "version": a.version},
        warnings=tuple(_warnings(a, b, silent, changes)),
    )


def _warnings(a: Side, b: Side, silent: str | None, changes: tuple[Change, ...]) -> Iterator[str]:
    if silent:
        yield f"one {silent} shows no flags: only what the two grant is compared"
    yield from dict.fromkeys((*a.warnings, *b.warnings))
    if a.deployment is None and changes:
        yield f"effects are not known: {a.reason}"


def _side(text: str, request: LaunchRequest, read: Callable[[str], ReadAnswer]) -> Side:
    path = Path(text)
    if text != "-" and not _is_file(path):
        return _launch_side(text, request)
    if text != "-" and path.read_bytes()[:_DOCUMENT_HEAD_BYTES].lstrip().startswith(b"{"):
        return _plan_side(path)
    boot = read(text).report.last
    if boot is not None and boot.engine == "sglang" and (boot.pool_ranks or boot.cap or boot.errors or boot.runtime):
        return _log_side(boot, request)
    return _script_side(text, boot, request)


def _script_side(name: str, boot: BootReport | None, request: LaunchRequest) -> Side:
    """A file that is no log may hold a launch command, as scripts do."""
    hint = "name a log of a start, a plan document, or quote a launch command"
    if boot is not None and boot.foreign is not None:
        raise InputError(f"this is a log of {boot.foreign.engine}; only SGLang is compared", hint=hint, where=name)
    if name != "-" and Path(name).is_file():
        with Path(name).open("rb") as script:
            text = script.read(_MOST_SCRIPT_BYTES).decode("utf-8", errors="replace")
        with suppress(UsageError):
            parse_launch(text, switches_for(request.release).version)
            return _launch_side(text, request)
    raise InputError("there is no start of SGLang, no plan and no launch command in it", hint=hint, where=name)


def _is_file(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:
        return False


def _launch_side(text: str, request: LaunchRequest) -> Side:
    try:
        launch = parse_launch(text, switches_for(request.release).version)
    except UsageError as error:
        raise InputError(
            f"`{text[:60]}` is no file and no launch command: {error.message}",
            hint="name a log, a plan document, or quote a launch command",
        ) from None
    try:
        opened = open_launch(request, launch)
        memory = find_memory(request, opened)
    except PoolsplitError as error:
        return Side(
            kind="launch",
            values=launch.values,
            env=launch.env,
            warnings=launch.warnings,
            outcome=Outcome(origin=str(error)),
            reason=str(error),
            version=launch.release,
        )
    deployment = SglangDeployment(
        shape=opened.shape,
        flags=opened.flags,
        device=opened.device,
        memory=memory.free,
        switches=opened.switches,
        draft=opened.draft,
        launch=opened.launch,
    )
    return Side(
        kind="launch",
        values=launch.values,
        env=launch.env,
        warnings=launch.warnings,
        outcome=_solved(deployment, {}),
        deployment=deployment,
        version=opened.switches.version,
    )


def _log_side(boot: BootReport, request: LaunchRequest) -> Side:
    values = launch_values_of(boot.launch) if boot.launch else {}
    slots = [rank.state.state_slots for rank in boot.pool_ranks if rank.state and rank.state.state_slots is not None]
    tokens = [rank.kv_tokens for rank in boot.pool_ranks if rank.kv_tokens is not None]
    outcome = Outcome(
        state_slots=min(slots, default=boot.cap.state_slots if boot.cap else None),
        kv_tokens=min(tokens, default=None),
        requests=boot.granted_running_requests,
        slots_per_request=boot.slots_per_request,
        binding=boot.binding,
        origin="log",
    )
    try:
        launch = launch_of(boot, named_device(request.gpu) if request.gpu else None)
        deployment, version = deployment_of_log(boot, launch)
    except (NothingToPredictError, PoolsplitError) as error:
        return Side(kind="log", values=values, outcome=outcome, reason=str(error), version=boot.version)
    return Side(kind="log", values=values, outcome=outcome, deployment=deployment, version=version)


def _plan_side(path: Path) -> Side:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise InputError(f"the document is damaged: {error}", where=str(path), hint="write it again") from None
    figures = document.get("recommended") or document.get("current")
    if not isinstance(figures, dict):
        raise InputError("the document is no plan", where=str(path), hint="write one with `poolsplit plan --json`")
    outcome = Outcome(
        state_slots=figures.get("state_slots"),
        kv_tokens=figures.get("kv_tokens"),
        requests=figures.get("max_running_requests"),
        slots_per_request=(document.get("constants") or {}).get("slots_per_request"),
        binding=figures.get("binding"),
        origin="plan",
    )
    try:
        values: Mapping[str, Any] = parse_launch(document.get("launch_command") or "").values
    except UsageError:
        values = {}
    version = (document.get("engine") or {}).get("version")
    return Side(
        kind="plan", values=values, outcome=outcome, version=version, reason="a plan document is not solved again"
    )


def _borrowing(side: Side, other: SglangDeployment) -> Side:
    """A launch without a card, solved under the other side's card and memory."""
    from poolsplit.engines.sglang.command.launch import flags_of_values

    deployment = replace(other, flags=flags_of_values(side.values, side.env or {}), launch=None)
    return replace(side, deployment=deployment, outcome=_solved(deployment, {}), version=other.switches.version)


def _solved(deployment: SglangDeployment, changes: Mapping[str, Any]) -> Outcome:
    try:
        pools = deployment.solve(changes).pools
    except PoolsplitError as error:
        return Outcome(origin=f"refused: {error}")
    return Outcome(
        state_slots=pools.state_slots,
        kv_tokens=pools.kv_tokens,
        requests=pools.max_running_requests,
        slots_per_request=pools.slots_per_request,
        origin="resolved",
    )


def _changes(a: Side, b: Side, base: SglangDeployment | None) -> Iterator[Change]:
    now = _solved(base, {}) if base is not None else None
    for name in sorted({*a.values, *b.values} - _NOT_COMPARED):
        mine, theirs = a.values.get(name), b.values.get(name)
        if mine != theirs:
            yield _change(name, (mine, theirs), base, now)
    if a.env is not None and b.env is not None:
        yield from _env_changes(a.env, b.env, base, now)
    if a.version and b.version and a.version != b.version:
        alone = replace(base, switches=switches_for(b.version), _resolved={}) if base and b.deployment else None
        yield _with_effect("engine_version", (a.version, b.version), now, _solved(alone, {}) if alone else None)
    if base is not None and b.deployment is not None and base.memory != b.deployment.memory:
        alone = replace(base, memory=b.deployment.memory)
        yield _with_effect("free_memory", (_memory(base), _memory(b.deployment)), now, _solved(alone, {}))


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
            then = _solved(replace(base, flags=replace(base.flags, env=env), _resolved={}), {})
        yield _with_effect(name, values, now, then)


def _change(name: str, values: tuple[Any, Any], base: SglangDeployment | None, now: Outcome | None) -> Change:
    if name in ("model_path", "speculative_draft_model_path"):
        return Change(
            field=name, a=values[0], b=values[1], effect_requests=None, effect_tokens=None, reason="another checkpoint"
        )
    if name not in FLAG_NAMES:
        return Change(
            field=name, a=values[0], b=values[1], effect_requests=0, effect_tokens=0, reason="does not reach the pools"
        )
    return _with_effect(name, values, now, _solved(base, {name: values[1]}) if base is not None else None)


def _with_effect(name: str, values: tuple[Any, Any], now: Outcome | None, then: Outcome | None) -> Change:
    if now is None or then is None:
        return Change(field=name, a=values[0], b=values[1], effect_requests=None, effect_tokens=None, reason=_NO_MODEL)
    if now.requests is None or then.requests is None or now.kv_tokens is None or then.kv_tokens is None:
        reason = then.origin if then.requests is None else now.origin
        return Change(field=name, a=values[0], b=values[1], effect_requests=None, effect_tokens=None, reason=reason)
    return Change(
        field=name,
        a=values[0],
        b=values[1],
        effect_requests=then.requests - now.requests,
        effect_tokens=then.kv_tokens - now.kv_tokens,
        reason="solved again with this change alone",
    )


def _memory(deployment: SglangDeployment) -> str:
    memory = deployment.memory
    if callable(memory):
        return "not told"
    after = ", ".join(f"{gib:.2f}" for gib in memory.after_gib)
    return f"{memory.before_gib:.2f} GiB before, {after} GiB after the weights"


def _strongest(changes: tuple[Change, ...], a: int | None, b: int | None, effect: str) -> str | None:
    """The change whose effect alone comes nearest to the whole difference; None where no change has its sign."""
    if a is None or b is None or a == b:
        return None
    difference = b - a
    same_way = [change for change in changes if (getattr(change, effect) or 0) * difference > 0]
    nearest = min(same_way, key=lambda change: abs(difference - getattr(change, effect)), default=None)
    return nearest.field if nearest else None
