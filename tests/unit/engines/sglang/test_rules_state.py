"""State in the prefix cache and out of it: strategy, overlap, dtypes, replay."""

import pytest

from poolsplit.errors import LaunchRefusedError
from rule_launches import EAGLE, resolved

SPEC_REPLAY = {**EAGLE, "enable_linear_replayssm_spec": True}
STRICT_REPLAY = {**EAGLE, "enable_gdn_replayssm_spec": True}
BF16 = {"mamba_ssm_dtype": "bfloat16"}
NO_BUFFER = {"mamba_radix_cache_strategy": "no_buffer", "disable_overlap_schedule": True}


@pytest.mark.parametrize(
    ("model", "flags", "strategy", "overlap_off", "in_cache"),
    [
        ("qwen3-next-80b-a3b", {}, "extra_buffer", False, True),
        ("qwen3-next-80b-a3b", {"disable_overlap_schedule": True}, "no_buffer", True, True),
        ("qwen3-next-80b-a3b", {"disable_overlap_schedule": True, "page_size": 64}, "extra_buffer", True, True),
        ("qwen3-next-80b-a3b", {"linear_attn_backend": "flashinfer", **BF16}, "no_buffer", True, True),
        ("qwen3-next-80b-a3b", {"disable_radix_cache": True}, "auto", False, False),
        ("qwen3-next-80b-a3b", {"tp_size": 2, "pp_size": 8}, "extra_buffer", True, True),
        ("lfm2-2.6b", {}, "no_buffer", True, True),
        ("jet-nemotron-4b", {}, "no_buffer", True, True),
        ("made-up-gigachat35", {}, "no_buffer", True, True),
        ("made-up-zaya", {}, "no_buffer", True, True),
        ("mamba-codestral-7b", {}, "auto", False, False),
        ("qwen3-8b-dense", {}, "auto", False, False),
        ("made-up-inkling", {"disable_radix_cache": True}, "extra_buffer", False, False),
        ("made-up-minicpm-sala", {}, "auto", False, False),
    ],
)
def test_auto_strategy(model, flags, strategy, overlap_off, in_cache):
    found = resolved(model, **flags)
    assert found.mamba_radix_cache_strategy == strategy
    assert found.disable_overlap_schedule is overlap_off
    assert found.uses_mamba_radix_cache is in_cache


def test_minicpm_and_decode_servers_keep_no_radix_cache():
    assert resolved("made-up-minicpm-sala").disable_radix_cache
    assert resolved(disaggregation_mode="decode").disable_radix_cache
    kept = resolved(disaggregation_mode="decode", disaggregation_decode_enable_radix_cache=True)
    assert not kept.disable_radix_cache
    assert not resolved(disaggregation_mode="prefill").disable_radix_cache


@pytest.mark.parametrize(
    ("model", "flags", "reason"),
    [
        ("qwen3-next-80b-a3b", {"mamba_radix_cache_strategy": "no_buffer"}, "no_buffer_overlap"),
        ("qwen3-next-80b-a3b", {**NO_BUFFER, "page_size": 64}, "no_buffer_page_size"),
        ("nemotron-3-nano-30b-a3b", {**NO_BUFFER, "attention_backend": "trtllm_mha"}, "no_buffer_trtllm_mha"),
        ("lfm2-2.6b", {"mamba_radix_cache_strategy": "extra_buffer"}, "extra_buffer_unsupported_arch"),
        (
            "qwen3-next-80b-a3b",
            {"mamba_radix_cache_strategy": "extra_buffer", "linear_attn_backend": "flashinfer", **BF16},
            "extra_buffer_unsupported_arch",
        ),
        ("qwen3-8b-dense", {"mamba_radix_cache_strategy": "extra_buffer"}, "strategy_needs_state"),
        (
            "qwen3-next-80b-a3b",
            {"mamba_radix_cache_strategy": "extra_buffer_lazy", "disaggregation_mode": "prefill"},
            "lazy_with_pd",
        ),
        ("qwen3-next-80b-a3b", {**EAGLE, "mamba_track_interval": 2}, "track_interval_below_draft"),
        ("qwen3-next-80b-a3b", {"page_size": 64, "mamba_track_interval": 100}, "track_interval_page"),
        ("qwen3-next-80b-a3b", {"page_size": 96, "mamba_track_interval": 192}, "state_chunk_page"),
        ("qwen3-next-80b-a3b", {"mamba_max_states_per_path": 0}, "states_per_path"),
        ("qwen3-next-80b-a3b", {"enable_mamba_cache_stochastic_rounding": True}, "stochastic_rounding"),
        (
            "qwen3-next-80b-a3b",
            {"enable_int8_mamba_checkpoint": True, "enable_hierarchical_cache": True},
            "int8_checkpoint_conflict",
        ),
    ],
)
def test_what_a_strategy_does_not_take(model, flags, reason):
    with pytest.raises(LaunchRefusedError) as refused:
        resolved(model, **flags)
    assert refused.value.reason == reason
    assert refused.value.stage == "server_args"


