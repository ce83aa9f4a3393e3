"""The host tier against the real cache: its tree, components, allocation and scheduler, with copies that end at once.

The recorded side ran release 0.5.23 on a CPU: copies between device and host were replaced by acknowledgements that
are ready in the next iteration; everything that decides was the engine's own.
"""

import gzip
import json

import pytest

from poolsplit.replay.golden_form import read_workload, write_result
from poolsplit.replay.kernel.run import replay
from poolsplit.replay.reference.driver import replay_reference
from replay_cases import RULES
from support import GOLDEN

with gzip.open(GOLDEN / "replay_host_cases.jsonl.gz", "rt") as lines:
    ROWS = [json.loads(line) for line in lines]


def name(row):
    return f"{row['config']['write_policy']}-{row['config']['strategy']}-{row['file']}{row['n']}"


@pytest.mark.parametrize("decide", [replay, replay_reference])
@pytest.mark.parametrize("row", ROWS, ids=name)
def test_every_field_is_the_engines(row, decide):
    got = json.loads(json.dumps(write_result(decide(*read_workload(row, RULES)), want_freed=False)))
    fields = [
        (want["id"], field)
        for want, have in zip(row["expect"], got["expect"], strict=True)
        for field in want
        if have.get(field) != want[field]
    ]
    assert fields == []
    assert got["host"]["loaded_tokens"] == row["loaded_tokens"]


def test_the_committed_part_loads_from_the_host_under_every_policy():
    assert {row["config"]["write_policy"] for row in ROWS if row["loaded_tokens"]} == {
        "write_through",
        "write_through_selective",
        "write_back",
    }
