"""The attention backend, and the page size and KV dtypes it forces."""

from dataclasses import replace

import pytest

from poolsplit.engines.device import Device
from poolsplit.engines.sglang.flags import Flags, flags_from_mapping
from poolsplit.engines.sglang.rules import resolve_flags
from poolsplit.engines.sglang.versions import switches_for
from poolsplit.errors import LaunchRefusedError, UsageError
from rule_launches import DFLASH_DRAFT, DSPARK_DRAFT, EAGLE, device_of, resolved, shape_of


@pytest.mark.parametrize(
    ("model", "card", "flags", "backend", "page"),
    [
        ("qwen3-8b-dense", "h200", {}, "fa3", 1),
        ("qwen3-8b-dense", "b200", {}, "trtllm_mha", 64),
        ("qwen3-8b-dense", "a100", {}, "flashinfer", 1),
        ("qwen3-8b-dense", "rtx5090", {}, "flashinfer", 1),
        ("qwen3-8b-dense", "h200", {"kv_cache_dtype": "fp8_e5m2"}, "triton", 1),
        ("kimi-linear-48b-a3b", "h200", {}, "fa3", 1),
        ("kimi-linear-48b-a3b", "b200", {}, "flashinfer", 1),
        ("kimi-linear-48b-a3b", "a100", {}, "triton", 1),
        ("kimi-k3", "b200", {}, "trtllm_mla", 64),
        ("kimi-k3", "b200", {"page_size": 1}, "trtllm_mla", 64),
        ("kimi-k3", "h200", {}, "fa3", 1),
        ("made-up-inkling", "b200", {}, "fa4", 128),
        ("made-up-inkling", "h200", {}, "fa4", 1),
        ("made-up-inkling", "a100", {}, "triton", 1),
        ("made-up-glm5-next", "h200", {}, "dsa", 64),
        ("nemotron-3-nano-30b-a3b", "b200", {"mamba_radix_cache_strategy": "extra_buffer"}, "trtllm_mha", 64),
        ("nemotron-3-nano-30b-a3b", "rtx5090", EAGLE, "triton", 1),
        ("qwen3-next-80b-a3b", "b200", {"page_size": 32}, "triton", 1),
        ("qwen3-next-80b-a3b", "b200", {"disable_radix_cache": True, "page_size": 128}, "trtllm_mha", 64),
        ("falcon-h1-34b", "b200", {}, "triton", 1),
        ("granite-4.0-h-small", "b200", {}, "flashinfer", 1),
        ("lfm2-2.6b", "b200", {}, "flashinfer", 1),
        ("qwen3-8b-dense", "b200", {"attention_backend": "hpc_ops"}, "hpc_ops", 64),
        ("kimi-linear-48b-a3b", "h200", {"attention_backend": "flashmla", "page_size": 128}, "flashmla", 64),
        ("qwen3-8b-dense", "b200", {"attention_backend": "trtllm_mha", "page_size": 16}, "trtllm_mha", 16),
    ],
)
def test_backend_and_page(model, card, flags, backend, page):
    found = resolved(model, card, **flags)
    assert (found.attention_backend, found.page_size) == (backend, page)


@pytest.mark.parametrize(("version", "page"), [("0.5.18", 1), ("0.5.19", 64)])
def test_nemotron_pages_its_attention_on_sm100_from_one_release_on(version, page):
    found = resolved("nemotron-3-super-120b-a12b-fp8", "b200", version=version, **EAGLE)
    assert found.page_size == page


@pytest.mark.parametrize(("version", "backend"), [("0.5.22", "triton"), ("0.5.23", "trtllm_mha")])
def test_dflash_counts_as_one_chain_in_the_last_release(version, backend):
    found = resolved("qwen3-next-80b-a3b", "b200", version=version, speculative_algorithm="DFLASH", draft=DFLASH_DRAFT)
    assert found.attention_backend == backend


def test_a_rewritten_page_says_which_backend_took_it():
    found = resolved("qwen3-8b-dense", "b200", page_size=1)
    assert found.origin("page_size") == "a page that trtllm_mha attention takes"
    assert resolved("qwen3-8b-dense", "b200", page_size=16).origin("page_size") is None


