"""Fuzzes the log reader with coverage guidance: no crash, no hang, bounded memory.

    python -m pip install atheris
    python scripts/fuzz_logs.py [CORPUS_FOLDER] -max_total_time=300 -timeout=10 -rss_limit_mb=1024

Start it from the log fragments (`tests/golden/bootlogs`) for lines that already mean something.
"""

import io
import sys

import atheris

with atheris.instrument_imports(include=["poolsplit.engines", "poolsplit.report"]):
    from poolsplit.engines import other_engines
    from poolsplit.engines.boot_report import ReadAnswer
    from poolsplit.engines.sglang.boot_log import report_of
    from poolsplit.engines.sglang.boot_log.findings import findings_of
    from poolsplit.engines.sglang.boot_log.scan import Scanner
    from poolsplit.report.read_document import read_document
    from poolsplit.report.read_screen import read_screen


def read_one(data: bytes) -> None:
    """One input through the reader, the findings, the document and the screen."""
    scan = Scanner("log", other_engines.FORMS).run(io.BytesIO(data))
    report = report_of([scan])
    answer = ReadAnswer(report=report, findings=findings_of(report.last) if report.last else ())
    read_document(answer, ["log"])
    read_screen(answer)


if __name__ == "__main__":
    atheris.Setup(sys.argv, read_one)
    atheris.Fuzz()
