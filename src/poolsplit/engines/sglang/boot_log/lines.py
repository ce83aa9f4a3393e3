"""One record to the facts that it carries: every known form, tried in turn."""

from __future__ import annotations

from typing import TYPE_CHECKING

from poolsplit.engines.boot_facts import Launch
from poolsplit.engines.sglang.boot_log import (
    batch_forms,
    crash_forms,
    launch_forms,
    limit_forms,
    memory_forms,
    pool_forms,
)
from poolsplit.engines.sglang.boot_log.release_forms import argument_hints, line_hints

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from poolsplit.engines.boot_facts import Fact
    from poolsplit.engines.sglang.boot_log.records import Record

_FORMS: tuple[Callable[[Record], Fact | None], ...] = (
    batch_forms.batch,
    batch_forms.retraction,
    launch_forms.arguments,
    launch_forms.command,
    pool_forms.unified_pool,
    limit_forms.request_cap,
    limit_forms.kv_reduction,
    limit_forms.refusal,
    limit_forms.run_time_error,
    limit_forms.decode_pool_raised,
    crash_forms.collective_timeout,
    crash_forms.watchdog_timeout,
    crash_forms.reported_exception,
    crash_forms.dead_process,
    pool_forms.state_pool,
    pool_forms.kv_pool,
    pool_forms.ring_buffers,
    pool_forms.checkpoint_pool,
    pool_forms.host_kv,
    pool_forms.host_state,
    pool_forms.window_pool,
    pool_forms.elastic_pool,
    memory_forms.load_begin,
    memory_forms.weight_load,
    memory_forms.pool_end,
    memory_forms.baseline,
    memory_forms.graph_capture,
    memory_forms.image_reserve,
    memory_forms.summary,
    memory_forms.mark,
)


def facts(record: Record) -> Iterator[Fact]:
    """The main fact of a record, if it has one, and what it tells about the release."""
    for form in _FORMS:
        fact = form(record)
        if fact is not None:
            yield fact
            if isinstance(fact, Launch):
                yield from argument_hints(fact)
            break
    yield from line_hints(record)
