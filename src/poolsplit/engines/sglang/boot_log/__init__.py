"""Boot logs of SGLang: any number of files to one report of every start that they hold."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from poolsplit.engines.boot_report import BootReport, LogReport
from poolsplit.engines.sglang.boot_log.assemble import assemble
from poolsplit.engines.sglang.boot_log.missing import missing_fields
from poolsplit.engines.sglang.boot_log.segment import join_files
from poolsplit.engines.sglang.boot_log.servers import refuse_several_servers
from poolsplit.engines.sglang.boot_log.sources import expand
from poolsplit.engines.sglang.boot_log.stretches import scan_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from poolsplit.engines.boot_facts import Fact, Launch
    from poolsplit.engines.sglang.boot_log.scan import FileScan

__all__ = ["read_files", "report_of"]


def read_files(
    names: Sequence[str],
    *,
    other_forms: Iterable[Callable[[str], Fact | None]] = (),
    extra_launch: Launch | None = None,
    progress: Callable[[int], None] | None = None,
) -> LogReport:
    """Reads logs from files, gzip files, folders or `-`.

    Args:
        names: What to read, in order of time.
        other_forms: Forms of other engines, tried on lines that are not ours.
        extra_launch: Flags that the user names beside the log.
        progress: Called with the bytes of each part read.

    Raises:
        InputError: A file cannot be read, or the files are of several servers.
    """
    forms = tuple(other_forms)
    scans = [scan_file(name, forms, progress) for name in expand(names)]
    refuse_several_servers(scans)
    return report_of(scans, extra_launch)


def report_of(scans: Sequence[FileScan], extra_launch: Launch | None = None) -> LogReport:
    """The starts in scanned files, oldest first, each with what its lines leave out; a text without any is one too."""
    boots = [assemble(segment, extra_launch) for segment in join_files(scans)]
    if not boots:
        boots.append(BootReport(kind="not_a_boot", engine=None, files=tuple(scan.name for scan in scans)))
    dropped = sum(scan.dropped_events for scan in scans)
    warnings = (f"{dropped} lines of further starts were left out",) if dropped else ()
    return LogReport(boots=tuple(replace(boot, missing=missing_fields(boot)) for boot in boots), warnings=warnings)
