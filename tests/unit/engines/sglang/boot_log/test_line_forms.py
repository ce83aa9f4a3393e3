"""Each line form, as the engine prints it and as people paste it, to its fact."""
# ruff: noqa: E501  lines as the engine prints them

import pytest

from poolsplit.engines import boot_facts as bf
from poolsplit.engines.sglang.boot_log.figures import squeeze
from poolsplit.engines.sglang.boot_log.lines import facts
from poolsplit.engines.sglang.boot_log.records import Record


def fact_of(text):
    record = Record(label="-", text=text, squeezed=squeeze(text))
    return next(iter(facts(record)), None)


def sizes(fact, *names):
    return tuple(getattr(fact, name).value if getattr(fact, name) else None for name in names)


STATE = "Mamba Cache is allocated. "


@pytest.mark.parametrize(
    ("text", "slots", "figures"),
    [
        (
            STATE + "max_mamba_cache_size: 257, conv_state size: 0.46GB, ssm_state size: 13.04GB ",
            257,
            (0.46, 13.04, None, None),
        ),
        (STATE + "conv_state size: 1.17 GB, ssm_state size: 33.24 GB", None, (1.17, 33.24, None, None)),
        (
            STATE
            + "max_mamba_cache_size: 43, conv_state 0.12GB, ssm_state 3.09GB, intermediate_ssm_state_cache 2.11GB, conv_window 0.04GB",
            43,
            (0.12, 3.09, 2.11, 0.04),
        ),
        (
            STATE
            + "max_mamba_cache_size: 48, conv_state size: 0.10GB, ssm_state size: 2.58GB intermediate_ssm_state_cache size: 1.05GB intermediate_conv_window_cache size: 0.02GB ",
            48,
            (0.10, 2.58, 1.05, 0.02),
        ),
        (STATE + "max_mamba_cache_size: 514, ...", 514, (None, None, None, None)),
        (
            STATE + "max_mamba_cache_size: 85,292, conv_state size: 4.88GB, ssm_state size: 0.00GB",
            85292,
            (4.88, 0.0, None, None),
        ),
        ("max_mamba_cache_size: 26 conv_state 0.05GB ssm_state 1.42GB", 26, (0.05, 1.42, None, None)),
    ],
)
def test_state_pool(text, slots, figures):
    fact = fact_of(text)
    assert isinstance(fact, bf.StatePool)
    assert fact.state_slots == slots
    assert sizes(fact, "conv", "ssm", "scratch_ssm", "scratch_conv") == figures


@pytest.mark.parametrize(
    ("text", "dtype", "tokens", "figures"),
    [
        ("KV Cache is allocated. #tokens: 327310, K size: 2.50 GB, V size: 2.50 GB", None, 327310, (2.5, 2.5, None)),
        (
            "KV Cache is allocated. dtype: torch.bfloat16, #tokens: 15,809,808, K size: 30.15 GB, V size: 30.15 GB",
            "torch.bfloat16",
            15809808,
            (30.15, 30.15, None),
        ),
        (
            "KV Cache is allocated. dtype: torch.float8_e4m3fn, #tokens: 1167552, KV size: 15.03 GB",
            "torch.float8_e4m3fn",
            1167552,
            (None, None, 15.03),
        ),
        (
            "KV Cache is allocated. dtype: float8_e4m3fn, #tokens: 240128, K 1.37 GB, V 1.37 GB",
            "float8_e4m3fn",
            240128,
            (1.37, 1.37, None),
        ),
        ("KV Cache is allocated. ... #tokens: 2426200, K size: 18.51 GB", None, 2426200, (18.51, None, None)),
        (
            "Post-capture KV sizing: KV cache allocated. dtype: torch.bfloat16, #tokens: 900, KV size: 1.25 GB, avail mem=3.00 GB",
            "torch.bfloat16",
            900,
            (None, None, 1.25),
        ),
    ],
)
def test_kv_pool(text, dtype, tokens, figures):
    fact = fact_of(text)
    assert isinstance(fact, bf.KvPool)
    assert (fact.dtype, fact.tokens) == (dtype, tokens)
    assert sizes(fact, "k", "v", "kv") == figures


def test_an_upper_bound_of_addresses_is_no_pool():
    assert fact_of("KV Cache VA upper bound. dtype: torch.bfloat16, #tokens: 900, KV size: 1.25 GB") is None


