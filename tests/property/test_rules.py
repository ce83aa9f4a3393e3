"""Whatever a launch asks for, it is resolved to arguments that fit together, or refused by a known reason."""

from hypothesis import given, settings
from hypothesis import strategies as st

from poolsplit.engines.sglang.refusals import REFUSALS
from poolsplit.engines.sglang.versions import VERSIONS
from poolsplit.errors import LaunchRefusedError
from rule_launches import CARDS, DFLASH_DRAFT, DSPARK_DRAFT, configs, resolved

SPECULATION = [None, "EAGLE", "NEXTN", "STANDALONE", "NGRAM", "DFLASH", "DSPARK"]
BACKENDS = [None, None, None, "triton", "fa3", "fa4", "flashinfer", "trtllm_mha", "trtllm_mla", "flashmla"]
FLAGS = st.fixed_dictionaries(
    {},
    optional={
        "tp_size": st.sampled_from([1, 2, 4, 8]),
        "pp_size": st.sampled_from([1, 2, 4]),
        "dp_size": st.sampled_from([1, 2, 4]),
        "enable_dp_attention": st.booleans(),
        "dcp_size": st.sampled_from([1, 1, 2, 4]),
        "page_size": st.sampled_from([1, 16, 32, 64, 128, 256]),
        "context_length": st.integers(1, 1 << 20),
        "mem_fraction_static": st.floats(0.1, 1.0),
        "max_running_requests": st.integers(1, 5000),
        "chunked_prefill_size": st.sampled_from([-1, 512, 6000, 16384]),
        "kv_cache_dtype": st.sampled_from(["auto", "bfloat16", "fp8_e4m3", "fp8_e5m2", "mxfp8", "nvfp4"]),
        "attention_backend": st.sampled_from(BACKENDS),
        "mamba_radix_cache_strategy": st.sampled_from(["auto", "no_buffer", "extra_buffer", "extra_buffer_lazy"]),
        "mamba_ssm_dtype": st.sampled_from([None, "float32", "bfloat16", "float16"]),
        "disable_radix_cache": st.booleans(),
        "disable_overlap_schedule": st.booleans(),
        "disaggregation_mode": st.sampled_from([None, None, "prefill", "decode"]),
        "speculative_algorithm": st.sampled_from(SPECULATION),
        "speculative_num_draft_tokens": st.sampled_from([None, 4, 8]),
        "enable_linear_replayssm_spec": st.booleans(),
        "enable_unified_memory": st.booleans(),
    },
)


def draft_for(algorithm):
    return {"STANDALONE": "qwen3-8b-dense", "DFLASH": DFLASH_DRAFT, "DSPARK": DSPARK_DRAFT}.get(algorithm)


def resolved_or_reason(model, card, asked):
    try:
        return resolved(model, card, **asked)
    except LaunchRefusedError as refused:
        return refused


@settings(max_examples=200, deadline=None)
@given(
    model=st.sampled_from(sorted(configs())),
    card=st.sampled_from(sorted(CARDS)),
    version=st.sampled_from(VERSIONS),
    flags=FLAGS,
)
def test_a_launch_is_resolved_or_refused_by_a_known_reason(model, card, version, flags):
    asked = {"version": version, "draft": draft_for(flags.get("speculative_algorithm")), **flags}
    found = resolved_or_reason(model, card, asked)
    if isinstance(found, LaunchRefusedError):
        assert found.reason in REFUSALS
        assert found.stage == "server_args"
        return
    assert found.page_size >= 1
    assert found.attn_tp_size * found.attn_dp_size * found.attn_cp_size == found.tp_size
    assert found.enable_mamba_extra_buffer <= (not found.disable_radix_cache)
    assert found.enable_mamba_extra_buffer_lazy <= found.enable_mamba_extra_buffer
    assert found.uses_mamba_radix_cache <= (not found.disable_radix_cache)
    assert found.pp_size == 1 or found.disable_overlap_schedule
    assert (found.speculative_algorithm is None) or found.max_running_requests is not None
    if found.uses_mamba_radix_cache and found.mamba_radix_cache_strategy == "no_buffer":
        assert found.disable_overlap_schedule
    assert flags.get("mem_fraction_static") in (None, found.mem_fraction_static)
