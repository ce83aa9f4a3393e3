"""Architectures and kernels that some releases list and others do not; `NAME_18` is the list of release 0.5.18.

Source: each wheel's own lists, read; held by the golden answers of eight releases.
"""

from __future__ import annotations

KDA_WITH_BAILING = frozenset(
    {
        "KimiLinearForCausalLM",
        "KimiK3ForConditionalGeneration",
        "BailingMoeV3ForCausalLM",
        "BailingMoeV3VLForConditionalGeneration",
    }
)

MULTIMODAL_16 = frozenset(
    {
        "Qwen3_5ForConditionalGeneration",
        "Qwen3_5MoeForConditionalGeneration",
        "InternS2MobiusForConditionalGeneration",
    }
)
MULTIMODAL_18 = MULTIMODAL_16 | {"KimiK3ForConditionalGeneration"}
MULTIMODAL_20 = MULTIMODAL_18 | {"Glm5NextForConditionalGeneration"}
MULTIMODAL_22 = MULTIMODAL_20 | {"Qwen4ExpForConditionalGeneration"}
KDA_BY_CONFIG = frozenset({"KimiLinearForCausalLM", "KimiK3ForConditionalGeneration"})
UNIFIED_LATENT = frozenset({"triton", "fa3", "trtllm_mla", "flashinfer", "cutedsl_mla", "flashmla"})
UNIFIED_DENSE = frozenset({"triton", "fa3", "fa4", "flashinfer", "trtllm_mha"})
UNIFIED_VERIFY_19 = frozenset({"triton", "trtllm_mla", "cutedsl_mla"})
UNIFIED_VERIFY_DENSE = frozenset({"triton", "flashinfer", "fa3"})
UNIFIED_VERIFY_LATENT = frozenset({"triton", "trtllm_mla", "cutedsl_mla", "flashmla", "flashinfer", "fa3"})
UNLISTED_21 = frozenset({"MiniCPMV4_7ForConditionalGeneration"})
UNLISTED_20 = UNLISTED_21 | {"BailingMoeV3VLForConditionalGeneration"}
UNLISTED_19 = UNLISTED_20 | {
    "Glm5NextForConditionalGeneration",
    "NemotronH_Omni_Reasoning_V3",
    "Qwen4ExpForConditionalGeneration",
}
UNLISTED_18 = UNLISTED_19 | {"BailingMoeV3ForCausalLM", "Qwen3_5ForCausalLM", "Qwen3_5MoeForCausalLM"}
UNLISTED_17 = UNLISTED_18 | {"InternS2MobiusForConditionalGeneration"}
UNLISTED_16 = UNLISTED_17 | {"KimiK3ForConditionalGeneration", "Lfm2MoeForCausalLM"}
UNREADABLE_22 = frozenset({"MiniCPMV4_7ForConditionalGeneration"})
UNREADABLE_20 = UNREADABLE_22 | {"GigaChat35ForCausalLM", "BailingMoeV3VLForConditionalGeneration"}
UNREADABLE_19 = UNREADABLE_20 | {
    "Glm5NextForConditionalGeneration",
    "Qwen4ExpForConditionalGeneration",
    "NemotronH_Omni_Reasoning_V3",
    "MambaForCausalLM",
    "FalconMambaForCausalLM",
    "Mamba2ForCausalLM",
}
UNREADABLE_18 = UNREADABLE_19 | {"MiniCPMSALAForCausalLM"}
UNREADABLE_17 = UNREADABLE_18 | {"InternS2MobiusForConditionalGeneration"}
UNREADABLE_16 = UNREADABLE_17 | {
    "KimiK3ForConditionalGeneration",
    "Qwen3_5ForCausalLM",
    "Qwen3_5MoeForCausalLM",
}
"""Architectures without a model in the release, or whose config it cannot read. Bailing V3 is not among them: early
releases take it for Bailing 2.5."""

NEMOTRON_H = frozenset({"NemotronHForCausalLM", "NemotronHPuzzleForCausalLM", "NemotronH_Omni_Reasoning_V3"})
