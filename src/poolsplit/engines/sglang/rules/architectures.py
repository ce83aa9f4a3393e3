"""Which architectures a rule of the engine names. Facts only; the rules say what follows.

Source: docs/reference/start-up.md#strategy and docs/reference/start-up.md#family-defaults.
"""

from __future__ import annotations

QWEN_HYBRID = frozenset(
    {
        "Qwen3NextForCausalLM",
        "Qwen3_5MoeForConditionalGeneration",
        "Qwen3_5ForConditionalGeneration",
        "InternS2PreviewForConditionalGeneration",
        "InternS2MobiusForConditionalGeneration",
    }
)
"""Families whose page size SM100 cards force together with the attention backend."""

NEMOTRON_H = frozenset({"NemotronHForCausalLM", "NemotronHPuzzleForCausalLM", "NemotronH_Omni_Reasoning_V3"})
INKLING = frozenset({"InklingForConditionalGeneration", "InklingForConditionalGenerationMTP"})
KIMI = frozenset({"KimiLinearForCausalLM", "KimiK3ForConditionalGeneration"})
LFM2 = frozenset({"Lfm2ForCausalLM", "Lfm2MoeForCausalLM"})
FALCON_AND_JET = frozenset({"FalconH1ForCausalLM", "JetNemotronForCausalLM", "JetVLMForConditionalGeneration"})
MINICPM = frozenset({"MiniCPMForCausalLM", "MiniCPMSALAForCausalLM"})
BAILING_V3 = frozenset({"BailingMoeV3ForCausalLM", "BailingMoeV3VLForConditionalGeneration"})
GRANITE = "GraniteMoeHybridForCausalLM"
GLM5_NEXT = "Glm5NextForConditionalGeneration"
GIGACHAT = "GigaChat35ForCausalLM"
QWEN4_EXP = "Qwen4ExpForConditionalGeneration"

STATE_RADIX = (
    KIMI
    | BAILING_V3
    | (QWEN_HYBRID | {QWEN4_EXP, "Qwen3_5MoeForCausalLM", "Qwen3_5ForCausalLM"})
    | NEMOTRON_H
    | FALCON_AND_JET
    | LFM2
    | {
        "BailingMoeV2_5ForCausalLM",
        "MiniCPMV4_6ForConditionalGeneration",
        "MiniCPMV4_7ForConditionalGeneration",
        "ZayaForCausalLM",
        GLM5_NEXT,
        GIGACHAT,
        GRANITE,
    }
)
"""Architectures whose states live in the prefix cache (Granite only with recurrent layers)."""

EXTRA_BUFFER = (
    STATE_RADIX
    - LFM2
    - {
        "InternS2MobiusForConditionalGeneration",
        "JetNemotronForCausalLM",
        "JetVLMForConditionalGeneration",
        "ZayaForCausalLM",
        GIGACHAT,
    }
) | INKLING
"""Architectures that take the buffered strategies."""

KDA_BY_CONFIG = KIMI | {GLM5_NEXT}
"""Families whose config names its delta-rule layers in the way the prefill graph rule looks for."""

PURE_MAMBA = frozenset({"MambaForCausalLM", "FalconMambaForCausalLM", "Mamba2ForCausalLM"})
"""Models without any attention layer."""

NOT_SERVED_FAMILIES = frozenset({"bailing_linear", "bamba", "jamba", "minimax", "olmo_hybrid", "plamo2", "zamba2"})
"""Families of shapes that no release has a model class for."""

MULTIMODAL_OPT_IN = frozenset({"InklingForConditionalGeneration"})
"""Multimodal architectures that serve text only unless `--enable-multimodal` is given."""

ONE_DRAFT_LAYER = NEMOTRON_H | {"Qwen3NextForCausalLM", QWEN4_EXP}
"""Architectures that count one layer when named as a draft, whatever their config says."""

QWEN35_DRAFTS = frozenset(
    {
        "Qwen3_5ForConditionalGeneration",
        "Qwen3_5MoeForConditionalGeneration",
        "Qwen3_5ForCausalLM",
        "Qwen3_5MoeForCausalLM",
        "InternS2PreviewForConditionalGeneration",
        "InternS2MobiusForConditionalGeneration",
    }
)
"""The same from the release that learned it on; before, all their layers."""

ENCODER_SPLIT = frozenset(
    {
        "Qwen3_5ForConditionalGeneration",
        "Qwen3_5MoeForConditionalGeneration",
        "InternS2PreviewForConditionalGeneration",
        "KimiK3ForConditionalGeneration",
        GLM5_NEXT,
    }
)
"""Architectures whose encoders may run on servers of their own."""

DRAFT_PATH_FILLED_IN = frozenset({"BailingMoeV2_5ForCausalLM", QWEN4_EXP})
"""Families whose own checkpoint is taken as the draft when none is named."""
