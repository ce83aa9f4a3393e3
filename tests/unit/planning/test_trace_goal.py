"""How many running requests a goal keeps."""

import pytest

from poolsplit.errors import UsageError
from poolsplit.planning.trace_goal import least_running


@pytest.mark.parametrize(
    ("goal", "wanted", "least"),
    [
        ("recompute", None, 1),
        ("recompute", 7, 7),
        ("concurrency", None, 50),
        ("concurrency", 7, 50),
        ("balanced", None, 45),
        ("balanced", 47, 47),
    ],
)
def test_each_goal_keeps_its_share_of_the_most(goal, wanted, least):
    assert least_running(goal, [10, 50, 30], wanted) == least


def test_other_goals_are_refused():
    with pytest.raises(UsageError, match="not known"):
        least_running("speed", [1], None)
