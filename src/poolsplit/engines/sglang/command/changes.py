"""The flags of the split, and how changes of a launch are written on its command line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from poolsplit.engines.sglang.command.edit import flag_words, with_changes
from poolsplit.engines.sglang.command.flag_table import spelling_of

if TYPE_CHECKING:
    from poolsplit.engines.engine import Changes
    from poolsplit.engines.sglang.command.launch import LaunchCommand
    from poolsplit.engines.sglang.versions import Switches
    from poolsplit.errors import LaunchRefusedError

RATIO = "mamba_full_memory_ratio"
PIN = "max_mamba_cache_size"
REQUESTS = "max_running_requests"
_KV_SHORT = frozenset({"no_memory_for_kv", "kv_pool_empty", "swa_pool_below_one_request", "swa_cap_leaves_no_kv"})


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class WrittenLaunch:
    """A launch of one release, and the command that it was read from: the part of a deployment that needs no solver."""

    switches: Switches
    launch: LaunchCommand | None = None
    """Where the flags came from, to write the command back."""

    def ratio_changes(self, ratio: float) -> Changes:
        """Flags that set the split by ratio."""
        return {RATIO: ratio, PIN: None}

    def pin_changes(self, slots: int) -> Changes:
        """Flags that set the state slots outright, over all workers."""
        return {RATIO: None, PIN: slots}

    def request_cap_changes(self, requests: int) -> Changes:
        """Flags that ask for this many running requests, over all workers."""
        return {REQUESTS: requests}

    def lacks_state(self, refused: LaunchRefusedError) -> bool | None:
        """Whether a refusal says that the state pool is too small (True) or the KV pool (False); None: neither."""
        if refused.reason == "below_one_request":
            return refused.figures["max_mamba_cache_size"] < refused.figures["slots_per_request"]
        if refused.reason == "state_pool_empty":
            return True
        return False if refused.reason in _KV_SHORT else None

    def flag_words(self, changes: Changes) -> tuple[str, ...]:
        """The changes as words of the command line, one flag with its value a word."""
        words = [
            f"{name}={value}" if is_variable(name) else " ".join(flag_words(name, value, self.switches.version))
            for name, value in changes.items()
            if value is not None
        ]
        return tuple(word for word in words if word)

    def removed_words(self, changes: Changes) -> tuple[str, ...]:
        """Flags that the changes take away from the launch."""
        given = self.launch.values if self.launch is not None else {}
        return tuple(
            spelling_of(name, self.switches.version) for name in changes if changes[name] is None and name in given
        )

    def command(self, changes: Changes) -> str:
        """The launch command with only these changes made; empty where there is none to write."""
        if self.launch is None:
            return ""
        fields = {name: value for name, value in changes.items() if not is_variable(name)}
        given = self.launch.values
        fields = {name: value for name, value in fields.items() if value is not None or name in given}
        variables = {name: str(value) for name, value in changes.items() if is_variable(name)}
        return with_changes(self.launch, fields, variables)


def is_variable(name: str) -> bool:
    """Whether a change is an environment variable and not a flag."""
    return name.isupper()