@pytest.mark.parametrize(
    ("text", "model_class", "available", "used"),
    [
        (
            "Load weight end. type=Lfm2ForCausalLM, dtype=torch.bfloat16, avail mem=13.81 GB, mem usage=1.52 GB.",
            "Lfm2ForCausalLM",
            13.81,
            1.52,
        ),
        (
            "Load weight end. elapsed=329.53 s, type=BailingMoeV3ForCausalLM, quant=fp8, fmt=e4m3, avail mem=29.67 GB, mem usage=80.31 GB.",
            "BailingMoeV3ForCausalLM",
            29.67,
            80.31,
        ),
        ("Load weight end. elapsed=878 s, ... mem usage=167.32 GB", None, None, 167.32),
        ("Load weight end. elapsed=1.00 s, type=X, avail mem=120.00 GB, mem usage=-3.10 GB.", "X", 120.0, -3.1),
    ],
)
def test_weight_load(text, model_class, available, used):
    fact = fact_of(text)
    assert isinstance(fact, bf.WeightLoad)
    assert fact.model_class == model_class
    assert sizes(fact, "available", "used") == (available, used)


@pytest.mark.parametrize(
    ("text", "what", "used", "available"),
    [
        (
            "Capture cuda graph end. Time elapsed: 4.78 s. mem usage=0.26 GB. avail mem=3.79 GB.",
            "cuda graph",
            0.26,
            3.79,
        ),
        (
            "Capture target decode CUDA graph end. elapsed=10.10 s, mem usage=0.79 GB, avail mem=10.39 GB.",
            "target decode",
            0.79,
            10.39,
        ),
        (
            "Capture draft extend CUDA graph end. elapsed=1.10 s, mem usage=0.10 GB, avail mem=9.39 GB.",
            "draft extend",
            0.10,
            9.39,
        ),
    ],
)
def test_graph_capture(text, what, used, available):
    fact = fact_of(text)
    assert isinstance(fact, bf.GraphCapture)
    assert fact.what == what
    assert sizes(fact, "used", "available") == (used, available)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "max_total_num_tokens=327310, chunked_prefill_size=2048, max_prefill_tokens=16384, max_running_requests=62, context_len=262144, available_gpu_mem=3.79 GB",
            (327310, 62, 262144, 3.79),
        ),
        ("max_total_num_tokens=399740", (399740, None, None, None)),
        ("max_total_num_tokens=240128, ... available_gpu_mem=8.87 GB", (240128, None, None, 8.87)),
        ("max_total_num_tokens=1000, max_running_requests=256, available_gpu_mem=1.5", (1000, 256, None, None)),
    ],
)
def test_summary(text, expected):
    fact = fact_of(text)
    assert isinstance(fact, bf.Summary)
    available = fact.available.value if fact.available else None
    assert (fact.kv_tokens, fact.max_running_requests, fact.context_len, available) == expected


def test_a_chunk_size_may_be_minus_one():
    assert fact_of("max_total_num_tokens=9, chunked_prefill_size=-1").chunked_prefill_size == -1


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "max_running_requests is capped to 9 by the mamba state cache (max_mamba_cache_size=47, 5 state slots per request). To raise it: x",
            (9, 47, 5),
        ),
        (
            "max_running_requests is capped to 0 by the mamba state cache (max_mamba_cache_size=2, 5 state slots per request)",
            (0, 2, 5),
        ),
        (
            "max_running_requests is capped to 1,200 by the mamba state cache (max_mamba_cache_size=6,000, 5 state slots per request)",
            (1200, 6000, 5),
        ),
    ],
)
def test_request_cap(text, expected):
    fact = fact_of(text)
    assert isinstance(fact, bf.RequestCap)
    assert (fact.granted, fact.state_slots, fact.slots_per_request) == expected


def test_kv_reduction():
    text = "max_running_requests was reduced from the requested 64 to 31 (per dp worker) due to the available KV cache capacity."
    assert fact_of(text) == bf.KvReduction(requested=64, granted=31)


