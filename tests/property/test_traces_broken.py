"""Whatever stands in a file, reading it ends in a trace that keeps every guarantee or in an error of ours."""

import gzip
import io

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from poolsplit.errors import PoolsplitError
from poolsplit.traces.checks import check
from poolsplit.traces.compact import write
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


@pytest.fixture(scope="module")
def compact(tmp_path_factory):
    path = tmp_path_factory.mktemp("compact") / "trace"
    path.write_bytes(SAMPLES["mooncake"].content)
    out = io.BytesIO()
    write(read(path), out)
    return out.getvalue()


@pytest.mark.parametrize("name", sorted(SAMPLES))
def test_brackets_without_end(tmp_path, name):
    deep = b"[" * 200_000
    _read(tmp_path, deep)
    _read(tmp_path, deep, format=name)
    _read(tmp_path, b'{"conversations": ' + deep, format=name)
    _read(tmp_path, SAMPLES[name].content.replace(b":[", b":" + deep, 1), format=name, skip_bad=True)


@settings(deadline=None, max_examples=150)
@given(data=st.data())
def test_a_damaged_compact_file(tmp_path_factory, compact, data):
    content = bytearray(compact)
    for _ in range(data.draw(st.integers(1, 3))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    _read(tmp_path_factory.getbasetemp(), bytes(content), format="pst")


@pytest.mark.parametrize("session", ["", ', "session_id": "a", "delay": 1'])
def test_a_file_whose_every_line_is_skipped(tmp_path, session):
    path = tmp_path / "trace"
    path.write_text(f'{{"timestamp": 0, "input_length": 1024, "output_length": 1, "hash_ids": [0.5, 1]{session}}}\n')
    with pytest.raises(PoolsplitError, match="holds no requests"):
        read(path, skip_bad=True)
