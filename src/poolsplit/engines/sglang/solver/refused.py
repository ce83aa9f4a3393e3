"""The solver's refusals: the figures of each, and the stage at which it is met."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from poolsplit.engines.sglang.refusals import refuse
from poolsplit.errors import LaunchRefusedError
from poolsplit.units import MIB

if TYPE_CHECKING:
    from poolsplit.errors import IndivisibleError

_STEPS_PER_UNIT = 1000
"""The engine advises a fraction rounded up to three decimals."""


def at_stage(reason: str, pp_rank: int, **figures: float) -> LaunchRefusedError:
    """A refusal met while sizing one pipeline rank."""
    return refuse(reason, stage=f"solver[pp_rank={pp_rank}]", figures=figures)


def state_pool_empty(slots: int, rest_gib: float, slot_bytes: int, pp_rank: int) -> LaunchRefusedError:
    """No state slot fits."""
    return at_stage(
        "state_pool_empty", pp_rank, max_mamba_cache_size=slots, rest_gib=rest_gib, slot_mib=slot_bytes / MIB
    )


def no_memory_for_kv(available_gib: float, before_gib: float, fraction: float, pp_rank: int) -> LaunchRefusedError:
    """Nothing is left for KV rows once weights, slack and state are taken."""
    minimum = 1 - available_gib / before_gib
    raise_above = math.ceil(minimum * _STEPS_PER_UNIT) / _STEPS_PER_UNIT
    return at_stage("no_memory_for_kv", pp_rank, mem_fraction_static=fraction, raise_above=raise_above, minimum=minimum)


def state_not_dividing(error: IndivisibleError) -> LaunchRefusedError:
    """The ranks cannot share the state of a layer. The engine stops at a failed assertion."""
    figures = {"count": error.count, "width": error.width}
    return refuse("state_not_dividing", stage="solver[pp_rank=0]", figures=figures, what=error.what)


def context_ranks_above_attention(context_ranks: int, attention_ranks: int) -> LaunchRefusedError:
    """Heads are shared by no rank. The engine stops at the division that also meets a stage without attention."""
    return LaunchRefusedError(
        f"{context_ranks} context ranks do not fit the {attention_ranks} ranks that share one attention replica",
        stage="solver[pp_rank=0]",
        reason="stage_without_attention",
        hint="set `--dcp-size` to a divisor of the ranks of one replica",
    )
