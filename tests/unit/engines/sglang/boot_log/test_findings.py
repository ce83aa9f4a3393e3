"""Each finding: when it is there, what it says, which flag it names, and what it costs."""
# ruff: noqa: E501, ISC004  lines as the engine prints them

import pytest

from boot_log_text import GIB, cap_line, kv_line, state_line, summary_line
from log_reading import findings, read
from poolsplit.engines.boot_facts import Launch

MIB = 1 << 20
SLOT, ROW = 100 * MIB, 20_480


def boot(*, slots=50, tokens=1_000_000, extra=(), scratch_gib=None):
    scratch = {} if scratch_gib is None else {"scratch_ssm_bytes": scratch_gib * GIB, "scratch_conv_bytes": 0}
    lines = [
        state_line(slots=slots, conv_bytes=(slots + 1) * MIB, ssm_bytes=(slots + 1) * (SLOT - MIB), **scratch),
        kv_line(tokens=tokens, kv_bytes=tokens * ROW),
        *extra,
    ]
    return "\n".join(lines) + "\n"


def flags(**values):
    return Launch(form="given", values=values)


def test_a_clamp_names_the_slots_for_what_was_asked():
    found = findings(boot(extra=[cap_line(requests=10, slots=50, per_request=5)]), flags(max_running_requests=32))
    clamp = found["requests_clamped_by_state"]
    assert clamp.severity == "warning"
    assert clamp.flags == ("--max-mamba-cache-size 160",)
    assert clamp.price.delta_requests == 22
    assert clamp.price.delta_kv_tokens == pytest.approx(-110 * SLOT / ROW, rel=0.01)


def test_a_clamp_under_data_parallel_attention_counts_every_worker():
    launch = flags(max_running_requests=32, dp_size=4, enable_dp_attention=True)
    clamp = findings(boot(slots=12, extra=[cap_line(requests=2, slots=12, per_request=5)]), launch)
    assert clamp["requests_clamped_by_state"].flags == ("--max-mamba-cache-size 160",)


def test_without_a_request_the_next_one_is_that_of_every_worker():
    launch = flags(dp_size=4, enable_dp_attention=True)
    clamp = findings(boot(slots=12, extra=[cap_line(requests=2, slots=12, per_request=5)]), launch)
    assert clamp["requests_clamped_by_state"].flags[0] == "--max-mamba-cache-size 60"


@pytest.mark.parametrize(("second", "flag"), [("DP1 TP1", "30"), ("DP1 TP0", "15")])
def test_labels_tell_workers_that_share_the_ranks(second, flag):
    cap = cap_line(requests=2, slots=12, per_request=5)
    text = "".join(f"[2026-10-01 10:00:00 {label}] {cap}\n" for label in ("DP0 TP0", second))
    assert findings(text)["requests_clamped_by_state"].flags == (f"--max-mamba-cache-size {flag}",)


def test_every_asked_request_is_granted_by_its_worker():
    launch = flags(max_running_requests=8, dp_size=4, enable_dp_attention=True)
    text = boot(slots=12, extra=[summary_line(tokens=1_000_000, requests=2, context_len=4096)])
    assert "requests_clamped_by_state" not in findings(text, launch)


def test_without_a_request_the_ratio_follows_from_the_length_served():
    text = boot(extra=[summary_line(tokens=1_000_000, requests=12, context_len=4096)])
    clamp = findings(text)["requests_clamped_by_state"]
    step = round(4 * SLOT / ROW)
    ratio = int(clamp.flags[1].removeprefix("--mamba-full-memory-ratio (").split()[0])
    assert ratio == pytest.approx(step, rel=0.01)
    assert "balance at 83,333 tokens a request" in clamp.text


def test_what_both_pools_do_not_hold_is_not_advised():
    clamp = findings(boot(extra=[cap_line(requests=10, slots=50, per_request=5)]), flags(max_running_requests=2000))
    assert "more than both pools hold" in clamp["requests_clamped_by_state"].text
    assert clamp["requests_clamped_by_state"].price is None
    assert not any("10000" in flag for flag in clamp["requests_clamped_by_state"].flags)