@pytest.mark.parametrize(
    ("text", "id_", "figures"),
    [
        (
            "RuntimeError: Not enough GPU memory for hybrid (mamba/linear-attention) state cache. Computed max_mamba_cache_size=-28 (total_rest_memory=-7.96 GB, mamba_cache_per_req=146.81 MB). Try: (1)",
            "not_enough_state_memory",
            {"state_slots": -28, "rest_gib": -7.96, "state_mib_per_slot": 146.81},
        ),
        (
            "Hybrid (mamba/linear-attention) state cache is too small to serve any requests. max_mamba_cache_size=2, mamba_ratio=5, resulting max_num_reqs=0. Try",
            "too_small_for_one_request",
            {"state_slots": 2, "slots_per_request": 5, "max_requests": 0},
        ),
        (
            "ValueError: Loaded weights leave no GPU memory for the KV cache under --mem-fraction-static=0.5. Raise --mem-fraction-static above 0.613 (minimum viable = 1 - available/pre = 0.6127). If",
            "weights_leave_no_memory",
            {
                "mem_fraction_static": 0.5,
                "suggested_mem_fraction_static": 0.613,
                "smallest_mem_fraction_static": 0.6127,
            },
        ),
        ("RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.", "no_kv_tokens", {}),
        (
            "AssertionError: Not enough space for mamba ping pong idx, try to increase --mamba-full-memory-ratio.",
            "ping_pong_slots_exhausted",
            {},
        ),
        (
            "AssertionError: Can not alloc mamba cache, try to increase --mamba-full-memory-ratio or --max-mamba-cache-size",
            "state_slot_not_allocated",
            {},
        ),
        ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB", "device_out_of_memory", {}),
        (
            "Input length (131073 tokens) exceeds the maximum allowed length (131066 tokens). Use",
            "context_too_long",
            {"tokens": 131073, "allowed_tokens": 131066},
        ),
        (
            "ValueError: Requested token count exceeds the model's maximum context length of 32768 tokens. You requested a total of 40000 tokens: 1 2",
            "context_too_long",
            {"tokens": 40000, "allowed_tokens": 32768},
        ),
        (
            "mamba_size (40) is less than decode side's max_slots_needed (60 = 20 reqs * 3 slots/req), raising effective_mamba_size to 60",
            "decode_state_pool_raised",
            {"state_slots": 40, "slots_needed": 60, "requests": 20, "slots_per_request": 3, "raised_state_slots": 60},
        ),
    ],
)
def test_errors_carry_their_figures(text, id_, figures):
    fact = fact_of(text)
    assert isinstance(fact, bf.EngineError)
    assert (fact.id, dict(fact.figures)) == (id_, figures)


def test_a_failed_leak_check_counts_what_is_missing():
    new = (
        "ValueError: pool memory leak detected! [full] total=1000, available=400, evictable=500, protected=50, session_held=0, uncached=50\n"
        "[mamba] total=64, available=10, evictable=40, protected=8, session_held=3, uncached=0"
    )
    figures = fact_of(new).figures
    assert (figures["kv_missing"], figures["state_missing"]) == (0, 3)


def test_host_pools_are_decimal():
    kv = fact_of(
        "Allocating kv hierarchical KV host pool: 3035904 tokens, 40.41 GB host memory, packed MTP KV layers: x=1."
    )
    assert isinstance(kv, bf.HostKv)
    assert (kv.tokens, kv.size.value, kv.size.unit_bytes) == (3035904, 40.41, 10**9)
    state = fact_of(
        "Allocating 55.60 GB host memory for hierarchical Mamba cache (943 state slots, layout=page_first_direct)."
    )
    assert isinstance(state, bf.HostState)
    assert (state.slots, state.size.value, state.layout) == (943, 55.6, "page_first_direct")


def test_other_pools():
    ring = fact_of("GDN ReplaySSM ring buffers allocated (record_len=16, fold=True): d=0.250GB, k=0.125GB, g=0.001GB ")
    assert (ring.record_len, [size.value for size in ring.sizes]) == (16, [0.25, 0.125, 0.001])
    window = fact_of("Use sliding window memory pool. full_layer_tokens=81920, swa_layer_tokens=16384")
    assert (window.full_tokens, window.window_tokens) == (81920, 16384)
    window = fact_of("SWAKVPool mem usage: 1.53 GB, swa size: 16384, full size: 81920")
    assert (window.full_tokens, window.window_tokens) == (81920, 16384)
    eight = fact_of(
        "int8 mamba checkpoint pool: 1214 slots, 11.30GB (qdata 11.00 + scale 0.10 + conv 0.20); active mamba pool 607 slots"
    )
    assert (eight.slots, eight.size.value, eight.active_slots) == (1214, 11.3, 607)
    unified = fact_of(
        "[unified-memory-pool]   total_bytes=4096, max_total_num_tokens=10, max_mamba_cache_size=3, max_num_reqs=1, speculative_num_draft_tokens=0"
    )
    assert (unified.total_bytes, unified.kv_tokens, unified.state_slots, unified.requests) == (4096, 10, 3, 1)


