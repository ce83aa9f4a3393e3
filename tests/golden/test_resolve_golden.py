"""Every recorded answer of the real start-up, of eight releases, comes out the same: answers, refusals and figures."""

import gzip
import json

import pytest

from resolve_answers import answers, disagreement, read_lines
from support import GOLDEN, SHARED

COMMITTED = read_lines(GOLDEN / "resolve_cases.jsonl.gz")
HARD = read_lines(GOLDEN / "resolve_hard_cases.jsonl.gz")
"""Rare corners, two releases: narrow KV dtypes, context ranks, given partitions, windowed models, fused drafts."""
RELEASES = [f"0.5.{number}" for number in range(16, 24)]
WHOLE = sorted((SHARED / "golden" / "solver").glob("golden*.jsonl.gz"))


def disagreements(rows, models):
    pairs = zip(rows, answers(rows, models), strict=True)
    found = [(row["case"]["id"], disagreement(row["result"], have)) for row, have in pairs]
    return [item for item in found if item[1] is not None]


@pytest.mark.parametrize("release", RELEASES)
def test_committed_cases_of_each_release(release):
    models = json.loads(gzip.decompress((GOLDEN / "resolve_models.json.gz").read_bytes()))
    rows = [row for row in COMMITTED if row["case"]["engine_version"] == release]
    assert len(rows) > 100
    assert disagreements(rows, models) == []


@pytest.mark.parametrize("release", ["0.5.20", "0.5.22", "0.5.23"])
def test_rare_corners(release):
    models = json.loads(gzip.decompress((GOLDEN / "resolve_models.json.gz").read_bytes()))
    rows = [row for row in HARD if row["case"]["engine_version"] == release]
    assert len(rows) > 100
    assert disagreements(rows, models) == []


def test_committed_cases_hold_every_refusal_of_the_solver():
    reasons = {row["result"].get("reason") for row in COMMITTED}
    assert reasons >= {
        "state_pool_empty",
        "no_memory_for_kv",
        "below_one_request",
        "kv_pool_empty",
        "lazy_needs_overlap",
        "swa_pool_below_one_request",
        "swa_cap_leaves_no_kv",
        "stage_without_attention",
        "pp_with_mtp",
    }


@pytest.mark.skipif(not WHOLE, reason="needs the golden answers beside the project")
@pytest.mark.parametrize("path", WHOLE, ids=lambda path: path.name)
def test_all_recorded_cases(path, shared):
    folder = shared / "golden" / "solver" / "models"
    models = {file.stem: json.loads(file.read_text()) for file in folder.glob("*.json")}
    rows = read_lines(path)
    assert len(rows) >= 428
    assert disagreements(rows, models) == []