def test_slots_a_request_that_several_divisions_give_are_not_guessed():
    text = boot(slots=6, extra=[summary_line(tokens=1_000_000, requests=1, context_len=4096)])
    assert "requests_clamped_by_state" not in findings(text)


@pytest.mark.parametrize(("scratch_gib", "binding"), [(1, "request_cap"), (None, None)])
def test_speculation_has_a_default_of_its_own(scratch_gib, binding):
    text = boot(
        slots=337, scratch_gib=scratch_gib, extra=[summary_line(tokens=1_000_000, requests=48, context_len=4096)]
    )
    assert read(text).last.binding == binding


def test_halving_the_state_leaves_the_convolutions():
    lever = findings(boot(extra=[cap_line(requests=10, slots=50, per_request=5)]))["state_dtype_lever"]
    assert lever.price.delta_requests == 9
    assert "state_dtype_lever" not in findings(
        boot(extra=[cap_line(requests=10, slots=50, per_request=5)]), flags(mamba_ssm_dtype="bfloat16")
    )


def test_a_cap_of_zero_is_an_error():
    found = findings(cap_line(requests=0, slots=2, per_request=5) + "\n")
    assert (found["no_request_fits"].severity, found["no_request_fits"].flags) == (
        "error",
        ("--max-mamba-cache-size 5",),
    )


def test_the_kv_pool_may_be_what_clamps():
    line = "max_running_requests was reduced from the requested 64 to 31 (per dp worker) due to the available KV cache capacity."
    clamp = findings(boot(extra=[line]))["requests_clamped_by_kv"]
    assert "64 were asked for" in clamp.text


def test_a_kv_pool_below_the_context_length():
    short = findings(boot(tokens=9_000, extra=[summary_line(tokens=9_000, requests=10, context_len=262_144)]))
    assert short["kv_smaller_than_context"].flags[0] == "--context-length 9000"
    whole = flags(dcp_size=64)
    assert "kv_smaller_than_context" not in findings(
        boot(tokens=9_000, extra=[summary_line(tokens=9_000, requests=10, context_len=262_144)]), whole
    )


def test_slots_that_no_request_can_reserve():
    found = findings(boot(slots=85_292))["state_slots_out_of_reach"]
    assert found.flags == ("--max-mamba-cache-size 20480",)
    assert found.price.delta_kv_tokens > 0


def test_scratch_above_the_slots_is_a_warning():
    assert findings(boot(scratch_gib=48))["verify_scratch"].severity == "warning"
    assert "verify_scratch" not in findings(boot(scratch_gib=0.2))


def test_a_stated_fraction_that_the_pools_contradict():
    memory = [
        "Load weight begin. avail mem=100.00 GB",
        f"Load weight end. elapsed=1.00 s, type=X, avail mem={80:.2f} GB, mem usage=20.00 GB.",
    ]
    text = "\n".join(memory) + "\n" + boot()
    rest_gib = (51 * SLOT + 1_000_000 * ROW) / GIB
    fits = 1 - (80 - rest_gib) / 100
    assert "static_fraction_differs" not in findings(text, flags(mem_fraction_static=round(fits, 3)))
    assert "static_fraction_differs" in findings(text, flags(mem_fraction_static=0.95))


def test_memory_that_no_line_names():
    memory = [
        "Load weight begin. avail mem=100.00 GB",
        "Load weight end. elapsed=1.00 s, type=X, avail mem=80.00 GB, mem usage=20.00 GB.",
    ]
    rest_gib = (51 * SLOT + 1_000_000 * ROW) / GIB
    text = "\n".join(memory) + "\n" + boot(extra=[f"Memory pool end. avail mem={80 - rest_gib - 3:.2f} GB"])
    assert findings(text)["unexplained_memory"].text.startswith("3.0")


