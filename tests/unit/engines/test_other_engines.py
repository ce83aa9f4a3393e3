"""Lines of other engines: named, with the figures that they print, whatever stands in their place."""

import pytest

from poolsplit.engines import other_engines


@pytest.mark.parametrize(
    ("form", "text", "figures"),
    [
        (
            other_engines.vllm,
            "Maximum concurrency for 262,144 tokens per request: 3.45x",
            {"max_concurrency": 3.45},
        ),
        (other_engines.vllm, "GPU KV cache size: 1,234,567 tokens", {"kv_cache_tokens": 1_234_567}),
        (other_engines.vllm, "GPU KV cache size: ,,, tokens", {}),
        (
            other_engines.tensorrt_llm,
            "[TRT-LLM] Mamba Cache: max_mamba_cache_size: 1,024, conv_state size: 0.5GB, ssm_state size: 2.5GB",
            {"state_slots": 1024, "conv_state_gib": 0.5, "ssm_state_gib": 2.5},
        ),
        (other_engines.tensorrt_llm, "[TRT-LLM] max_mamba_cache_size: ,, conv_state", {}),
    ],
)
def test_figures_of_other_engines(form, text, figures):
    assert form(text).figures == figures
