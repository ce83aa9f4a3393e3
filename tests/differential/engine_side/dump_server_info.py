"""Run by an interpreter that has the engine: what its info answer holds for solved launches.

Reads one JSON list of cases (as the harness of the solver takes them) on stdin; prints one JSON object a case:
`info` (the answer of `/server_info`) and `solved` (what the real solver gave on the first stage).
"""

import json
import sys

import oracle_versions  # the harness of the golden answers; the caller puts it on the path


class Informed(oracle_versions.VersionedOracle):
    """Keeps the info answer of the last solved launch."""

    answer = None

    def _rank(self, case, server_args, pp_rank, *rest):
        solved = super()._rank(case, server_args, pp_rank, *rest)
        if pp_rank == 0:
            self.answer = {"info": self._info(server_args, solved), "solved": solved}
        return solved

    @staticmethod
    def _info(server_args, solved):
        from sglang.srt.managers.scheduler_components.memory_usage import build_memory_usage
        from sglang.srt.runtime_context import get_context, get_parallel
        from sglang.srt.utils.common import build_server_info
        from sglang.version import __version__

        tokens = solved["max_total_num_tokens"]
        info = build_server_info(server_args, {"max_total_num_tokens": tokens, "max_req_input_len": tokens - 6})
        state = get_context().resolved_server_args_dict()
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
        workers = get_parallel().attn_dp_size
        return {**info, "internal_states": [state] * workers, "version": __version__}


def main() -> None:
    harness = Informed()
    for case in json.load(sys.stdin):
        result = harness.run(case)
        assert result["ok"], result
        harness.answer["solved"] = {**harness.answer["solved"], **{name: result[name] for name in RESULT_NAMES}}
        print(json.dumps(harness.answer, default=str))


RESULT_NAMES = ("stage_per_req", "mamba_ratio", "max_total_num_tokens")

if __name__ == "__main__":
    main()
