"""Plug-in of SGLang: sets the planned split inside a starting server, and logs predicted against resolved.

Idle unless the variable POOLSPLIT_PLAN names a plan. A flag of the launch wins over the plan. Any error of its own is
one log line, and the engine goes on as if the plug-in were not there.

The split is set where the state pool is sized, in the scheduler's process: that is the one place that every way of
starting a server passes, and the launch's own flags are still told apart from resolved ones there.

Source: plug-in loader, hooks and pool sizing of release 0.5.23; `tests/differential/test_plugin.py` runs all three.
"""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from poolsplit.live.expected import PlannedSplit

PLAN_VARIABLE = "POOLSPLIT_PLAN"
OVERRIDE_SOURCE = "poolsplit.plan"

_CONFIGURATOR = "sglang.srt.mem_cache.kv_cache_configurator.KVCacheConfigurator"
SIZE_STATE_POOL = f"{_CONFIGURATOR}._handle_max_mamba_cache"
SIZE_BOTH_POOLS = f"{_CONFIGURATOR}._resolve_memory_pool_config"

_log = logging.getLogger("poolsplit")


def register() -> None:
    """Entry point: hooks the sizing of the pools when a plan is named."""
    path = os.environ.get(PLAN_VARIABLE)
    if not path:
        return
    try:
        from poolsplit import api

        hooks = Hooks(api.planned_split(path))
        _hook(hooks)
    except Exception as error:  # noqa: BLE001 - a server must start whatever happens here
        _leave_alone(error)


def _hook(hooks: Hooks) -> None:
    from pkgutil import resolve_name

    from sglang.srt.plugins.hook_registry import HookRegistry, HookType

    for target in (SIZE_STATE_POOL, SIZE_BOTH_POOLS):
        resolve_name(target)  # a release without it is told here, in one line
    HookRegistry.register(SIZE_STATE_POOL, hooks.size_state_pool, HookType.AROUND)
    HookRegistry.register(SIZE_BOTH_POOLS, hooks.size_both_pools, HookType.AFTER)


def _leave_alone(error: Exception) -> None:
    text = " ".join(f"{type(error).__name__}: {error}".split())
    _log.error("poolsplit: the plan is not used, the engine decides: %s", text)


class Hooks:
    """What runs inside the engine's own sizing.

    Args:
        split: The planned split.
    """

    def __init__(self, split: PlannedSplit) -> None:
        self._split = split
        self._used = False

    def size_state_pool(self, original: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Around the sizing of the state pool: sets the split first, unless the launch did."""
        try:
            self._used = self._set_split(args[0])
        except Exception as error:  # noqa: BLE001 - a server must start whatever happens here
            _leave_alone(error)
        return original(*args, **kwargs)

    def size_both_pools(self, result: Any, *args: Any, **_kwargs: Any) -> None:
        """After both pools are sized: one line of predicted against resolved."""
        if not self._used:
            return
        try:
            self._compare(args[0], result)
        except Exception as error:  # noqa: BLE001 - a server must start whatever happens here
            _leave_alone(error)

    def _set_split(self, configurator: Any) -> bool:
        from sglang.srt.runtime_context import get_context

        given = given_flag(configurator.server_args)
        if given is not None:
            _log.info("poolsplit: the launch sets --%s, so the plan is not used", given.replace("_", "-"))
            return False
        other = self._other_model(configurator)
        if other is not None:
            _log.error("poolsplit: the plan is not used, the engine decides: %s", other)
            return False
        name, value = self._setting()
        get_context().override(OVERRIDE_SOURCE, **{name: value})
        _log.info("poolsplit: %s set to %s by the plan", name, value)
        return True

    def _setting(self) -> tuple[str, float | int]:
        if self._split.state_to_kv_ratio is not None:
            return "mamba_full_memory_ratio", self._split.state_to_kv_ratio
        return "max_mamba_cache_size", self._split.max_state_slots or 0

    def _other_model(self, configurator: Any) -> str | None:
        """Why the plan is not for this model and layout, by the bytes of a slot; pipeline stages are not compared."""
        planned = self._split.state_bytes_per_slot
        if planned is None or configurator.pp_size > 1 or configurator.fused_entry_bytes("mamba") is not None:
            return None
        slot = int(configurator.mambaish_config.mamba2_cache_params.mamba_cache_per_req)
        if slot == planned:
            return None
        return f"it is for {planned} bytes a state slot, this model and layout have {slot}"

    def _compare(self, configurator: Any, result: Any) -> None:
        from sglang.srt.runtime_context import get_schedule

        tokens = configurator.logical_token_capacity(max_total_num_tokens=result.max_total_num_tokens)
        resolved = (get_schedule().max_mamba_cache_size, tokens, result.max_running_requests)
        predicted = (self._split.state_slots, self._split.kv_tokens, self._split.max_running_requests)
        _log.info(
            "poolsplit: predicted %s state slots, %s KV tokens, %s running requests; resolved %s, %s, %s",
            *(_figure(value) for value in (*predicted, *resolved)),
        )


def given_flag(server_args: Any) -> str | None:
    """The flag of the split that the launch itself gave, by the engine's field name."""
    for name in ("max_mamba_cache_size", "mamba_full_memory_ratio"):
        if getattr(server_args, name) is not None:
            return name
    return None


def _figure(value: int | None) -> str:
    return "-" if value is None else f"{value:,}"
