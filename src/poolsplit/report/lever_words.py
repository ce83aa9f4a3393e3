"""Changes that a plan weighs, in words; documents keep their ids."""

from __future__ import annotations

_WORDS = {
    "attention_dp": "data-parallel attention",
    "attention_tp": "tensor-parallel attention",
    "context_parallel": "context parallelism",
    "default_memory_fraction": "the default memory fraction",
    "extra_buffer": "checkpoints while decoding",
    "fewer_draft_tokens": "fewer draft tokens",
    "int8_checkpoints": "8-bit checkpoints",
    "kv_fp4": "4-bit KV",
    "kv_fp8": "8-bit KV",
    "larger_prefill_chunk": "a larger prefill chunk",
    "lazy_buffer": "checkpoint slots taken when they are needed",
    "longer_track_interval": "rarer checkpoints while decoding",
    "max_total_tokens": "a cap on KV tokens",
    "memory_fraction": "another memory fraction",
    "no_buffer": "checkpoints at chunk ends only",
    "overlap_off": "no overlap scheduling",
    "own_draft_path": "the model's own draft",
    "page_size": "another page size",
    "prefix_cache_off": "no prefix cache",
    "prefix_cache_on": "a prefix cache",
    "replay_decode": "states replayed while decoding",
    "replay_verify": "states replayed while verifying",
    "request_cap": "another request cap",
    "skip_decode_lock": "no lock on the matched state",
    "speculation_off": "no speculation",
    "stage_partition": "other cuts between the stages",
    "state_bf16": "two-byte states",
    "states_per_path": "fewer states kept on a path",
    "token_cap_off": "no cap on KV tokens",
    "unified_memory": "one buffer for both pools",
}


def lever_words(name: str) -> str:
    """A change by its id, in words."""
    return _WORDS.get(name, name.replace("_", " "))
