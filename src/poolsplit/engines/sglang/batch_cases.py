"""Launches as lines of JSON, in and out: one case a line, one answer a line, with the engine's own field names.

A line may hold bare `Infinity`, which is no JSON: such a line takes the slower reader. Equal configs are decoded once.
"""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import msgspec

from poolsplit.engines.device import Device
from poolsplit.engines.free_memory import FreeMemory
from poolsplit.engines.sglang.versions import DEFAULT_VERSION
from poolsplit.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from poolsplit.engines.resolved_pools import ResolvedPools, StateGeometry
    from poolsplit.errors import LaunchRefusedError, PoolsplitError

NO_CONFIG = msgspec.Raw()
KV_ALGORITHMS = {"FP8": "fp8_e4m3", "NVFP4": "nvfp4"}
"""What a checkpoint's quantisation config may declare for KV rows, and the dtype that it means."""
_PLATFORMS: dict[str, tuple[int, tuple[int, int]]] = {
    "a100": (81920, (8, 0)),
    "h100": (81559, (9, 0)),
    "h200": (143771, (9, 0)),
    "b200": (183359, (10, 0)),
    "b300": (275040, (10, 3)),
    "rtx4090": (24564, (8, 9)),
    "rtx5090": (32607, (12, 0)),
}
"""Cards of the golden answers: MiB as the driver reports them, compute capability."""
_TORCH_NAMES = {
    "float32": "torch.float32",
    "float16": "torch.float16",
    "bfloat16": "torch.bfloat16",
    "fp8_e4m3": "torch.float8_e4m3fn",
    "fp8_e5m2": "torch.float8_e5m2",
    "mxfp8": "torch.float8_e4m3fn",
    "nvfp4": "torch.float4_e2m1fn_x2",
    "fp4_mx_block16": "torch.float4_e2m1fn_x2",
}


class BatchCase(msgspec.Struct, frozen=True, gc=False):
    """One launch of a batch."""

    pre_model_load_gb: float
    available_gb: float | list[float]
    id: str | int | None = None
    model: str | None = None
    config: msgspec.Raw = NO_CONFIG
    draft_model: str | None = None
    draft_config: msgspec.Raw = NO_CONFIG
    args: dict[str, Any] = {}
    env: dict[str, str | int | float | bool] = {}
    platform: str = "h200"
    device_mem_mib: int | None = None
    rank_reduce_min: bool = True
    extra_mamba_cache_bytes_per_req: int = 0
    checkpoint_kv_cache_quant_algo: str | None = None
    engine_version: str = DEFAULT_VERSION
    set: dict[str, Any] = {}
    """Resolved arguments that are forced past validation."""

    @property
    def memory(self) -> FreeMemory:
        """Free memory of the case."""
        after = self.available_gb
        return FreeMemory(
            before_gib=self.pre_model_load_gb,
            after_gib=tuple(after) if isinstance(after, list) else (after,),
            shared_minimum=self.rank_reduce_min,
            extra_slot_bytes=self.extra_mamba_cache_bytes_per_req,
        )

    @property
    def device(self) -> Device:
        """Card of the case.

        Raises:
            InputError: A platform that is not one of the golden ones.
        """
        known = _PLATFORMS.get(self.platform)
        if known is None:
            raise InputError(
                f"`{self.platform}` is not a platform of a batch", hint=f"known are {', '.join(_PLATFORMS)}"
            )
        memory_mib = known[0] if self.device_mem_mib is None else self.device_mem_mib
        return Device(name=self.platform, memory_mib=memory_mib, compute_capability=known[1])


_CASE_DECODER = msgspec.json.Decoder(BatchCase)
_RESULT_ENCODER = msgspec.json.Encoder()


def read_case(line: bytes) -> BatchCase:
    """One case of a batch.

    Raises:
        InputError: Not a case: the message names the field.
    """
    try:
        return _CASE_DECODER.decode(line)
    except msgspec.ValidationError as error:
        raise InputError(f"not a case: {error}") from None
    except msgspec.DecodeError:
        return _read_loose_case(line)


def id_of(line: bytes) -> object:
    """The `id` of a line that is no case; None where there is none."""
    try:
        fields = json.loads(line)
    except ValueError:
        return None
    return fields.get("id") if isinstance(fields, dict) else None


