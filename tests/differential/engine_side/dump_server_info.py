"""Run by an interpreter that has the engine: what its info and loads answers hold for solved launches.

Reads one JSON list of cases (as the harness of the solver takes them) on stdin; prints one JSON object a case:
`info` (the answer of `/server_info`) and `solved` (what the real solver gave).
"""

import json
import os
import sys

import oracle  # the harness beside the golden answers; the caller puts it on the path


def main() -> None:
    harness = oracle.Oracle()
    for case in json.load(sys.stdin):
        print(json.dumps(_answer(harness, case), default=str))


def _answer(harness, case):
    platform = case.get("platform", "h200")
    harness.mem_mib = oracle.PLATFORMS[platform]["mem"]
    capability = oracle.PLATFORMS[platform]["cap"]
    oracle.torch.cuda.get_device_capability = lambda *_a, **_k: capability
    os.environ.clear()
    os.environ.update(harness.base_env)
    harness.rc.reset_context()
    with harness.rc.override_platform(**oracle.platform_facts(platform)):
        args = {"device": "cuda", "trust_remote_code": True, "skip_tokenizer_init": True, **case["args"]}
        args["model_path"] = harness.load_model(case, "model", "config")
        server_args = harness.sa.ServerArgs(**args)
        server_args.resolve_once()
        available = [case["available_gb"]] * args.get("pp_size", 1)
        solved = harness._rank(case, server_args, 0, args.get("tp_size", 1), available, None, [])
        return {"info": _info(harness, server_args, solved), "solved": solved}


def _info(harness, server_args, solved):
    from sglang.srt.managers.scheduler_components.memory_usage import build_memory_usage
    from sglang.srt.utils.common import build_server_info
    from sglang.version import __version__

    tokens = solved["max_total_num_tokens"]
    info = build_server_info(server_args, {"max_total_num_tokens": tokens, "max_req_input_len": tokens - 6})
    state = harness.rc.get_context().resolved_server_args_dict()
    state["effective_max_running_requests_per_dp"] = solved["max_running_requests"]
    state["memory_usage"] = build_memory_usage(
        weight_gb=30.0,
        kv_cache_gb=(tokens + 1) * solved["cell_size"] / (1 << 30),
        startup_available_gb=5.0,
        token_capacity=tokens,
        token_capacity_swa=None,
        target_graph_memory_usage=None,
        draft_graph_memory_usage=None,
    )
    workers = harness.rc.get_parallel().attn_dp_size
    return {**info, "internal_states": [state] * workers, "version": __version__}


if __name__ == "__main__":
    main()
