"""What a log says about one start of a server, and about its running time.

Everything is as printed or follows from it; a field without a line is None, and the report lists it as missing.
"""

from poolsplit.engines.boot_report.boots import BootReport, ForeignReport, LogReport
from poolsplit.engines.boot_report.findings import Finding, Price, finding_document
from poolsplit.engines.boot_report.interval import Interval, total
from poolsplit.engines.boot_report.predictions import CatalogMatch, PredictedFigure, Prediction
from poolsplit.engines.boot_report.rank_report import LARGEST_PAGE_TOKENS, RankReport
from poolsplit.engines.boot_report.read_answer import ReadAnswer
from poolsplit.engines.boot_report.runtime_report import PeakMean, RuntimeReport

__all__ = [
    "LARGEST_PAGE_TOKENS",
    "BootReport",
    "CatalogMatch",
    "Finding",
    "ForeignReport",
    "Interval",
    "LogReport",
    "PeakMean",
    "PredictedFigure",
    "Prediction",
    "Price",
    "RankReport",
    "ReadAnswer",
    "RuntimeReport",
    "finding_document",
    "total",
]
