"""Periodic lines: the fast reading of clean lines and of stretches equals the line-by-line reading."""
# ruff: noqa: E501  lines as the engine prints them

import dataclasses
import io
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from poolsplit.engines.sglang.boot_log.assemble import assemble
from poolsplit.engines.sglang.boot_log.scan import Scanner
from poolsplit.engines.sglang.boot_log.segment import join_files
from poolsplit.engines.sglang.boot_log.stretches import scan_file, stretches_of
from poolsplit.engines.sglang.boot_log.tally import FAST_LINES

KV_POOL, STATE_POOL = 2_400_000, 427
ACCESS = '[2026-11-02 10:00:00] INFO:     10.0.0.7:4242 - "POST /v1/chat/completions HTTP/1.1" 200 OK'
RETRACT = "[2026-11-02 10:00:00 TP0] KV cache pool is full. Retract requests. #retracted_reqs: 2, #new_tokens_gained: 90, #new_token_ratio: 0.4000 -> 0.9000"


def decode(running, queue, used, slots):
    return (
        f"[2026-11-02 10:00:00 TP0] Decode batch, #running-req: {running}, #full token: {used}, full token usage: {used / KV_POOL:.2f}, "
        f"mamba num: {slots}, mamba usage: {slots / STATE_POOL:.2f}, cuda graph: True, gen throughput (token/s): 1.00, #queue-req: {queue}"
    )


def prefill(running, queue, used, slots, new, cached):
    return (
        f"[2026-11-02 10:00:00 TP0] Prefill batch, #new-seq: 1, #new-token: {new}, #cached-token: {cached}, full token usage: {used / KV_POOL:.2f}, "
        f"mamba usage: {slots / STATE_POOL:.2f}, #running-req: {running}, #queue-req: {queue}, #pending-token: 0, cuda graph: False, input throughput (token/s): 1.00"
    )


COMMON = (st.integers(0, 96), st.integers(0, 9), st.integers(1, KV_POOL), st.integers(0, STATE_POOL))
LINE = st.one_of(
    st.builds(decode, *COMMON),
    st.builds(prefill, *COMMON, st.integers(0, 8192), st.integers(0, 60_000)),
    st.just(ACCESS),
    st.just(RETRACT),
)


def runtime(lines):
    scan = Scanner("log").run(io.BytesIO("".join(f"{line}\n" for line in lines).encode()))
    segments = join_files([scan])
    found = assemble(segments[0]).runtime if segments else None
    return found and dataclasses.replace(found, kv_pool_tokens=None, state_pool_slots=None)


def close(one, other):
    """Equal but for the order of sums."""
    if one is None or other is None:
        return one is other
    figures = zip(dataclasses.astuple(one), dataclasses.astuple(other), strict=True)
    return all(mine == theirs or mine == pytest.approx(theirs) for mine, theirs in figures)


@given(lines=st.lists(LINE, max_size=120))
def test_clean_lines_count_as_they_do_one_by_one(lines):
    start = [decode(1, 0, 10, 1)] * 40  # NOTE: the first lines are always read one by one
    slowed = [line.replace("-req: ", "-req:  ").replace("new-seq: ", "new-seq:  ") for line in lines]
    assert not any(FAST_LINES.search(line.encode() + b"\n") for line in slowed)
    assert close(runtime(start + lines), runtime(start + slowed))


def test_pool_sizes_follow_from_what_is_in_use():
    lines = [decode(20, 6, 2_326_796, 400), decode(20, 6, 1_163_398, 200)] * 40
    scan = Scanner("log").run(io.BytesIO("\n".join(lines).encode() + b"\n"))
    found = assemble(join_files([scan])[0]).runtime
    assert found.kv_pool_tokens.low <= KV_POOL <= found.kv_pool_tokens.high
    assert found.state_pool_slots.low <= STATE_POOL <= found.state_pool_slots.high


def test_stretches_give_what_one_reading_gives(tmp_path):
    boot = "[2026-11-02 10:00:00 TP0] Mamba Cache is allocated. max_mamba_cache_size: {}, conv_state size: 0.10GB, ssm_state size: 4.38GB "
    lines = []
    for start in range(3):
        lines.append(boot.format(100 + start))
        for at in range(300):
            lines += [decode(at % 90, at % 3, 1000 * at + 1, at), prefill(1, 0, 5000, at, at, 2 * at), ACCESS]
    log = tmp_path / "server.log"
    log.write_text("\n".join(lines) + "\n")
    whole = join_files([scan_file(str(log), (), None)])
    parts = join_files([scan_file(str(log), (), None, long_bytes=1)])
    assert len(whole) == len(parts) == 3
    for one, other in zip(whole, parts, strict=True):
        mine, theirs = assemble(one), assemble(other)
        assert (mine.ranks, mine.runtime.samples, mine.runtime.cached_tokens) == (
            theirs.ranks,
            theirs.runtime.samples,
            theirs.runtime.cached_tokens,
        )


@given(lengths=st.lists(st.integers(0, 50), min_size=1, max_size=60), step=st.integers(1, 400))
def test_stretches_are_whole_lines_that_cover_the_file(tmp_path_factory, lengths, step):
    path = tmp_path_factory.mktemp("stretch") / "log"
    text = "".join("x" * length + "\n" for length in lengths)
    path.write_text(text)
    stretches = stretches_of(str(path), len(text), step)
    assert [stretches[0].start, stretches[-1].end] == [0, len(text)]
    for one, other in itertools.pairwise(stretches):
        assert one.end == other.start
        assert text[one.end - 1] == "\n"
