"""The host tier of one server as it is asked for: how much of both pools it keeps, and what it copies when."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from poolsplit.errors import InputError

WritePolicy = Literal["write_through", "write_through_selective", "write_back"]
WRITE_POLICIES: tuple[WritePolicy, ...] = ("write_through", "write_through_selective", "write_back")
MOST = 1 << 60
SELECTIVE_HITS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class HostPools:
    """Sizes and write policy of the host tier; copies end before the next iteration of the scheduler.

    Source: docs/replay.md section 10.

    Known error:
        A copy's time: on a slow link a node stays locked for longer than one iteration.
    """

    kv_tokens: int
    """KV rows kept on the host."""
    state_slots: int
    """States kept on the host."""
    write_policy: WritePolicy = "write_through"
    """Copied when inserted, when met a second time, or when evicted."""

    def __post_init__(self) -> None:
        if self.write_policy not in WRITE_POLICIES:
            raise InputError(
                f"the write policy `{self.write_policy}` cannot be replayed",
                hint=f"known are {', '.join(WRITE_POLICIES)}",
            )
        for name in ("kv_tokens", "state_slots"):
            if not 0 < getattr(self, name) <= MOST:
                raise InputError(
                    f"`{name}` of the host tier is {getattr(self, name)}", hint=f"it must be from 1 to {MOST}"
                )

    @property
    def writes_back(self) -> bool:
        """Nothing is copied before it is evicted, and hits are not counted."""
        return self.write_policy == "write_back"

    @property
    def hits_before_copy(self) -> int:
        """Hits at which an insert copies a node."""
        return SELECTIVE_HITS if self.write_policy == "write_through_selective" else 1
