"""Which limit binds, which start a line belongs to, which release it comes from, and which engine it is."""
# ruff: noqa: E501  lines as the engine prints them

import pytest

from boot_log_text import cap_line, kv_line, stamped, state_line, summary_line
from log_reading import findings, read
from poolsplit.engines.boot_facts import Launch

GIB = 1 << 30


def start(*, slots=48, granted=48, tokens=1_000_000, state_gib=4.74, kv_gib=5.26, label="TP0"):
    lines = [
        "Load weight begin. avail mem=100.00 GB",
        state_line(slots=slots, conv_bytes=0, ssm_bytes=state_gib * GIB),
        kv_line(tokens=tokens, kv_bytes=kv_gib * GIB),
        summary_line(tokens=tokens, requests=granted, context_len=8192),
    ]
    return "\n".join(stamped(label, lines)) + "\n"


@pytest.mark.parametrize(
    ("arguments", "asked", "binding", "per_request"),
    [
        ({"slots": 186, "granted": 62}, None, "state", 3),
        ({"slots": 360, "granted": 72}, 72, "request_cap", 5),
        ({"slots": 48, "granted": 48}, None, "state", 1),
        ({"slots": 48, "granted": 48, "state_gib": 0.5, "kv_gib": 20}, None, "request_cap", 1),
        ({"slots": 90_000, "granted": 2048}, None, "request_cap", None),
        ({"slots": 900, "granted": 50, "tokens": 100}, None, "kv", None),
        ({"slots": 900, "granted": 50}, None, None, None),
    ],
)
def test_what_binds(arguments, asked, binding, per_request):
    launch = Launch(form="given", values={"max_running_requests": asked}) if asked else None
    boot = read(start(**arguments), launch=launch).last
    assert (boot.binding, boot.slots_per_request) == (binding, per_request)
    assert boot.binding_reason


def test_the_tightest_rank_binds():
    caps = [cap_line(requests=12, slots=60, per_request=5), cap_line(requests=10, slots=50, per_request=5)]
    boot = read("\n".join([*stamped("PP0 TP0", caps[:1]), *stamped("PP1 TP0", caps[1:])]) + "\n").last
    assert (boot.granted_running_requests, boot.cap.state_slots) == (10, 50)
    assert set(boot.ranks) == {"PP0 TP0", "PP1 TP0"}


def test_ranks_that_differ_are_said():
    text = start(slots=60, label="PP0 TP0") + start(slots=50, label="PP1 TP0")
    assert "state slots 50, 60" in findings(text)["ranks_differ"].text


def test_a_restart_takes_its_preamble_along():
    arguments = "[2026-11-02 10:00:00] server_args={{'model_path': 'a/b', 'max_running_requests': {}}}\n"
    found = read(arguments.format(64) + start(slots=60, granted=20) + arguments.format(8) + start(slots=50, granted=8))
    assert [boot.requested_running_requests for boot in found.boots] == [64, 8]
    assert [boot.ranks["TP0"].state.state_slots for boot in found.boots] == [60, 50]
    assert all(boot.ranks["TP0"].load_begin for boot in found.boots)


def test_a_refused_start_and_the_one_after_it():
    refused = (
        "[2026-11-02 10:00:00 TP0] Load weight begin. avail mem=100.00 GB\n"
        "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.\n"
    )
    found = read(refused + start())
    assert [len(boot.errors) for boot in found.boots] == [1, 0]
    assert found.last.errors == ()


def test_a_second_node_is_the_same_start():
    arguments = "server_args={{'model_path': 'a/b', 'node_rank': {}}}\n"
    one, other = arguments.format(0) + start(), arguments.format(1) + start(label="TP8")
    for found in (read(one + other), read(one, other)):
        assert len(found.boots) == 1
        assert set(found.last.ranks) == {"TP0", "TP8"}


def test_two_starts_in_two_files():
    found = read(start(slots=60), start(slots=50))
    assert [boot.ranks["TP0"].state.state_slots for boot in found.boots] == [60, 50]


@pytest.mark.parametrize(
    ("lines", "version"),
    [
        (["Memory baseline taken. mem usage=0.10 GB"], ">=0.5.21"),
        (["Init torch distributed ends. elapsed=1.00 s, mem usage=0.10 GB"], "<=0.5.20"),
        (
            [
                cap_line(requests=1, slots=5, per_request=5),
                "Init torch distributed ends. elapsed=1 s, mem usage=0.10 GB",
            ],
            "0.5.17..0.5.20",
        ),
        (
            ["Tree cache initialized: source=default impl=MambaRadixCache hybrid_swa=False hybrid_ssm=True"],
            "<=0.5.15.post1",
        ),
        (["server_args={'enable_paged_experts': False}"], ">=0.5.23"),
        (["server_args=ServerArgs(enable_linear_replayssm_spec=False)"], "0.5.17..0.5.18"),
        (["sglang version 0.5.19"], "0.5.19"),
        (["GDN ReplaySSM ring buffers allocated (L=16): d=0.100GB"], "<=0.5.16"),
    ],
)
def test_the_release_follows_from_the_forms(lines, version):
    assert read(start() + "".join(f"{line}\n" for line in lines)).last.version == version


def test_other_engines():
    trt = (
        "[11/02/2026-10:00:00] [TRT-LLM] [I] Mamba Cache is allocated. max_mamba_cache_size: 64, conv_state size: 0.10GB, "
        "ssm_state size: 2.00GB, intermediate_ssm_state_cache size: 1.00GB, intermediate_conv_window_cache size: 0.01GB\n"
    )
    for text in (trt, trt.partition("[I] ")[2]):
        boot = read(text).last
        assert (boot.kind, boot.engine, boot.foreign.figures["state_slots"]) == ("other_engine", "tensorrt_llm", 64)
    vllm = "(EngineCore_0 pid=1) INFO 11-02 10:00:00 [kv_cache_utils.py:1] GPU KV cache size: 1,234,567 tokens\n"
    boot = read(vllm).last
    assert (boot.engine, boot.foreign.figures["kv_cache_tokens"]) == ("vllm", 1_234_567)
    assert findings(vllm) == {}


def test_unified_memory_is_named():
    text = (
        "[unified-memory-pool] UNIFIED MEMORY POOL ENABLED -- path=Mamba hybrid (MHA full side)\n"
        "[unified-memory-pool]   total_bytes=4096, max_total_num_tokens=10, max_mamba_cache_size=3, max_num_reqs=1\n"
        "[unified-memory-pool]   mamba_full_memory_ratio=0.9 governs the total budget only, not the runtime split.\n"
    )
    boot = read(text).last
    assert (boot.kind, boot.unified.total_bytes, boot.unified.state_to_kv_ratio) == ("hybrid", 4096, 0.9)
    assert "unified_memory" in findings(text)


def test_a_dense_model_is_not_a_hybrid():
    boot = read("KV Cache is allocated. #tokens: 1029389, K size: 47.12 GB, V size: 47.12 GB\n").last
    assert (boot.kind, boot.hybrid) == ("not_hybrid", False)


@pytest.mark.parametrize("text", ["", "\n\n", "the quick brown fox\n", "{}\n", "a,b\n1,2\n"])
def test_no_log(text):
    boot = read(text).last
    assert (boot.kind, boot.engine) == ("not_a_boot", None)
