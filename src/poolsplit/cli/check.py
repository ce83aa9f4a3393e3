"""`poolsplit check`: a gate for deployments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from cyclopts import Parameter

from poolsplit.cli.options import OutputOptions, ServerOptions
from poolsplit.cli.output import emit


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class ConditionOptions:
    """What must hold; without any, sizes must be within 0.02 of their predictions."""

    min_requests: int | None = None
    """Requests that must be able to run at once, over all workers."""
    min_cached_fraction: float | None = None
    """Share of prompt tokens that must come from the cache."""
    max_error: float | None = None
    """Largest share that a size may be off its prediction (0.02 without a condition); of a plan, of its bytes."""
    split: Literal["recommended", "current"] = "recommended"
    """Which split of a plan is judged: the one that it recommends, or its launch as it stands."""


def check(
    target: str,
    /,
    *,
    conditions: ConditionOptions = ConditionOptions(),
    plan: str | None = None,
    over: str | None = None,
    server: ServerOptions = ServerOptions(),  # noqa: B008  frozen
    out: OutputOptions = OutputOptions(),  # noqa: B008  frozen
) -> int:
    """Gate for deployments: exit 0 when every condition holds, 1 when one does not.

    Args:
        target: A server's address, a log, a recorded session, or a plan (`.json`).
        conditions: What must hold.
        plan: What was predicted: the JSON of `poolsplit plan`.
        over: Count reuse over this time, such as `60s`, instead of since the server started.
        server: How to reach the server.
        out: Where the answer goes.
    """
    from poolsplit import api
    from poolsplit.report.gate_text import gate_text

    document = api.check(
        target,
        plan=plan,
        over=over,
        connection=api.server_connection(token_file=server.token_file, ca_file=server.ca_file, timeout=server.timeout),
        min_requests=conditions.min_requests,
        min_cached_fraction=conditions.min_cached_fraction,
        max_error=conditions.max_error,
        split=conditions.split,
    )
    emit(out, document=document, text=gate_text(document, explain=out.explain), warnings=document["warnings"])
    return 0 if document["ok"] else 1
