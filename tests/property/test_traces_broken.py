"""Whatever stands in a file, reading it ends in a trace that keeps every guarantee or in an error of ours."""

import gzip

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from poolsplit.errors import PoolsplitError
from poolsplit.traces.checks import check
from poolsplit.traces.info import describe
from trace_samples import SAMPLES, read

VALUES = [
    b"null",
    b"-1",
    b"1e400",
    b'"x"',
    b"{}",
    b"[]",
    b"true",
    b"1.5",
    b"99999999999999999999",
    b"\xff",
    b"\n",
    b'"',
    b"}",
]


def _read(folder, content, **options):
    path = folder / "trace"
    path.write_bytes(content)
    try:
        trace = read(path, **options)
    except PoolsplitError:
        return
    check(trace)
    describe(trace)


@st.composite
def broken(draw, content):
    """The content with a few pieces cut, doubled or replaced."""
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, max(len(content) - 1, 0)))
        end = min(start + draw(st.integers(0, 12)), len(content))
        piece = draw(st.sampled_from(VALUES) | st.binary(max_size=4) | st.just(content[start:end] * 2))
        content = content[:start] + piece + content[end:]
    return content


@pytest.mark.parametrize("name", sorted(SAMPLES))
@pytest.mark.parametrize("skip_bad", [False, True])
@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_broken_sample(tmp_path, name, skip_bad, data):
    content = data.draw(broken(SAMPLES[name].content))
    _read(tmp_path, content, format=name, skip_bad=skip_bad)


@settings(deadline=None, max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.binary(max_size=200))
@example(content=b"")
@example(content=b"[[[[")
@example(content=b"{}\n{}")
@example(content=b"null")
@example(content=gzip.compress(b""))
def test_any_bytes(tmp_path, content):
    _read(tmp_path, content)
    _read(tmp_path, gzip.compress(content))
    _read(tmp_path, b"PK\x03\x04" + content)


@pytest.mark.parametrize("name", sorted(SAMPLES))
@pytest.mark.parametrize("other", sorted(SAMPLES))
def test_one_format_read_as_another(tmp_path, name, other):
    _read(tmp_path, SAMPLES[name].content, format=other)