def config_text(raw: msgspec.Raw) -> bytes:
    """A config as it stood in the line; empty where there is none, or `null`."""
    text = bytes(raw)
    return b"" if text == b"null" else text


def decode_config(raw: bytes) -> Mapping[str, Any]:
    """A config as it stood in a line.

    Raises:
        InputError: Not an object.
    """
    try:
        config = json.loads(raw)
    except ValueError as error:
        raise InputError(f"a config is not JSON: {error}") from None
    if not isinstance(config, dict):
        raise InputError("a config is not an object")
    return config


def write_answer(case_id: object, pools: ResolvedPools) -> bytes:
    """One answered case as a line."""
    return _RESULT_ENCODER.encode(answer_record(case_id, pools)) + b"\n"


def write_refusal(case_id: object, error: LaunchRefusedError, launcher_reason: str | None) -> bytes:
    """One refused case as a line."""
    record = {
        "id": case_id,
        "ok": False,
        "stage": error.stage,
        "reason": error.reason,
        "figures": {name: value if math.isfinite(value) else None for name, value in error.figures.items()},
        "message": error.message,
        "hint": error.hint,
        "launcher_reason": launcher_reason,
    }
    return _RESULT_ENCODER.encode(record) + b"\n"


def write_unreadable(case_id: object, error: PoolsplitError) -> bytes:
    """One case that could not be read as a line."""
    record = {"id": case_id, "ok": False, "stage": "input", "reason": "unreadable", "figures": {}}
    return _RESULT_ENCODER.encode({**record, "message": str(error), "hint": error.hint}) + b"\n"


def answer_record(case_id: object, pools: ResolvedPools) -> dict[str, Any]:
    """The fields of one answered case, by the engine's names."""
    stages = pools.stages
    return {
        "id": case_id,
        "ok": True,
        "max_mamba_cache_size": pools.state_slots,
        "max_total_num_tokens": pools.kv_tokens,
        "logical_tokens": pools.logical_tokens,
        "max_running_requests": pools.max_running_requests,
        "mamba_ratio": pools.slots_per_request,
        **_state_record(pools.state),
        "rest_bytes": [stage.kv_budget_bytes for stage in stages],
        "cell_size": [stage.kv_bytes_per_token for stage in stages],
        "layer_split": [(stage.start_layer, stage.end_layer) for stage in stages],
        "mamba_layers_per_stage": [stage.state_layers for stage in stages],
        "full_layers_per_stage": [stage.kv_layers for stage in stages],
        "kv_cache_dtype": _TORCH_NAMES[pools.kv_dtype],
        "context_len": pools.context_len,
        "full_max_total_num_tokens": pools.full_tokens,
        "swa_max_total_num_tokens": pools.window_tokens,
        "unified_total_bytes": pools.unified_bytes,
        "pp_max_micro_batch_size": pools.pp_max_micro_batch_size,
        "launcher_reason": pools.launcher_reason,
    }


_NO_STATE = dict.fromkeys(
    ("mamba_cache_per_req", "stage_per_req", "conv_shapes", "temporal_shape", "conv_dtype", "ssm_dtype")
)


def _state_record(state: StateGeometry | None) -> Mapping[str, Any]:
    if state is None:
        return _NO_STATE
    return {
        "mamba_cache_per_req": state.bytes_per_slot,
        "stage_per_req": state.charged_bytes_per_slot,
        "conv_shapes": state.conv_shapes,
        "temporal_shape": state.temporal_shape,
        "conv_dtype": _TORCH_NAMES[state.conv_dtype],
        "ssm_dtype": _TORCH_NAMES[state.state_dtype],
    }


def _read_loose_case(line: bytes) -> BatchCase:
    """A line with bare `Infinity` or `NaN`: configs are kept as text again, so that equal ones stay equal."""
    try:
        fields = json.loads(line)
    except ValueError as error:
        raise InputError(f"not JSON: {error}") from None
    if not isinstance(fields, dict):
        raise InputError("not a case: it is no object")
    for name in ("config", "draft_config"):
        if fields.get(name) is not None:
            fields[name] = msgspec.Raw(json.dumps(fields[name]).encode())
    try:
        return msgspec.convert(fields, BatchCase)
    except msgspec.ValidationError as error:
        raise InputError(f"not a case: {error}") from None
