"""Workloads from JSON: what is refused, and what is left out means."""

import pytest

from poolsplit.errors import InputError, TraceFormatError
from poolsplit.replay.golden_form import read_workload
from replay_cases import RULES

ROW = {
    "config": {"kv_tokens": 1024, "state_slots": 20, "strategy": "no_buffer"},
    "mode": "sequential",
    "requests": [{"id": 0, "runs": [[1, 10]], "out_runs": [[50, 2]]}],
}


def test_what_is_left_out():
    config, workload = read_workload(ROW, RULES)
    assert (config.overlap, config.max_states_per_path, config.eviction) == (False, None, "lru")
    assert (workload.requests[0].stops, workload.requests[0].arrival_step) == (False, 0)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"config": {**ROW["config"], "kv_pages": 3}}, InputError, "kv_pages"),
        ({"requests": [{"id": 0, "runs": [[1, 10]]}]}, TraceFormatError, "out_runs"),
        ({"requests": [{"id": 0, "runs": 7, "out_runs": [[1, 1]]}]}, TraceFormatError, "another type"),
        ({"requests": [{"id": 0, "runs": [], "out_runs": [[1, 1]]}]}, InputError, "no input"),
        ({"mode": "parallel"}, InputError, "mode"),
    ],
)
def test_rows_that_are_no_workload(change, error, message):
    with pytest.raises(error, match=message):
        read_workload({**ROW, **change}, RULES)
