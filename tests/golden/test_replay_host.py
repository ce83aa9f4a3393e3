"""Host tier and unified memory against the real cache: its tree, pools, allocation and scheduler.

The recorded side ran release 0.5.23 on a CPU. Copies between device and host were replaced by acknowledgements that are
ready in the next iteration; everything that decides was the engine's own.
"""

import gzip
import json

import pytest

from poolsplit.replay.golden_form import read_workload
from poolsplit.replay.kernel.run import replay
from poolsplit.replay.reference.driver import replay_reference
from replay_cases import RULES, differences
from support import GOLDEN


def rows(name):
    with gzip.open(GOLDEN / name, "rt") as lines:
        return [json.loads(line) for line in lines]


def label(row):
    return f"{row['config'].get('write_policy', 'unified')}-{row['config']['strategy']}-{row.get('file', '')}{row['n']}"


HOST, UNIFIED = rows("replay_host_cases.jsonl.gz"), rows("replay_unified_cases.jsonl.gz")
BOTH = pytest.mark.parametrize("decide", [replay, replay_reference])


@BOTH
@pytest.mark.parametrize("row", HOST, ids=label)
def test_every_field_with_a_host_tier_is_the_engines(row, decide):
    result = decide(*read_workload(row, RULES))
    assert differences(row, result) == []
    assert result.traffic.loaded_tokens == row["loaded_tokens"]


def test_the_committed_part_loads_from_the_host_under_every_policy():
    policies = {row["config"]["write_policy"] for row in HOST if row["loaded_tokens"]}
    assert policies == {"write_through", "write_through_selective", "write_back"}


@BOTH
@pytest.mark.parametrize("row", UNIFIED, ids=label)
def test_every_field_with_unified_memory_is_the_engines(row, decide):
    config, workload = read_workload(row, RULES)
    sizes = {"total_bytes": config.buffer.total_bytes, "state_ids": config.buffer.state_ids}
    assert sizes == row["buffer"]
    assert differences(row, decide(config, workload)) == []
