"""Where the tree of requests has the answers."""

from poolsplit.replay.ordered.request_tree import build_request_tree
from request_rows import fold


def test_an_answer_is_in_the_next_row_of_its_conversation():
    """Row 1 is a subagent's; row 2 goes on with row 0."""
    rows = fold([[0, 1], [9], [0, 1, 2, 3]], [-1, -1, 0], [32, 10, 64], [10, 5, 1], 16)
    tree = build_request_tree(rows, 16)
    assert [(begin, end) for _, begin, end in tree.runs(0)] == [(32, 42), (0, 32)]
    assert tree.last.tolist()[0] == 2
    assert tree.last.tolist()[1] == 3 + 1


def test_an_answer_that_nobody_sends_back_is_shared_with_nobody():
    rows = fold([[0, 1], [9], [5, 6, 7]], [-1, -1, 0], [32, 10, 48], [10, 5, 1], 16)
    assert build_request_tree(rows, 16).last.tolist()[0] == 3