@pytest.mark.parametrize(
    ("model", "card", "flags", "reason"),
    [
        ("kimi-k3", "b200", {"kv_cache_dtype": "bfloat16"}, "trtllm_mla_kv_dtype"),
        ("kimi-linear-48b-a3b", "h200", {"attention_backend": "trtllm_mla"}, "trtllm_mla_platform"),
        ("kimi-k3", "b200", {"tp_size": 8, "dcp_size": 4, "kv_cache_dtype": "fp8_e5m2"}, "cutedsl_kv_dtype"),
        ("kimi-k3", "h200", {"tp_size": 8, "dcp_size": 4}, "cutedsl_platform"),
        ("kimi-linear-48b-a3b", "b200", {"prefill_attention_backend": "cutedsl_mla"}, "cutedsl_prefill"),
        (
            "kimi-k3",
            "b200",
            {"tp_size": 8, "dcp_size": 4, "decode_attention_backend": "trtllm_mla"},
            "dcp_decode_backend",
        ),
        ("made-up-glm5-next", "h200", {"kv_cache_dtype": "fp8_e5m2"}, "dsa_kv_dtype"),
        ("qwen3-8b-dense", "a100", {"attention_backend": "trtllm_mha"}, "trtllm_mha_platform"),
        (
            "qwen3-8b-dense",
            "rtx5090",
            {"attention_backend": "trtllm_mha", "kv_cache_dtype": "fp8_e4m3"},
            "trtllm_mha_fp8_prefill",
        ),
        (
            "qwen3-8b-dense",
            "h200",
            {"attention_backend": "trtllm_mha", "tp_size": 2, "attn_cp_size": 2},
            "trtllm_mha_context_parallel",
        ),
        ("lfm2-2.6b", "h200", {"attention_backend": "triton"}, "lfm2_triton"),
        ("qwen3-8b-dense", "h200", {"kv_cache_dtype": "mxfp8"}, "mxfp8_platform"),
        ("qwen3-8b-dense", "h200", {"kv_cache_dtype": "int8"}, "kv_dtype_unknown"),
        ("qwen3-8b-dense", "h200", {"kv_cache_dtype": "nvfp4"}, "nvfp4_platform"),
        (
            "qwen3-8b-dense",
            "b200",
            {"kv_cache_dtype": "nvfp4", "attention_backend": "triton"},
            "nvfp4_prefill_backend",
        ),
        (
            "qwen3-8b-dense",
            "b200",
            {"kv_cache_dtype": "nvfp4", "decode_attention_backend": "triton"},
            "nvfp4_decode_backend",
        ),
        ("qwen3-8b-dense", "b200", {"kv_cache_dtype": "nvfp4", "disaggregation_mode": "prefill"}, "nvfp4_pd"),
        ("qwen3-8b-dense", "b200", {"kv_cache_dtype": "nvfp4", "enable_unified_memory": True}, "fp4_unified"),
        ("qwen3-8b-dense", "b200", {"kv_cache_dtype": "nvfp4", "enable_lmcache": True}, "nvfp4_host_cache"),
        ("qwen3-8b-dense", "b200", {"kv_cache_dtype": "nvfp4", "speculative_algorithm": "NGRAM"}, "nvfp4_ngram"),
        ("qwen3-8b-dense", "h200", {"kv_cache_dtype": "fp4_mx_block16"}, "fp4_mha_backend"),
        ("kimi-linear-48b-a3b", "h200", {"kv_cache_dtype": "fp4_mx_block16"}, "fp4_mla_backend"),
    ],
)
def test_kernels_and_kv_dtypes_that_do_not_run(model, card, flags, reason):
    with pytest.raises(LaunchRefusedError) as refused:
        resolved(model, card, **flags)
    assert refused.value.reason == reason


def test_native_fp4_keeps_draft_models_of_their_own_out():
    with pytest.raises(LaunchRefusedError) as refused:
        resolved("qwen3-8b-dense", "b200", kv_cache_dtype="nvfp4", speculative_algorithm="DFLASH", draft=DFLASH_DRAFT)
    assert refused.value.reason == "nvfp4_dflash"


@pytest.mark.parametrize(
    ("flags", "dtype"),
    [
        ({}, "bfloat16"),
        ({"dtype": "half"}, "float16"),
        ({"kv_cache_dtype": "bf16"}, "bfloat16"),
        ({"kv_cache_dtype": "fp8_e5m2"}, "fp8_e5m2"),
    ],
)
def test_the_dtype_that_rows_are_priced_at(flags, dtype):
    assert resolved("granite-4.0-h-small", **flags).kv_dtype == dtype


@pytest.mark.parametrize(
    ("card", "flags", "dtype"),
    [
        ("h200", {"kv_cache_dtype": "fp8_e4m3"}, "fp8_e4m3"),
        ("h200", {}, "bfloat16"),
        ("h200", {"kv_cache_dtype": "fp8_e4m3", "speculative_draft_kv_cache_dtype": "bf16"}, "bfloat16"),
        ("b200", {"kv_cache_dtype": "fp8_e4m3", "speculative_draft_attention_backend": "fa4"}, "bfloat16"),
    ],
)
def test_a_draft_with_rows_of_its_own_has_its_own_dtype(card, flags, dtype):
    found = resolved("kimi-linear-48b-a3b", card, speculative_algorithm="DSPARK", draft=DSPARK_DRAFT, **flags)
    assert found.draft_kv_dtype == dtype


