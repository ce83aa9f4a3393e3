"""`poolsplit watch`: is the live server where the plan said, and what to change at the next restart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from cyclopts import Parameter

from poolsplit.cli.options import OutputOptions, ServerOptions


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class PaceOptions:
    """When to look."""

    interval: str = "10s"
    """Time between two looks."""
    once: Annotated[bool, Parameter(negative="")] = False
    """One look, then stop; counters then cover the time since the server started."""
    looks: int | None = None
    """Stop after so many looks."""
    window: str = "5m"
    """Time that findings look back."""


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeOptions:
    """What the measured figures are held against."""

    plan: str | None = None
    """What was predicted: the JSON of `poolsplit plan`. Without it, what follows from the server's own start-up."""
    check: Annotated[bool, Parameter(negative="")] = False
    """Exit with 1 when a figure is not as predicted."""
    max_error: float | None = None
    """Allowed distance of sizes and running requests from the prediction, such as 0.05."""
    reuse_limit: float | None = None
    """Share of prompt tokens that repeat in the traffic, as `poolsplit trace info` finds it."""


def watch(
    *targets: str,
    pace: PaceOptions = PaceOptions(),
    judge: JudgeOptions = JudgeOptions(),
    record: str | None = None,
    live: Annotated[bool, Parameter(negative="")] = False,
    server: ServerOptions = ServerOptions(),  # noqa: B008  frozen
    out: OutputOptions = OutputOptions(),  # noqa: B008  frozen
) -> int:
    """Whether the live server is where the plan said, and what to change.

    Args:
        targets: Servers' addresses, such as `http://host:30000`, or one recorded session.
        pace: When to look.
        judge: What the measured figures are held against.
        record: Write every look to this file, to be watched and planned from later.
        live: Draw both pools of every rank instead of printing lines.
        server: How to reach the servers.
        out: Where the answer goes; with `--json`, one object a line.
    """
    from poolsplit import api
    from poolsplit.cli.watch_output import print_ticks

    reach = api.server_connection(token_file=server.token_file, ca_file=server.ca_file, timeout=server.timeout)
    ticks = api.watch(
        targets,
        interval=pace.interval,
        looks=1 if pace.once else pace.looks,
        window=pace.window,
        plan=judge.plan,
        max_error=judge.max_error,
        reuse_limit=judge.reuse_limit,
        record=record,
        connection=reach,
    )
    return print_ticks(ticks, out=out, live=live, check=judge.check)