@pytest.mark.parametrize(
    ("line", "id_", "words", "flag"),
    [
        (
            "Not enough GPU memory for hybrid (mamba/linear-attention) state cache. Computed max_mamba_cache_size=-28 "
            "(total_rest_memory=-7.96 GB, mamba_cache_per_req=146.81 MB).",
            "not_enough_state_memory",
            "Fewer requests, the first hint of the message, do not help",
            "--mem-fraction-static (higher)",
        ),
        (
            "Not enough GPU memory for hybrid (mamba/linear-attention) state cache. Computed max_mamba_cache_size=0 "
            "(total_rest_memory=0.20 GB, mamba_cache_per_req=146.81 MB).",
            "not_enough_state_memory",
            "does not hold one slot of 146.81 MiB",
            "--mem-fraction-static (higher)",
        ),
        (
            "Hybrid (mamba/linear-attention) state cache is too small to serve any requests. max_mamba_cache_size=2, "
            "mamba_ratio=5, resulting max_num_reqs=0.",
            "too_small_for_one_request",
            "2 state slots, but one request reserves 5",
            "--max-mamba-cache-size 5",
        ),
        (
            "Hybrid (mamba/linear-attention) state cache is too small to serve any requests. max_mamba_cache_size=50, "
            "mamba_ratio=5, resulting max_num_reqs=0.",
            "too_small_for_one_request",
            "blames the wrong pool",
            "--mamba-full-memory-ratio (lower)",
        ),
        (
            "Loaded weights leave no GPU memory for the KV cache under --mem-fraction-static=0.9. Raise "
            "--mem-fraction-static above 0.613 (minimum viable = 1 - available/pre = 0.6127).",
            "weights_leave_no_memory",
            "the state pool took the rest",
            "--max-mamba-cache-size (lower)",
        ),
        ("AssertionError: Not enough space for mamba ping pong idx, try", "ping_pong_slots_exhausted", "not a sizing", None),
        ("AssertionError: Can not alloc mamba cache", "state_slot_not_allocated", "not a sizing fault", None),
        ("Input length (9 tokens) exceeds the maximum allowed length (7 tokens).", "context_too_long", "9 tokens", "--context-length"),
    ],
)  # fmt: skip
def test_errors_are_explained(line, id_, words, flag):
    finding = findings(line + "\n")[id_]
    assert words in finding.text
    assert finding.flags[:1] == ((flag,) if flag else ())
    assert finding.evidence[0] == line


def test_errors_come_first():
    text = boot(
        extra=[
            cap_line(requests=10, slots=50, per_request=5),
            "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.",
        ]
    )
    assert next(iter(findings(text))) == "no_kv_tokens"


def test_run_time_pressure():
    line = "Decode batch, #running-req: 20, #full token: 100, full token usage: 0.14, mamba num: 20, mamba usage: {}, #queue-req: 6, "
    full = findings(boot() + (line.format("1.00") + "\n") * 5)["state_full_while_kv_idle"]
    assert "5 of 5 samples" in full.text
    assert "86% of the KV pool lay idle" in full.text
    assert "state_full_while_kv_idle" not in findings(boot() + (line.format("0.50") + "\n") * 5)


def test_reuse_and_retractions():
    line = "Prefill batch, #new-seq: 1, #new-token: 900, #cached-token: {}, full token usage: 0.10, mamba usage: 0.10, #running-req: 1, #queue-req: 0"
    cold = boot() + (line.format(0) + "\n") * 30
    assert "--max-mamba-cache-size (higher)" in findings(cold)["no_prefix_reuse"].flags
    assert "no_prefix_reuse" not in findings(boot() + (line.format(900) + "\n") * 30)
    assert "prefix_cache_off" in findings(cold, flags(disable_radix_cache=True))
    retract = "KV cache pool is full. Retract requests. #retracted_reqs: 3, #new_tokens_gained: 9, #new_token_ratio: 0.4 -> 0.9\n"
    assert "2 times and sent 6" in findings(boot() + retract * 2)["retractions"].text