@pytest.mark.parametrize(
    ("version", "flags", "refused"),
    [
        ("0.5.16", EAGLE, True),
        ("0.5.16", {"speculative_algorithm": "EAGLE"}, False),
        ("0.5.17", EAGLE, False),
        ("0.5.18", EAGLE, False),
    ],
)
def test_the_lazy_strategy_with_speculation(version, flags, refused):
    launch = {"mamba_radix_cache_strategy": "extra_buffer_lazy", "version": version, **flags}
    if refused:
        with pytest.raises(LaunchRefusedError, match="extra_buffer_lazy"):
            resolved(**launch)
    else:
        assert resolved(**launch).enable_mamba_extra_buffer_lazy


def test_a_buffered_strategy_for_a_model_without_states_is_ignored_in_early_releases():
    found = resolved("qwen3-8b-dense", version="0.5.20", mamba_radix_cache_strategy="extra_buffer")
    assert not found.uses_mamba_radix_cache


@pytest.mark.parametrize(
    ("model", "flags", "env", "state", "conv"),
    [
        ("qwen3-next-80b-a3b", {}, {}, "float32", "bfloat16"),
        ("qwen3-next-80b-a3b", {"mamba_ssm_dtype": "float16"}, {}, "float16", "bfloat16"),
        ("qwen3-next-80b-a3b", {}, {"SGLANG_MAMBA_SSM_DTYPE": "bfloat16"}, "bfloat16", "bfloat16"),
        ("qwen3-next-80b-a3b", {}, {"SGLANG_MAMBA_SSM_DTYPE": "fp8"}, "float32", "bfloat16"),
        (
            "qwen3-next-80b-a3b",
            {"mamba_ssm_dtype": "float32"},
            {"SGLANG_MAMBA_SSM_DTYPE": "bfloat16"},
            "float32",
            "bfloat16",
        ),
        ("qwen3-next-80b-a3b", {}, {"SGLANG_MAMBA_CONV_DTYPE": "float32"}, "float32", "float32"),
        ("qwen3-next-80b-a3b", {}, {"SGLANG_MAMBA_CONV_DTYPE": "fp8"}, "float32", "bfloat16"),
        ("made-up-inkling", {"mamba_ssm_dtype": "float32"}, {}, "bfloat16", "bfloat16"),
        ("qwen3-next-80b-a3b", SPEC_REPLAY, {}, "float32", "bfloat16"),
    ],
)
def test_state_dtypes(model, flags, env, state, conv):
    found = resolved(model, env=env, **flags)
    assert (found.ssm_dtype, found.conv_dtype) == (state, conv)


