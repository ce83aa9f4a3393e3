"""Every decision of the real cache and scheduler, field by field: a committed part, and the whole when it is there."""

import gzip
import json

import pytest

from poolsplit.replay.golden_form import read_workload
from poolsplit.replay.kernel.run import replay
from poolsplit.replay.reference.driver import replay_reference
from replay_cases import RULES, differences
from support import GOLDEN

WHOLE = ("golden", "golden-options", "golden-hard")


def rows(path):
    with gzip.open(path, "rt") as lines:
        return [json.loads(line) for line in lines]


COMMITTED = rows(GOLDEN / "replay_cases.jsonl.gz")


@pytest.mark.parametrize("row", COMMITTED, ids=lambda row: f"{row['file']}-{row['n']}")
def test_the_kernel_decides_as_the_engine(row):
    config, workload = read_workload(row, RULES)
    assert differences(row, replay(config, workload, notes_freed=True)) == []


@pytest.mark.parametrize("row", COMMITTED, ids=lambda row: f"{row['file']}-{row['n']}")
def test_the_reference_decides_as_the_engine(row):
    config, workload = read_workload(row, RULES)
    assert differences(row, replay_reference(config, workload)) == []


@pytest.mark.parametrize("name", WHOLE)
def test_every_workload_of_the_whole_file(shared, name):
    whole = rows(shared / "golden" / "cache" / f"{name}.jsonl.gz")
    bad = [row["n"] for row in whole if differences(row, replay(*read_workload(row, RULES), notes_freed=True))]
    assert bad == []
