"""Reads a text as a log."""

import io

from poolsplit.engines import other_engines
from poolsplit.engines.sglang.boot_log import report_of
from poolsplit.engines.sglang.boot_log.findings import findings_of
from poolsplit.engines.sglang.boot_log.scan import Scanner


def read(*texts, launch=None):
    scans = [
        Scanner(f"file{number}", other_engines.FORMS).run(io.BytesIO(text.encode()))
        for number, text in enumerate(texts)
    ]
    return report_of(scans, launch)


def findings(text, launch=None):
    return {finding.id: finding for finding in findings_of(read(text, launch=launch).last)}
