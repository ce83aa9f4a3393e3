"""One suite over all trace readers: detected by content, whole prompts, no aliasing, faults with their place."""

import pytest

from poolsplit.errors import InputError, TraceFormatError, UsageError
from poolsplit.traces.checks import check
from trace_samples import SAMPLES, WEKA_SESSION, brute_force_reuse, jsonl, kept_tokens, read, spelled, written

FORMATS = sorted(SAMPLES)
WITH_BLOCKS = [name for name in FORMATS if SAMPLES[name].reused_tokens is not None]
WITH_BAD_LINES = [name for name in FORMATS if SAMPLES[name].bad_line is not None]


@pytest.fixture
def sample(request, tmp_path):
    name = request.param
    return name, SAMPLES[name], written(tmp_path, "trace", SAMPLES[name].content)


def _with_bad_line(tmp_path, wanted):
    """The sample with its bad line behind the first line, or behind the first row where a header comes first."""
    lines = wanted.content.splitlines(keepends=True)
    at = _bad_line_number(wanted) - 1
    return written(tmp_path, "bad", b"".join([*lines[:at], wanted.bad_line, *lines[at:]]))


def _bad_line_number(wanted):
    return 3 if wanted.reused_tokens is None else 2


every = pytest.mark.parametrize("sample", FORMATS, indirect=True)
with_blocks = pytest.mark.parametrize("sample", WITH_BLOCKS, indirect=True)
with_bad_lines = pytest.mark.parametrize("sample", WITH_BAD_LINES, indirect=True)

ONCE = {"weka", "tracelab", "shared-prefix"}
"""Formats whose second reading of the same file is refused: one session, round or set of arguments twice."""
readable_twice = pytest.mark.parametrize("sample", [name for name in WITH_BLOCKS if name not in ONCE], indirect=True)
json_lines = pytest.mark.parametrize(
    "sample", [name for name in WITH_BAD_LINES if name not in {"azure", "burstgpt"}], indirect=True
)


@every
def test_the_format_is_told_by_content(sample):
    name, wanted, path = sample
    assert read(path, **wanted.options).origin.format == name


@every
def test_lengths_and_clock(sample):
    _, wanted, path = sample
    trace = check(read(path, **wanted.options))
    assert trace.input_tokens.tolist() == wanted.input_tokens
    assert trace.output_tokens.tolist() == wanted.output_tokens
    assert trace.origin.clock == wanted.clock
    assert (trace.sessions if trace.origin.sessions_known else None) == wanted.sessions


@with_blocks
def test_reuse(sample):
    _, wanted, path = sample
    trace = read(path, **wanted.options)
    assert kept_tokens(trace) == wanted.reused_tokens
    slow = brute_force_reuse(spelled(trace), trace.scope, trace.block_tokens, trace.input_tokens.tolist())
    assert kept_tokens(trace) == slow


@every
def test_a_named_format_is_read_the_same(sample):
    name, wanted, path = sample
    named = read(path, format=name, **wanted.options)
    assert named.input_tokens.tolist() == wanted.input_tokens


@every
def test_gzip_is_told_by_content(sample, tmp_path):
    _, wanted, _ = sample
    packed = written(tmp_path, "packed", wanted.content, packed=True)
    assert read(packed, **wanted.options).input_tokens.tolist() == wanted.input_tokens


@readable_twice
def test_two_files_share_nothing_unless_they_say_so(sample, tmp_path):
    name, wanted, path = sample
    twin = written(tmp_path, "twin", wanted.content)
    if name in {"mooncake", "bailian"}:
        assert sum(kept_tokens(read(path, twin))) == 2 * sum(wanted.reused_tokens)
        assert sum(kept_tokens(read(path, twin, shared_ids=True))) > 2 * sum(wanted.reused_tokens)
    else:
        assert sum(kept_tokens(read(path, twin))) > 2 * sum(wanted.reused_tokens)


@with_bad_lines
def test_a_bad_line_is_named(sample, tmp_path):
    _, wanted, _ = sample
    path = _with_bad_line(tmp_path, wanted)
    with pytest.raises(TraceFormatError) as caught:
        read(path, **wanted.options)
    assert caught.value.where.startswith(f"{path}:{_bad_line_number(wanted)}")
    assert wanted.bad_path in caught.value.where
    assert caught.value.hint


@with_bad_lines
def test_bad_lines_can_be_left_out_and_are_counted(sample, tmp_path):
    _, wanted, _ = sample
    path = _with_bad_line(tmp_path, wanted)
    trace = read(path, skip_bad=True, **wanted.options)
    assert trace.input_tokens.tolist() == wanted.input_tokens
    assert any("bad lines that were skipped: 1" in note and str(path) in note for note in trace.origin.notes)


@json_lines
def test_a_line_that_is_no_json_is_named(sample, tmp_path):
    _, wanted, _ = sample
    path = written(tmp_path, "cut", wanted.content + b'{"timestamp": 1, "inp')
    with pytest.raises(TraceFormatError, match="JSON"):
        read(path, **wanted.options)


@every
def test_an_empty_file_is_no_trace(sample, tmp_path):
    name, wanted, _ = sample
    with pytest.raises(InputError):
        read(written(tmp_path, "empty", b""), format=name, **wanted.options)


@pytest.mark.parametrize("name", ["azure", "burstgpt"])
def test_lengths_alone_refuse_a_hit_rate(name, tmp_path):
    trace = read(written(tmp_path, "trace", SAMPLES[name].content))
    with pytest.raises(InputError, match="lengths only"):
        trace.require_blocks("a hit rate")


def test_files_of_two_formats_are_refused(tmp_path):
    one = written(tmp_path, "one", SAMPLES["mooncake"].content)
    two = written(tmp_path, "two", SAMPLES["bailian"].content)
    with pytest.raises(TraceFormatError, match=r"bailian.*mooncake"):
        read(one, two)


def test_an_unknown_format_and_dialect_are_refused(tmp_path):
    path = written(tmp_path, "trace", SAMPLES["mooncake"].content)
    with pytest.raises(UsageError, match="no trace format"):
        read(path, format="parchment")
    with pytest.raises(UsageError, match="no dialect"):
        read(path, dialect="relative")


def test_something_else_is_not_recognised(tmp_path):
    with pytest.raises(TraceFormatError, match="not recognised"):
        read(written(tmp_path, "letter", b"Dear all,\n"))


def test_ids_local_to_a_session_never_alias(tmp_path):
    other = {**WEKA_SESSION, "id": "b"}
    trace = read(written(tmp_path, "local", jsonl(WEKA_SESSION, other)))
    assert kept_tokens(trace) == SAMPLES["weka"].reused_tokens * 2
    shared = [{**session, "hash_id_scope": "global"} for session in (WEKA_SESSION, other)]
    trace = read(written(tmp_path, "global", jsonl(*shared)))
    assert kept_tokens(trace) == [*SAMPLES["weka"].reused_tokens, 128, 192, 64, 128, 256]
