"""A launch while it is being resolved: the one mutable object that the rules hand on."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from poolsplit.engines.sglang.release_shapes import shape_in_release
from poolsplit.errors import UsageError

if TYPE_CHECKING:
    from poolsplit.engines.device import Device
    from poolsplit.engines.sglang.flags import Flags
    from poolsplit.engines.sglang.resolved import Role, Strategy
    from poolsplit.engines.sglang.versions import Switches
    from poolsplit.shapes.model_shape import DraftShape, ModelShape

_TRUE = frozenset({"1", "true", "yes", "y"})
_ROLES: dict[str, Role] = {"null": "null", "prefill": "prefill", "decode": "decode"}
_STRATEGIES: dict[str, Strategy] = {
    "auto": "auto",
    "no_buffer": "no_buffer",
    "extra_buffer": "extra_buffer",
    "extra_buffer_lazy": "extra_buffer_lazy",
}
_Choice = TypeVar("_Choice")


def _choice(asked: str | None, known: dict[str, _Choice], flag: str, default: str) -> _Choice:
    """One of the values that a flag takes.

    Raises:
        UsageError: Any other value.
    """
    value = known.get(default if asked is None else asked)
    if value is None:
        raise UsageError(f"`{asked}` is not a value of `{flag}`", hint=f"use one of {', '.join(known)}", where=flag)
    return value


class Launch:
    """Arguments as declared so far. Each rule reads what earlier rules left, as in the engine.

    Attributes that a flag of the same name fills start from that flag; the others start empty.
    """

    __slots__ = (
        "attention_backend",
        "attn_dp_size",
        "attn_tp_size",
        "chunked_prefill_size",
        "context_len",
        "decode_attention_backend",
        "decode_graph_max_bs",
        "decode_graphs",
        "device",
        "disable_overlap",
        "disable_radix",
        "draft",
        "draft_attention_backend",
        "draft_named",
        "env",
        "flags",
        "is_multimodal",
        "kv_cache_dtype",
        "launcher_message",
        "launcher_reason",
        "linear_decode_backend",
        "linear_verify_backend",
        "mamba_ssm_dtype",
        "max_prefill_tokens",
        "max_running_requests",
        "mem_fraction_static",
        "origins",
        "page_size",
        "prefill_attention_backend",
        "prefill_graph",
        "prefill_graph_buckets",
        "prefill_graph_locked",
        "prefill_graph_max",
        "ratio",
        "role",
        "shape",
        "sm_major",
        "spec_draft_tokens",
        "spec_steps",
        "spec_topk",
        "speculation",
        "strategy",
        "swa_ratio",
        "switches",
        "uses_latent",
        "uses_state_radix",
        "warnings",
    )

    def __init__(
        self, shape: ModelShape, flags: Flags, device: Device, switches: Switches, draft: DraftShape | None
    ) -> None:
        self.shape = shape = shape_in_release(shape, switches)
        self.flags = flags
        self.device = device
        self.switches = switches
        self.draft = draft
        self.env = flags.env
        self.sm_major = device.compute_capability[0]
        self.uses_latent = shape.is_latent
        self.is_multimodal = shape.multimodal
        self.context_len = 0
        # Layout and role
        self.attn_dp_size = 1
        self.attn_tp_size = flags.tp_size
        self.role = _choice(flags.disaggregation_mode, _ROLES, "--disaggregation-mode", "null")
        # Pools
        self.mem_fraction_static = 0.0
        self.max_running_requests = flags.max_running_requests
        self.chunked_prefill_size = 0
        self.max_prefill_tokens = flags.max_prefill_tokens or 16384
        self.page_size = flags.page_size
        self.kv_cache_dtype = flags.kv_cache_dtype or "auto"
        self.swa_ratio = flags.swa_full_tokens_ratio
        self.disable_radix = flags.disable_radix_cache
        self.disable_overlap = flags.disable_overlap_schedule
        # State
        self.ratio = flags.mamba_full_memory_ratio
        self.strategy = _choice(flags.mamba_radix_cache_strategy, _STRATEGIES, "--mamba-radix-cache-strategy", "auto")
        self.uses_state_radix = False
        self.mamba_ssm_dtype = flags.mamba_ssm_dtype
        self.linear_decode_backend = flags.linear_attn_decode_backend
        self.linear_verify_backend = flags.linear_attn_verify_backend
        # Attention
        self.attention_backend = flags.attention_backend
        self.prefill_attention_backend = flags.prefill_attention_backend
        self.decode_attention_backend = flags.decode_attention_backend
        self.draft_attention_backend = flags.speculative_draft_attention_backend
        # Speculation
        self.speculation = flags.speculative_algorithm.upper() if flags.speculative_algorithm else None
        self.spec_steps = flags.speculative_num_steps
        self.spec_topk = flags.speculative_eagle_topk
        self.spec_draft_tokens = flags.speculative_num_draft_tokens
        self.draft_named = draft is not None
        # Graphs
        self.decode_graphs = True
        self.decode_graph_max_bs = flags.cuda_graph_max_bs_decode or 0
        self.prefill_graph = "breakable"
        self.prefill_graph_locked = False
        self.prefill_graph_max = flags.cuda_graph_max_bs_prefill or 0
        self.prefill_graph_buckets = 0
        # What is to be said
        self.launcher_reason: str | None = None
        self.launcher_message: str | None = None
        self.warnings: list[str] = []
        self.origins: dict[str, str] = {}

    @property
    def backend_named(self) -> bool:
        """Whether any attention backend is declared."""
        return bool(self.attention_backend or self.prefill_attention_backend or self.decode_attention_backend)

    @property
    def replicas_asked(self) -> bool:
        """Whether attention replicas are asked for: until the size is the only word for it, a switch with one counts.

        A lone replica is dropped when data parallelism is settled, after graphs and memory fraction.
        """
        return self.attn_dp_size > 1 or (self.flags.enable_dp_attention and not self.switches.attention_dp_moves)

    @property
    def prefill_backend(self) -> str | None:
        """The backend that serves prefill."""
        return self.prefill_attention_backend or self.attention_backend

    @property
    def decode_backend(self) -> str | None:
        """The backend that serves decode."""
        return self.decode_attention_backend or self.attention_backend

    @property
    def buffered(self) -> bool:
        """Whether tracking slots exist: a buffered strategy under a radix cache."""
        return not self.disable_radix and self.strategy in ("extra_buffer", "extra_buffer_lazy")

    def env_flag(self, name: str) -> bool:
        """A boolean environment variable, off when unset."""
        value = self.env.get(name)
        return value is not None and value.lower() in _TRUE
