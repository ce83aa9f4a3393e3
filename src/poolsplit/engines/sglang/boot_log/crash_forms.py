"""The lines of a server that stopped for another reason than its sizes: exceptions, hangs and dead processes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from poolsplit.engines.sglang.boot_log.limit_forms import FLOAT, engine_error

if TYPE_CHECKING:
    from poolsplit.engines.boot_facts import Fact
    from poolsplit.engines.sglang.boot_log.records import Record

_REPORTED = re.compile(r"hitanexception:|Processgroupwatchdogthreadterminatedwithexception")
_COLLECTIVE = re.compile(r"Watchdogcaughtcollectiveoperationtimeout")
_TIMEOUT_MS = re.compile(r"Timeout\(ms\)=(\d{1,15})")
_WATCHDOG = re.compile(r"[Ww]atchdogtimeout\(self\.watchdog_timeout=" + FLOAT)
_SOFT = "self.soft=True"
_DEAD = (
    re.compile(r"Subprocess\S{1,80}crashedwithexitcode" + FLOAT),
    re.compile(r"schedulerdiedduringinitialization\(exitcode:" + FLOAT),
)


def collective_timeout(record: Record) -> Fact | None:
    """`Watchdog caught collective operation timeout: WorkNCCL(..., Timeout(ms)=T) ran for ...`."""
    if not _COLLECTIVE.search(record.squeezed):
        return None
    match = _TIMEOUT_MS.search(record.squeezed)
    return engine_error("collective_timeout", record, {"timeout_s": int(match[1]) / 1000} if match else {})


def watchdog_timeout(record: Record) -> Fact | None:
    """`Scheduler watchdog timeout (self.watchdog_timeout=T, self.soft=B)`; the soft one only tells."""
    match = _WATCHDOG.search(record.squeezed)
    if not match:
        return None
    soft = _SOFT in record.squeezed
    return engine_error("watchdog_timeout", record, {"timeout_s": float(match[1])}, fatal=not soft)


def reported_exception(record: Record) -> Fact | None:
    """`Scheduler hit an exception: Traceback ...`, of any of the server's processes, with what was raised."""
    return engine_error("process_exception", record, {}) if _REPORTED.search(record.squeezed) else None


def dead_process(record: Record) -> Fact | None:
    """`Subprocess N (pid=P) crashed with exit code C. ...`, or a scheduler that died while it started."""
    for pattern in _DEAD:
        match = pattern.search(record.squeezed)
        if match:
            return engine_error("process_died", record, {"exit_code": int(float(match[1]))})
    return None
