"""Ids out of JSON text, and where compiled code is kept."""

import importlib
import json

import msgspec
import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from poolsplit.traces import kernels
from poolsplit.traces.ids import raw_ids
from poolsplit.traces.prefix_fold import parse_ids

WHOLE = st.integers(-(2**59), 2**59)


@settings(deadline=None)
@given(st.lists(st.lists(WHOLE, max_size=6), max_size=6), st.sampled_from([None, 1]), st.booleans())
def test_arrays_of_numbers(lists, indent, quoted):
    texts = [json.dumps([str(v) for v in values] if quoted else values, indent=indent).encode() for values in lists]
    ids, ends = parse_ids(texts)
    assert ids.tolist() == [value for values in lists for value in values]
    assert ends.tolist() == np.cumsum([len(values) for values in lists]).tolist()


NOT_NUMBERS = ['["a"]', '[""]', '["", 1]', '[1, ""]', "[1.0]", "[1e3]", "[[1]]", "[1, [2]]", "[null]", "[true]"]
NOT_NUMBERS += ['["1 2"]', '["-"]', '["1-"]', "[{}]", f"[{2**60}]", f"[{2**64}]"]


@pytest.mark.parametrize("text", NOT_NUMBERS)
def test_what_is_no_whole_number_is_left_to_the_slow_path(text):
    assert parse_ids([b"[1]", text.encode()]) is None


def test_the_slow_path_agrees_with_the_fast_one():
    arrays = [msgspec.Raw(b"[5, 6]"), msgspec.Raw(b'["5", "7"]')]
    fast, ends, _ = raw_ids(arrays)
    slow, slow_ends, bad = raw_ids([*arrays, msgspec.Raw(b'["x"]')])
    assert fast.tolist() == slow[:4].tolist() == [5, 6, 5, 7]
    assert ends.tolist() == slow_ends[:2].tolist()
    assert not bad


def test_other_ids_are_told_apart():
    ids, _, _ = raw_ids(
        [msgspec.Raw(json.dumps([f"block-{k}" for k in range(5000)] + [2**61 + k for k in range(5000)]).encode())]
    )
    assert np.unique(ids).size == 10_000
    assert ids.min() >= 1 << 60


def test_without_a_folder_for_machine_code_it_is_compiled_anew(monkeypatch):
    real = numba.njit

    def refuse(*functions, cache=False):
        if cache:
            raise RuntimeError("cannot cache function: no locator available")
        return real(*functions)

    monkeypatch.setattr(numba, "njit", refuse)
    fresh = importlib.reload(kernels)
    ids, ends = np.zeros(2, dtype=np.int64), np.zeros(1, dtype=np.int64)
    assert fresh.parse_id_arrays(np.frombuffer(b"[3,4]", dtype=np.uint8), ids, ends) == -1
    assert ids.tolist() == [3, 4]
    monkeypatch.undo()
    importlib.reload(kernels)
