"""A start-up log as the engine prints it, written from known figures."""

import math

GIB = 1 << 30
DTYPE_BYTES = {"torch.float32": 4, "torch.bfloat16": 2, "torch.float16": 2, "torch.float8_e4m3fn": 1}


def state_line(*, slots, conv_bytes, ssm_bytes, scratch_ssm_bytes=None, scratch_conv_bytes=None):
    line = (
        f"Mamba Cache is allocated. max_mamba_cache_size: {slots}, "
        f"conv_state size: {conv_bytes / GIB:.2f}GB, ssm_state size: {ssm_bytes / GIB:.2f}GB "
    )
    if scratch_ssm_bytes is not None:
        line += f"intermediate_ssm_state_cache size: {scratch_ssm_bytes / GIB:.2f}GB "
        line += f"intermediate_conv_window_cache size: {scratch_conv_bytes / GIB:.2f}GB "
    return line


def kv_line(*, tokens, dtype="torch.bfloat16", k_bytes=None, v_bytes=None, kv_bytes=None):
    sizes = (
        f"KV size: {kv_bytes / GIB:.2f} GB"
        if kv_bytes is not None
        else f"K size: {k_bytes / GIB:.2f} GB, V size: {v_bytes / GIB:.2f} GB"
    )
    return f"KV Cache is allocated. dtype: {dtype}, #tokens: {tokens}, {sizes}"


def summary_line(*, tokens, requests, context_len, available_gib=8.0):
    return (
        f"max_total_num_tokens={tokens}, chunked_prefill_size=8192, max_prefill_tokens=16384, "
        f"max_running_requests={requests}, context_len={context_len}, available_gpu_mem={available_gib:.2f} GB"
    )


def cap_line(*, requests, slots, per_request):
    return (
        f"max_running_requests is capped to {requests} by the mamba state cache (max_mamba_cache_size={slots}, "
        f"{per_request} state slots per request). To raise it: increase --mamba-full-memory-ratio or "
        "--max-mamba-cache-size, or halve the state size with --mamba-ssm-dtype bfloat16."
    )


def stamped(label, lines, *, start=0):
    """The lines as one rank's logger writes them."""
    tag = f" {label}" if label else ""
    return [
        f"[2026-11-02 10:{(start + at) // 60 % 60:02d}:{(start + at) % 60:02d}{tag}] {line}"
        for at, line in enumerate(lines)
    ]


def golden_log(case, result, *, model_path, version):
    """The log of one golden answer: every pipeline stage's first rank."""
    resolved_by_the_engine = {"cuda_graph_config": {"decode": {"max_bs": 8}}, "log_level": "info"}
    arguments = {"model_path": model_path, **case["args"], **resolved_by_the_engine}
    lines = [f"[2026-11-02 10:00:00] sglang version {version}", f"[2026-11-02 10:00:00] server_args={arguments!r}"]
    after = case["available_gb"] if isinstance(case["available_gb"], list) else [case["available_gb"]]
    for stage, layers in enumerate(result["mamba_layers_per_stage"]):
        label = f"PP{stage} TP0" if len(result["mamba_layers_per_stage"]) > 1 else "TP0"
        free = after[stage] if len(after) > 1 else after[0]
        lines += stamped(label, _rank_lines(case, result, layers, stage, free))
    lines += stamped(
        "TP0",
        [
            summary_line(
                tokens=result["max_total_num_tokens"],
                requests=result["max_running_requests"],
                context_len=result["context_len"],
            )
        ],
    )
    return "\n".join(lines) + "\n"


def _rank_lines(case, result, layers, stage, free_gib):
    slots, tokens = result["max_mamba_cache_size"], result["max_total_num_tokens"]
    conv = sum(math.prod(shape) for shape in result["conv_shapes"]) * DTYPE_BYTES[result["conv_dtype"]] * layers
    ssm = math.prod(result["temporal_shape"]) * DTYPE_BYTES[result["ssm_dtype"]] * layers
    state = state_line(slots=slots, conv_bytes=(slots + 1) * conv, ssm_bytes=(slots + 1) * ssm)
    drafts = result["resolved"]["speculative_num_draft_tokens"]
    if drafts:
        scratch_gib = (result["max_running_requests"] + 1) * drafts * ssm / GIB
        state += f"intermediate_ssm_state_cache size: {scratch_gib:.2f}GB "
    return [
        f"Load weight begin. avail mem={case['pre_model_load_gb']:.2f} GB",
        f"Load weight end. elapsed=9.00 s, type=Some, avail mem={free_gib:.2f} GB, mem usage=1.00 GB.",
        state,
        _kv(result, stage, tokens, with_sizes=not drafts),
        "Memory pool end. avail mem=5.00 GB",
    ]


def _kv(result, stage, tokens, *, with_sizes):
    """The KV line; without sizes where a draft's rows are part of a row's price and have a line of their own."""
    if not with_sizes:
        return f"KV Cache is allocated. dtype: {result['kv_cache_dtype']}, #tokens: {tokens}, ..."
    kv_bytes = int(result["cell_size"][stage]) * (tokens + result["effective"]["page_size"])
    sizes = {"kv_bytes": kv_bytes} if result["use_mla"] else {"k_bytes": kv_bytes // 2, "v_bytes": kv_bytes // 2}
    return kv_line(tokens=tokens, dtype=result["kv_cache_dtype"], **sizes)
