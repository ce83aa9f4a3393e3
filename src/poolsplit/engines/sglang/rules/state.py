"""The recurrent state: its dtype, its kernels, and the options that replay or compress it.

Source: docs/reference/start-up.md#state-shapes (dtypes) and docs/reference/start-up.md#replay-rings.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from poolsplit.engines.sglang.refusals import refuse

if TYPE_CHECKING:
    from poolsplit.engines.sglang.rules.launch import Launch

DEFAULT_RING_LENGTH = 16
_SM100 = 10
_DTYPES = frozenset({"float32", "bfloat16", "float16"})


def check_state_options(launch: Launch) -> None:
    """Options of the state pool that do not depend on its kernels."""
    flags = launch.flags
    per_path = flags.mamba_max_states_per_path
    if per_path is not None and (per_path == 0 or per_path < -1):
        raise refuse("states_per_path", value=per_path)
    if flags.enable_mamba_cache_stochastic_rounding:
        triton = flags.mamba_backend in (None, "triton")
        if launch.mamba_ssm_dtype != "float16" or (triton and launch.sm_major != _SM100):
            raise refuse("stochastic_rounding")
    if flags.enable_int8_mamba_checkpoint:
        _check_int8(launch)


def _check_int8(launch: Launch) -> None:
    flags = launch.flags
    conflicts = (
        (flags.enable_hierarchical_cache, "the hierarchical cache"),
        (flags.radix_cache_backend is not None, "a radix cache backend of its own"),
        (flags.enable_lmcache, "LMCache"),
    )
    for given, other in conflicts:
        if given:
            raise refuse("int8_checkpoint_conflict", other=other)


def settle_linear_attention(launch: Launch) -> None:
    """Kernels of the recurrent layers, then the two replay options on top of them."""
    flags = launch.flags
    base = flags.linear_attn_backend or "triton"
    dtype = launch.mamba_ssm_dtype
    if launch.linear_decode_backend is None and base != "helion" and launch.sm_major == _SM100 and dtype == "bfloat16":
        launch.linear_decode_backend = "flashinfer"
    decode = launch.linear_decode_backend or base
    if decode == "flashkda":
        decode = launch.linear_decode_backend = "triton"
    if decode == "flashinfer" and dtype != "bfloat16" and launch.sm_major >= _SM100:
        raise refuse("linear_attn_state_dtype")
    if flags.enable_linear_replayssm:
        _check_decode_replay(launch, decode)
    if flags.enable_linear_replayssm_spec or flags.enable_gdn_replayssm_spec:
        _check_verify_replay(launch, decode)


def _check_decode_replay(launch: Launch, decode: str) -> None:
    """Replay while decoding: triton, no buffered strategy, one server."""
    if decode not in launch.switches.replay_decode_backends:
        raise refuse("replayssm_backend", backend=decode)
    if launch.buffered:
        raise refuse("replayssm_needs_no_buffer")
    if launch.role != "null":
        raise refuse("replayssm_pd")
    if ring_length(launch) < 1:
        raise refuse("replayssm_ring_length", length=ring_length(launch), expected="it must be positive")


def _check_verify_replay(launch: Launch, decode: str) -> None:
    """Replay while verifying: a linear chain; sets float32 state when no dtype is named."""
    flags, switches = launch.flags, launch.switches
    if launch.spec_topk not in (None, 1):
        raise refuse("replayssm_spec_topk", topk=launch.spec_topk)
    if decode not in switches.replay_verify_backends:
        raise refuse("replayssm_backend", backend=decode)
    if switches.replay_verify_strict:
        _check_strict_verify_replay(launch)
        return
    writes_rings = launch.linear_verify_backend in ("triton", "nv_cutedsl")
    if _ragged(launch) and not (launch.speculation in ("DSPARK", "DFLASH") and writes_rings):
        raise refuse("replayssm_ragged_mode")
    if launch.role == "prefill":
        raise refuse("replayssm_spec_pd")
    if flags.enable_linear_replayssm:
        raise refuse("replayssm_exclusive")
    if launch.mamba_ssm_dtype is None:
        launch.mamba_ssm_dtype = "float32"
        launch.origins["mamba_ssm_dtype"] = "replay verification, when no dtype is named"


def _check_strict_verify_replay(launch: Launch) -> None:
    """The first release with verify replay: GDN alone, no buffered strategy asked for, float32, rings of 2^n."""
    flags = launch.flags
    buffered = flags.mamba_radix_cache_strategy in ("extra_buffer", "extra_buffer_lazy")
    if buffered and not launch.disable_radix:
        raise refuse("replayssm_needs_no_buffer")
    if launch.role != "null":
        raise refuse("replayssm_pd")
    if flags.enable_linear_replayssm:
        raise refuse("replayssm_exclusive")
    length = ring_length(launch)
    if length < 1 or length & (length - 1):
        raise refuse("replayssm_ring_length", length=length, expected="it must be a power of two")
    if launch.mamba_ssm_dtype not in (None, "float32"):
        raise refuse("replayssm_state_dtype")
    launch.mamba_ssm_dtype = "float32"


def check_ring(launch: Launch) -> None:
    """The first release also wants room for two verify steps, once the draft tokens are known."""
    drafts = launch.spec_draft_tokens
    if not launch.flags.enable_gdn_replayssm_spec or not launch.switches.replay_verify_strict or drafts is None:
        return
    length = ring_length(launch)
    if length < 2 * drafts:
        raise refuse("replayssm_ring_length", length=length, expected=f"it must be at least {2 * drafts}")


def _ragged(launch: Launch) -> bool:
    return launch.env.get("SGLANG_RAGGED_VERIFY_MODE", "static") != "static"


def ring_length(launch: Launch) -> int:
    """Steps that a replay ring holds."""
    asked = launch.flags.linear_replayssm_cache_len
    return DEFAULT_RING_LENGTH if asked is None else asked


def state_dtypes(launch: Launch) -> tuple[str, str]:
    """Dtype of the recurrent state and of the convolution windows.

    State: float32, then the config where its family reads one, then the environment, which the flag sets. Windows:
    bfloat16, then the environment. Unknown names in the environment change nothing.
    """
    if launch.shape.state is not None and launch.shape.state.kind == "sconv":
        return "bfloat16", "bfloat16"
    named = launch.mamba_ssm_dtype or launch.env.get("SGLANG_MAMBA_SSM_DTYPE")
    state = named if named in _DTYPES else (launch.shape.state_dtype or "float32")
    conv = launch.env.get("SGLANG_MAMBA_CONV_DTYPE", "bfloat16")
    return state, conv if conv in _DTYPES else "bfloat16"