@pytest.mark.parametrize(
    ("version", "flags", "reason"),
    [
        ("0.5.23", {"enable_linear_replayssm": True}, "replayssm_needs_no_buffer"),
        ("0.5.23", {"enable_linear_replayssm": True, **NO_BUFFER, "disaggregation_mode": "prefill"}, "replayssm_pd"),
        (
            "0.5.23",
            {"enable_linear_replayssm": True, **NO_BUFFER, "linear_attn_decode_backend": "cutedsl"},
            "replayssm_backend",
        ),
        (
            "0.5.23",
            {"enable_linear_replayssm": True, **NO_BUFFER, "linear_replayssm_cache_len": 0},
            "replayssm_ring_length",
        ),
        ("0.5.23", {**SPEC_REPLAY, "speculative_eagle_topk": 2}, "replayssm_spec_topk"),
        ("0.5.23", {**SPEC_REPLAY, "linear_attn_decode_backend": "cutedsl"}, "replayssm_backend"),
        ("0.5.23", {**SPEC_REPLAY, "disaggregation_mode": "prefill"}, "replayssm_spec_pd"),
        (
            "0.5.23",
            {**SPEC_REPLAY, "enable_linear_replayssm": True, "disable_radix_cache": True},
            "replayssm_exclusive",
        ),
        ("0.5.16", {**STRICT_REPLAY, "mamba_radix_cache_strategy": "extra_buffer"}, "replayssm_needs_no_buffer"),
        ("0.5.16", {**STRICT_REPLAY, "disaggregation_mode": "decode"}, "replayssm_pd"),
        ("0.5.16", {**STRICT_REPLAY, "linear_replayssm_cache_len": 24}, "replayssm_ring_length"),
        ("0.5.16", {**STRICT_REPLAY, "linear_replayssm_cache_len": 4}, "replayssm_ring_length"),
        ("0.5.16", {**STRICT_REPLAY, "mamba_ssm_dtype": "bfloat16"}, "replayssm_state_dtype"),
        (
            "0.5.16",
            {**STRICT_REPLAY, "enable_linear_replayssm": True, "disable_radix_cache": True},
            "replayssm_exclusive",
        ),
    ],
)
def test_replay_is_refused(version, flags, reason):
    with pytest.raises(LaunchRefusedError) as refused:
        resolved(version=version, **flags)
    assert refused.value.reason == reason


def test_replay_with_a_ragged_verify_mode_needs_a_kernel_that_writes_rings():
    ragged = {"SGLANG_RAGGED_VERIFY_MODE": "compact"}
    with pytest.raises(LaunchRefusedError, match="ragged"):
        resolved(env=ragged, **SPEC_REPLAY)


def test_flashinfer_kernels_need_bfloat16_state_on_blackwell():
    with pytest.raises(LaunchRefusedError, match="bfloat16"):
        resolved(card="b200", linear_attn_decode_backend="flashinfer")
    assert resolved(card="h200", linear_attn_decode_backend="flashinfer").ssm_dtype == "float32"


@pytest.mark.parametrize(("version", "honoured"), [("0.5.16", False), ("0.5.17", True)])
def test_skip_decode_lock_is_ignored_in_the_first_release(version, honoured):
    found = resolved(version=version, env={"SGLANG_OPT_MAMBA_SKIP_DECODE_LOCK": "1"})
    assert found.skip_decode_lock is honoured


def test_inkling_has_small_pools_of_its_own():
    found = resolved("made-up-inkling")
    assert (found.mamba_full_memory_ratio, found.swa_full_tokens_ratio) == (0.1, 0.1)
    assert found.mamba_full_memory_ratio_source == "family"
    given = resolved("made-up-inkling", mamba_full_memory_ratio=0.9)
    assert (given.mamba_full_memory_ratio, given.mamba_full_memory_ratio_source) == (0.9, "flag")
    early = resolved("made-up-inkling", version="0.5.19", mamba_full_memory_ratio=0.9)
    assert (early.mamba_full_memory_ratio, early.mamba_full_memory_ratio_source) == (0.1, "family")
