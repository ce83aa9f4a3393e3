"""What an answer must say about its own limits: options that the rules do not follow."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from poolsplit.engines.sglang.rules.launch import Launch

_SM100 = 10


def add_notices(launch: Launch) -> None:
    """Warn where the engine goes on in a way that is not computed here."""
    if not launch.device.verified:
        launch.warnings.append(
            f"{launch.device.name} was not held against the engine: read this answer as not verified"
        )
    if launch.env_flag("SGLANG_ENABLE_POST_CAPTURE_KV_SIZING"):
        launch.warnings.append("KV pools sized after graph capture are not computed: these are the pools before it")
    flags = launch.flags
    if flags.speculative_adaptive:
        launch.warnings.append(
            "adaptive speculation changes its draft tokens while it runs: the named ones are computed"
        )
    prefill = flags.linear_attn_prefill_backend or flags.linear_attn_backend
    if prefill == "flashinfer" and launch.sm_major >= _SM100:
        launch.warnings.append(
            "flashinfer prefill of linear attention needs CUDA 13 on this card, which is not checked"
        )
