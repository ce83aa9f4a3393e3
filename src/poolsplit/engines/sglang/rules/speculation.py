"""Speculative decoding: the algorithm's defaults, and where it runs.

Source: docs/reference/start-up.md#speculation. Every algorithm caps the running requests at 48 when the launch
names none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from poolsplit.engines.sglang.refusals import refuse
from poolsplit.engines.sglang.rules import architectures as arch

if TYPE_CHECKING:
    from collections.abc import Callable

    from poolsplit.engines.sglang.rules.launch import Launch
    from poolsplit.shapes.model_shape import DraftShape

DEFAULT_RUNNING_REQUESTS = 48
_DEFAULT_STEPS = 3
_DEFAULT_BLOCK = 16
_DEFAULT_GAMMA = 7
_NGRAM_BREADTH = 10
_NGRAM_DRAFT_TOKENS = 12
_TREE_OVER_PAGES = ("flashinfer", "fa3", "triton")
_DRAFT_BACKENDS = ("flashinfer", "fa3", "fa4", "triton", "trtllm_mha")
_SM100 = 10


def settle_speculation(launch: Launch) -> None:
    """Resolve the algorithm's parameters and refuse what it does not run with."""
    algorithm = launch.speculation
    if algorithm is None:
        return
    if algorithm == "NEXTN":
        algorithm = launch.speculation = "EAGLE"
    if not launch.switches.decode_radix_checked_with_role:
        _check_decode_radix(launch)
    handler = _HANDLERS.get(algorithm)
    if handler is None:
        raise refuse("algorithm_unknown", algorithm=algorithm)
    handler(launch)


def _default_running_requests(launch: Launch) -> None:
    if launch.max_running_requests is None:
        launch.max_running_requests = DEFAULT_RUNNING_REQUESTS
        launch.origins["max_running_requests"] = "speculation, when no limit is named"
        launch.warnings.append(
            f"speculation caps the running requests at {DEFAULT_RUNNING_REQUESTS} unless `--max-running-requests` says "
            "otherwise"
        )


def _eagle(launch: Launch) -> None:
    """EAGLE, EAGLE3 and STANDALONE: a chain or tree of drafted tokens from a draft model."""
    if launch.speculation == "STANDALONE" and launch.attn_dp_size > 1:
        raise refuse("standalone_with_dp")
    _default_running_requests(launch)
    if launch.shape.architecture in arch.DRAFT_PATH_FILLED_IN:
        launch.draft_named = True
    steps, topk = _tree(launch)
    if topk > 1 and "trtllm_mha" in (launch.prefill_backend, launch.decode_backend):
        raise refuse("topk_trtllm_mha", topk=topk)
    if topk == 1:
        launch.spec_draft_tokens = steps + 1
        launch.origins["speculative_num_draft_tokens"] = "one chain: draft steps + 1"
    if topk > 1 and (launch.page_size or 1) > 1 and launch.attention_backend not in _TREE_OVER_PAGES:
        raise refuse("topk_with_pages", topk=topk, page_size_words=launch.page_size, backend=launch.attention_backend)


def _tree(launch: Launch) -> tuple[int, int]:
    """Depth and branches of the draft tree, with the defaults of a launch that names no figure at all."""
    if _adapts(launch):
        launch.spec_topk = 1
        launch.spec_steps = _DEFAULT_STEPS if launch.spec_steps is None else launch.spec_steps
    if launch.spec_steps is None:
        if launch.spec_topk is not None or launch.spec_draft_tokens is not None:
            raise refuse("spec_params_partial")
        launch.spec_steps, launch.spec_topk, launch.spec_draft_tokens = _DEFAULT_STEPS, 1, _DEFAULT_STEPS + 1
    if launch.spec_topk is None:
        raise refuse("spec_topk_unset")
    if launch.spec_topk > 1 and launch.spec_draft_tokens is None:
        raise refuse("spec_draft_tokens_unset", stage="solver[pp_rank=0]", topk=launch.spec_topk)
    return launch.spec_steps, launch.spec_topk


def _adapts(launch: Launch) -> bool:
    """Whether adaptive speculation stays on: one chain of EAGLE without attention replicas."""
    flags = launch.flags
    runs = launch.speculation in ("EAGLE", "EAGLE3") and launch.spec_topk in (None, 1)
    return flags.speculative_adaptive and runs and launch.attn_dp_size == 1 and not flags.enable_two_batch_overlap


def _ngram(launch: Launch) -> None:
    """Drafts from the prompt itself: a tree of ten branches, unless its breadth is named."""
    _default_running_requests(launch)
    breadth = launch.flags.speculative_ngram_max_bfs_breadth
    launch.spec_topk = _NGRAM_BREADTH if breadth is None else breadth
    if launch.spec_draft_tokens is None:
        launch.spec_draft_tokens = _NGRAM_DRAFT_TOKENS
        launch.origins["speculative_num_draft_tokens"] = "NGRAM's default"
    if launch.spec_steps is None:
        launch.spec_steps = launch.spec_draft_tokens // launch.spec_topk
    if launch.spec_topk > 1 and (launch.page_size or 1) > 1 and launch.attention_backend != "flashinfer":
        raise refuse(
            "topk_with_pages",
            topk=launch.spec_topk,
            page_size_words=launch.page_size,
            backend=launch.attention_backend,
        )
    if launch.attn_dp_size > 1:
        raise refuse("ngram_with_dp")


