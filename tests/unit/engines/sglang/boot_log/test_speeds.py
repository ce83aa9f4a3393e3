"""Observations of speed in periodic lines."""

import gzip

from poolsplit.engines.sglang.boot_log.speeds import read_speeds


def prefill(new, per_s, label="TP0", more=""):
    return (
        f"[2026-10-01 10:00:00 {label}] Prefill batch, "
        f"#new-seq: 1, #new-token: {new}, #cached-token: 0, full token "
        f"usage: 0.10, mamba usage: 0.20, #running-req: 3, #queue-req: 2, #pending-token: 0, {more}cuda graph: False, "
        f"input throughput (token/s): {per_s:.2f}\n"
    )


def decode(running, per_s, label="TP0"):
    return (
        f"[2026-10-01 10:00:01 {label}] Decode batch, "
        f"#running-req: {running}, #full token: 9000, full token usage: "
        f"0.10, mamba num: 20, mamba usage: 0.20, cuda graph: True, "
        f"gen throughput (token/s): {per_s:.2f}, #queue-req: 0\n"
    )


def speeds(tmp_path, *lines):
    log = tmp_path / "server.log"
    log.write_text("".join(lines))
    return read_speeds([str(log)])


def test_a_prefill_rate_is_that_of_the_batch_before(tmp_path):
    seen = speeds(tmp_path, prefill(8192, 3.0), prefill(1024, 1024 / 0.5))
    assert seen.prefill == ((8192, 8192 / 0.5),)
    assert seen.prefill_lines == 2


def test_a_decode_line_in_between_breaks_the_pair(tmp_path):
    seen = speeds(tmp_path, prefill(8192, 3.0), decode(4, 100), prefill(8192, 500.0), decode(4, 100))
    assert seen.prefill == ()
    assert seen.decode == ()


def test_decode_counts_while_as_many_run(tmp_path):
    seen = speeds(tmp_path, decode(4, 100), decode(4, 120), decode(5, 140), decode(5, 150))
    assert seen.decode == ((4, 30.0), (5, 30.0))
    assert seen.decode_lines == 4


def test_ranks_and_starts_are_kept_apart(tmp_path):
    ranks = speeds(tmp_path, decode(4, 100, "DP0 TP0"), decode(4, 90, "DP1 TP0"), decode(4, 80, "DP0 TP0"))
    assert ranks.decode == ((4, 20.0),)
    again = speeds(tmp_path, decode(4, 100), "[2026-10-01 10:02:00] server_args=ServerArgs(tp_size=1)\n", decode(4, 80))
    assert again.decode == ()


def test_replayed_tokens_are_no_new_tokens(tmp_path):
    seen = speeds(tmp_path, prefill(4096, 9.0), prefill(4096, 9000.0, more="#replay-token: 512, "))
    assert seen.prefill == ()


def test_lines_without_a_rate_and_gzip(tmp_path):
    log = tmp_path / "old.log.gz"
    lines = prefill(4096, 9.0), prefill(4096, 9.0).replace("input throughput", "something else"), "no batch here\n"
    log.write_bytes(gzip.compress("".join(lines).encode()))
    seen = read_speeds([str(log)])
    assert (seen.prefill, seen.prefill_lines) == ((), 2)
