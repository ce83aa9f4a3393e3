"""Every guarantee of the internal form is seen when it is broken."""

from dataclasses import replace

import numpy as np
import pytest

from poolsplit.errors import InputError
from poolsplit.traces.checks import check
from poolsplit.traces.clocks import gaps
from poolsplit.traces.paths import Paths
from trace_samples import SAMPLES, WEKA_SESSION, jsonl, read, written


@pytest.fixture
def trace(tmp_path):
    return read(written(tmp_path, "t", jsonl(WEKA_SESSION, {**WEKA_SESSION, "id": "b"})))


BROKEN = {
    "input tokens below 0": {"input_tokens": (1, -5)},
    "output tokens below 0": {"output_tokens": (0, -1)},
    "negative number of blocks": {"new_blocks": (0, -1)},
    "without a parent": {"parent": (1, -1)},
    "among the parent's own": {"kept_blocks": (4, 9)},
    "parent of another scope": {"parent": (6, 0)},
    "follows itself": {"after": (2, 3)},
    "more blocks than the prompt": {"new_blocks": (0, 40)},
    "negative or no number": {"arrival_s": (3, np.nan)},
    "`session` does not count": {"session": (9, 7)},
    "`scope` does not count": {"scope": (5, 9)},
}


@pytest.mark.parametrize("message", sorted(BROKEN))
def test_a_broken_guarantee_is_seen(trace, message):
    ((name, (row, value)),) = BROKEN[message].items()
    column = getattr(trace, name).copy()
    column[row] = value
    if name == "scope":
        column[5:] = value
    with pytest.raises(InputError, match=message):
        check(replace(trace, **{name: column}))


def test_a_column_of_another_type_is_seen(trace):
    with pytest.raises(InputError, match="not of type int64"):
        check(replace(trace, parent=trace.parent.astype(np.float64)))
    with pytest.raises(InputError, match="another length"):
        replace(trace, parent=trace.parent[:3])


def test_an_arrival_back_in_time_is_seen(tmp_path):
    trace = read(written(tmp_path, "t", SAMPLES["mooncake"].content))
    with pytest.raises(InputError, match="before the one before it"):
        check(replace(trace, arrival_s=trace.arrival_s[::-1].copy()))


def test_a_clock_is_asked_for(trace):
    with pytest.raises(InputError, match="a clock for each session"):
        trace.require_clock("this")


def test_prompts_are_walked_from_root_to_leaf(trace):
    paths = Paths(trace)
    assert paths.ranges(4) == [range(2), range(2, 3), range(5, 6)]
    assert paths.ids(4).tolist() == [0, 1, 2, 5]
    assert trace.first_block.tolist() == [0, 2, 3, 4, 5, 6, 8, 9, 10, 11]


def test_chats_that_branch_go_on_from_the_one_they_name(tmp_path):
    chats = [
        {
            "chat_id": k,
            "parent_chat_id": parent,
            "timestamp": k,
            "input_length": 16,
            "output_length": 1,
            "hash_ids": [k],
        }
        for k, parent in ((1, -1), (2, 1), (3, 1), (4, 3))
    ]
    trace = read(written(tmp_path, "chats", jsonl(*chats)))
    assert trace.previous.tolist() == trace.after.tolist() == [-1, 0, 0, 2]


def test_gaps_follow_from_the_clock_where_it_is_known():
    found = gaps(np.array([0.0, 5.0, 6.0, 9.0]), np.array([2.0, 3.0, np.nan, 1.0]), np.array([-1, 0, 1, 2]))
    assert np.array_equal(found, [np.nan, 3.0, 0.0, np.nan], equal_nan=True)