def _dflash(launch: Launch) -> None:
    """Blocks from a draft model of its own attention geometry."""
    flags = launch.flags
    if launch.attn_dp_size > 1:
        if not launch.switches.dflash_runs_with_dp:
            raise refuse("dflash_with_dp")
        if not flags.enable_dp_lm_head:
            raise refuse("dflash_dp_lm_head")
    if flags.pp_size != 1:
        raise refuse("dflash_with_pp")
    if launch.draft is None:
        raise refuse("draft_path_missing", algorithm="DFLASH")
    launch.spec_steps = launch.spec_topk = 1
    block = flags.speculative_dflash_block_size
    if block is not None:
        if launch.spec_draft_tokens not in (None, block):
            raise refuse("dflash_draft_tokens", draft_tokens=launch.spec_draft_tokens, block_size=block)
        launch.spec_draft_tokens = block
    if launch.spec_draft_tokens is None:
        launch.spec_draft_tokens = launch.draft.block_size or _DEFAULT_BLOCK
        launch.origins["speculative_num_draft_tokens"] = "the draft's block size"
    _dflash_draft_backend(launch)
    _default_running_requests(launch)


def _dflash_draft_backend(launch: Launch) -> None:
    """The draft runs on the prefill backend where it can; paged attention is for causal or windowed drafts only."""
    backend = launch.draft_attention_backend or launch.prefill_backend
    if backend not in _DRAFT_BACKENDS:
        backend = "flashinfer"
    elif backend == "trtllm_mha" and launch.switches.dflash_draft_leaves_paged:
        backend = "fa4" if launch.sm_major == _SM100 else "flashinfer"
    launch.draft_attention_backend = backend


def _dspark(launch: Launch) -> None:
    """A draft model that writes gamma tokens at once; one more is verified."""
    flags = launch.flags
    if launch.attn_dp_size > 1 and not flags.enable_dp_lm_head:
        raise refuse("dspark_dp_lm_head")
    if flags.pp_size != 1 and (launch.role != "prefill" or not launch.switches.dspark_stages_on_prefill):
        raise refuse("dspark_with_pp")
    if launch.draft is None:
        raise refuse("draft_path_missing", algorithm="DSPARK")
    launch.spec_steps = launch.spec_topk = 1
    gamma = flags.speculative_dspark_block_size or launch.draft.gamma
    if gamma is None and launch.spec_draft_tokens is None:
        gamma = _DEFAULT_GAMMA
    if gamma is not None:
        if launch.spec_draft_tokens not in (None, gamma + 1):
            raise refuse("dspark_draft_tokens", draft_tokens=launch.spec_draft_tokens, expected=gamma + 1)
        launch.spec_draft_tokens = gamma + 1
        launch.origins["speculative_num_draft_tokens"] = "the draft's gamma + 1"
    _default_running_requests(launch)


_HANDLERS: dict[str, Callable[[Launch], None]] = {
    "EAGLE": _eagle,
    "EAGLE3": _eagle,
    "STANDALONE": _eagle,
    "NGRAM": _ngram,
    "DFLASH": _dflash,
    "DSPARK": _dspark,
}


def check_role_speculation(launch: Launch) -> None:
    """The decode server's check, in the releases that make it with the role."""
    if launch.switches.decode_radix_checked_with_role:
        _check_decode_radix(launch)


def _check_decode_radix(launch: Launch) -> None:
    """A decode server that keeps a radix cache runs few algorithms."""
    algorithm = launch.speculation
    keeps_cache = launch.role == "decode" and launch.flags.disaggregation_decode_enable_radix_cache
    if keeps_cache and algorithm is not None and algorithm not in launch.switches.decode_radix_algorithms:
        raise refuse("decode_radix_with_spec", algorithm=algorithm)


def check_context_parallel_speculation(launch: Launch) -> None:
    """Some releases do not speculate under decode context parallelism."""
    if launch.flags.dcp_size > 1 and launch.speculation is not None and launch.switches.dcp_refuses_speculation:
        raise refuse("dcp_with_spec")


def eagle_draft_layers(launch: Launch) -> int | None:
    """Draft layers whose KV rides on the target's rows.

    From the named draft: its own prediction layers, else all its layers. Without one: the target's own prediction
    layers, from the release that prices them on.

    Source: docs/reference/start-up.md#draft-rows; switches `own_mtp_path_counts_one_layer` and `own_mtp_priced`.
    """
    if launch.speculation not in ("EAGLE", "EAGLE3", "STANDALONE"):
        return None
    draft = launch.draft
    if draft is not None:
        return _named_draft_layers(launch, draft)
    if launch.draft_named or launch.switches.own_mtp_priced:
        return launch.shape.num_nextn_predict_layers
    return None


def _named_draft_layers(launch: Launch, draft: DraftShape) -> int:
    """A whole model named as draft counts its prediction layers, some families one, anything else all its layers."""
    if draft.architecture in arch.ONE_DRAFT_LAYER:
        return 1
    if draft.architecture in arch.QWEN35_DRAFTS:
        return 1 if launch.switches.own_mtp_path_counts_one_layer else draft.layers
    return draft.layers if draft.num_nextn_predict_layers is None else draft.num_nextn_predict_layers


def draft_context_limit(launch: Launch) -> int | None:
    """The draft's own context length when the asked one is above it, which the runner refuses."""
    draft, asked = launch.draft, launch.flags.context_length
    if draft is None or asked is None or launch.speculation in (None, "NGRAM"):
        return None
    own = draft.context_len
    allowed = own is None or asked <= own or launch.env_flag("SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN")
    return None if allowed else own


def dflash_draft_layers(launch: Launch) -> int | None:
    """Layers of a draft with KV rows of its own geometry."""
    if launch.speculation in ("DFLASH", "DSPARK") and launch.draft is not None:
        return launch.draft.layers
    return None