def test_sparse_latent_rows_are_scaled_unless_a_raw_layout_is_used():
    assert resolved("made-up-glm5-next", "h200", kv_cache_dtype="fp8_e4m3").scaled_latent_rows
    assert not resolved("made-up-glm5-next", "h200").scaled_latent_rows
    assert not resolved("made-up-glm5-next", "b200").scaled_latent_rows
    tilelang = {"dsa_prefill_backend": "tilelang", "dsa_decode_backend": "tilelang"}
    assert not resolved("made-up-glm5-next", "h200", kv_cache_dtype="fp8_e4m3", **tilelang).scaled_latent_rows


@pytest.mark.parametrize(
    ("declared", "served"), [("float32", "float16"), ("float16", "float16"), ("bfloat16", "bfloat16")]
)
def test_a_config_in_float32_is_served_in_float16(declared, served):
    shape = replace(shape_of("granite-4.0-h-small"), dtype=declared)
    found = resolve_flags(shape, Flags(), device_of("h200"), switches_for())
    assert found.kv_dtype == served
    assert resolve_flags(shape, Flags(dtype="float"), device_of("h200"), switches_for()).kv_dtype == "float32"


def test_a_compute_dtype_that_does_not_exist():
    with pytest.raises(UsageError, match="fp7"):
        resolved(dtype="fp7")


@pytest.mark.parametrize(
    ("platform", "backend", "radix_off"),
    [("h200", None, False), ("b200", None, True), ("b200", "triton", False), ("h200", "flashinfer", True)],
)
def test_deterministic_inference_keeps_the_radix_cache_on_few_kernels(platform, backend, radix_off):
    found = resolved("kimi-linear-48b-a3b", platform, enable_deterministic_inference=True, attention_backend=backend)
    assert found.disable_radix_cache is radix_off


@pytest.mark.parametrize(
    ("model", "backend"), [("qwen3-next-80b-a3b", "trtllm_mha"), ("made-up-glm5-next", "flashinfer")]
)
def test_kernels_that_are_not_deterministic(model, backend):
    with pytest.raises(LaunchRefusedError) as refused:
        resolved(model, "b200", enable_deterministic_inference=True, attention_backend=backend)
    assert refused.value.reason == "deterministic_backend"


@pytest.mark.parametrize(("asked", "dtype"), [(None, "bfloat16"), ("auto", "bfloat16"), ("fp8_e4m3", "fp8_e4m3")])
def test_the_dtype_of_index_keys(asked, dtype):
    assert resolved(qsa_indexer_dtype=asked).qsa_indexer_dtype == dtype


HONOURED = {"SGLANG_AITER_HONOR_EXPLICIT_MEM_FRACTION": "1"}
MI355X = Device(name="mi355x", memory_mib=294_891, compute_capability=(9, 0), verified=False, rocm=True)


def on_rocm(model, version="0.5.23", env=None, **flags):
    return resolve_flags(shape_of(model), flags_from_mapping(flags, env), MI355X, switches_for(version))


@pytest.mark.parametrize(
    ("model", "flags", "backend", "fraction"),
    [
        ("qwen3.5-27b", {"mem_fraction_static": 0.85}, "aiter", 0.85 * 0.85),
        ("qwen3-next-80b-a3b", {"tp_size": 2}, "aiter", 0.911 * 0.85),
        ("qwen3.5-27b", {"mem_fraction_static": 0.85, "context_length": 8192}, "aiter", 0.85),
        ("qwen3.5-27b", {"mem_fraction_static": 0.85, "attention_backend": "triton"}, "triton", 0.85),
        ("kimi-k3", {"tp_size": 8, "mem_fraction_static": 0.85}, "triton", 0.85),
        ("kimi-linear-48b-a3b", {"tp_size": 2}, "aiter", 0.911 * 0.85),
        ("kimi-linear-48b-a3b", {"tp_size": 4}, "triton", 0.91),
    ],
)
def test_amd_cards_as_the_engine_resolves_them(model, flags, backend, fraction):
    """Recorded from release 0.5.23 on a stand-in for the platform."""
    found = on_rocm(model, **flags)
    assert (found.attention_backend, found.mem_fraction_static) == (backend, fraction)


@pytest.mark.parametrize(
    ("version", "env", "asked", "share"),
    [
        ("0.5.18", HONOURED, 0.8, 0.85),
        ("0.5.19", HONOURED, 0.8, 1.0),
        ("0.5.19", HONOURED, None, 0.85),
        ("0.5.19", {}, 0.8, 0.85),
    ],
)
def test_a_given_fraction_may_stand_under_aiter_from_one_release_on(version, env, asked, share):
    flags = {} if asked is None else {"mem_fraction_static": asked}
    plain = on_rocm("qwen3.5-27b", version, attention_backend="triton", **flags).mem_fraction_static
    found = on_rocm("qwen3.5-27b", version, env, **flags)
    assert found.mem_fraction_static == plain * share


def test_the_shrunk_fraction_says_why():
    found = resolved("qwen3.5-27b", "h200", attention_backend="aiter", mem_fraction_static=0.85)
    assert found.mem_fraction_static == 0.85 * 0.85
    assert any("aiter" in str(origin) for origin in found.origins if "mem_fraction_static" in str(origin))