def test_arguments_in_both_dumps():
    call = fact_of(
        "server_args=ServerArgs(model_path='a/b', tp_size=2, log_level='info', bs=[1, 2], mem_fraction_static=0.8, max_running_requests=None)"
    )
    mapping = fact_of(
        "server_args={'model_path': 'a/b', 'tp_size': 2, 'bs': [1, 2], 'mem_fraction_static': 0.8, 'max_running_requests': None}"
    )
    for fact in (call, mapping):
        assert isinstance(fact, bf.Launch)
        assert fact.values["model_path"] == "a/b"
        assert (fact.values["tp_size"], fact.values["mem_fraction_static"], fact.values["bs"]) == (2, 0.8, [1, 2])
        assert fact.values["max_running_requests"] is None


def test_a_cut_dump_loses_only_its_last_item():
    fact = fact_of("server_args=ServerArgs(model_path='a/b', tp_size=2, mem_fraction_sta")
    assert dict(fact.values) == {"model_path": "a/b", "tp_size": 2, "_form": "call"}


def test_a_launch_line():
    fact = fact_of(
        "+ python3 -m sglang.launch_server --model-path a/b --tp 8 --disable-radix-cache --mem-fraction-static=0.85"
    )
    assert fact.form == "command"
    assert dict(fact.values) == {
        "model_path": "a/b",
        "tp_size": 8,
        "disable_radix_cache": True,
        "mem_fraction_static": 0.85,
    }


def test_periodic_lines():
    decode = fact_of(
        "Decode batch, #running-req: 20, #full token: 2326796, full token usage: 0.14, mamba num: 20, mamba usage: 1.00, cuda graph: True, gen throughput (token/s): 1174.06, #queue-req: 6, "
    )
    assert decode == bf.Batch(
        kind="decode",
        running=20,
        queue=6,
        kv_tokens=2326796,
        kv_usage_fraction=0.14,
        state_slots=20,
        state_usage_fraction=1.0,
    )
    prefill = fact_of(
        "Prefill batch [12], #new-seq: 1, #new-token: 512, #cached-token: 1280, full token usage: 0.20, mamba usage: 0.29, #running-req: 1, #queue-req: 2, #pending-token: 0, cuda graph: False"
    )
    assert prefill == bf.Batch(
        kind="prefill",
        running=1,
        queue=2,
        new_tokens=512,
        cached_tokens=1280,
        kv_usage_fraction=0.2,
        state_usage_fraction=0.29,
    )
    plain = fact_of("Decode batch, #running-req: 3, #token: 900, token usage: 0.05, cuda graph: True, #queue-req: 0")
    assert (plain.kv_tokens, plain.kv_usage_fraction, plain.state_usage_fraction) == (900, 0.05, None)
    window = fact_of(
        "Decode batch, #running-req: 3, #full token: 9, full token usage: 0.05, #swa token: 4, swa token usage: 0.50, mamba num: 3, mamba usage: 0.10, #queue-req: 0"
    )
    assert (window.kv_usage_fraction, window.state_usage_fraction) == (0.05, 0.1)


def test_retractions_count_requests():
    text = "KV cache pool is full. Retract requests. #retracted_reqs: 3, #new_tokens_gained: 9000, #new_token_ratio: 0.4000 -> 0.9000"
    assert fact_of(text) == bf.Retraction(requests=3)
    assert fact_of("Testing retraction. #retracted_reqs: 3, #new_tokens_gained: 9000") is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "hello",
        "The model is loaded",
        "Mamba is a snake",
        "max_mamba_cache_size: 7",
        "tokens: 5",
        "Capture the flag ends",
    ],
)
def test_other_text_says_nothing(text):
    assert fact_of(text) is None
