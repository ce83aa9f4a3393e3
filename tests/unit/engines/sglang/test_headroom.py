"""Bytes allocated beside the reservation, as the real pool has them."""

import pytest

from plan_cases import deployment
from poolsplit.engines.sglang.headroom import buffers_beside

QWEN = "Qwen/Qwen3-Next-80B-A3B-Instruct"
KIMI = "moonshotai/Kimi-K3"
EAGLE = "--speculative-algorithm EAGLE"
DECODE_RING = "--enable-linear-replayssm --mamba-radix-cache-strategy no_buffer --disable-overlap-schedule"


def spare(model, flags, rest_gib, slots, *, device=None, version="0.5.23"):
    launch = deployment(model, f"{flags} --max-mamba-cache-size {slots}", rest_gib, device=device, version=version)
    resolved = launch.resolve({})
    pools = launch.solve({}).pools
    assert pools.state_slots == slots
    found = buffers_beside(launch.shape, launch.flags, resolved, pools, launch.switches)
    buffers = {buffer.name: buffer for buffer in found}
    return {name: buffer.reserved_bytes - buffer.bytes for name, buffer in buffers.items()}, pools


def test_windows_of_drafts_overlap():
    beside, pools = spare(QWEN, f"--tp 2 {EAGLE}", 46.8663, 340)
    assert pools.max_running_requests == 48
    assert beside["verify_windows"] == 86_704_128


def test_replayed_verification_does_not_reserve_them():
    beside, _ = spare(QWEN, f"--tp 2 {EAGLE} --enable-linear-replayssm-spec", 46.8663, 607)
    assert beside["verify_windows"] == -86_704_128


def test_decode_rings_are_not_reserved():
    beside, _ = spare(QWEN, f"--tp 2 {DECODE_RING} --max-running-requests 48", 46.8663, 607)
    assert beside["decode_rings"] == -4_325_769_216


def test_decode_rings_beside_speculation():
    beside, _ = spare(QWEN, f"--tp 2 {DECODE_RING} {EAGLE}", 46.8663, 607)
    assert beside["decode_rings"] + beside["verify_windows"] == -4_239_065_088


@pytest.mark.parametrize(("extra", "bytes_spare"), [("", 0), ("--enable-linear-replayssm-spec", -625_729_536)])
def test_windows_of_kimi_are_dense(extra, bytes_spare):
    flags = f"--tp 8 {EAGLE} --speculative-num-steps 7 --speculative-eagle-topk 1 --speculative-num-draft-tokens 8"
    beside, pools = spare(KIMI, f"{flags} {extra} --max-running-requests 40", 60.0, 200)
    assert pools.max_running_requests == 40
    assert beside.get("verify_windows", 0) == bytes_spare


def test_kimi_rings_have_one_gate_a_channel():
    beside, _ = spare(KIMI, f"--tp 8 {DECODE_RING}", 60.0, 200)
    assert beside["decode_rings"] == -4_090_134_528


def test_the_padding_page_is_always_there():
    beside, pools = spare(QWEN, "--tp 4 --page-size 64", 40.0, 200)
    assert beside == {"padding_page": -64 * pools.stages[0].kv_bytes_per_token}


def test_int8_checkpoints_are_not_reserved():
    beside, _ = spare(QWEN, "--tp 2 --enable-int8-mamba-checkpoint", 46.8663, 100)
    per_layer = 16 * 128 * 128 + 16 * 128 * 4 + 4096 * 3 * 2
    assert beside["int8_checkpoints"] == -201 * per_layer * 36


@pytest.mark.parametrize(("version", "layers"), [("0.5.20", 1), ("0.5.22", 1), ("0.5.23", 0)])
def test_draft_layers_among_the_states_are_not_reserved(version, layers):
    flags = f"--tp 4 --mamba-ssm-dtype bfloat16 {EAGLE} --max-running-requests 16"
    beside, pools = spare("zai-org/GLM-5.3-Flash", flags, 40.0, 160, version=version)
    state = pools.stages[0].state
    assert beside.get("own_draft_states", 0) == -layers * (state.pool_bytes + state.verify_bytes) // 34
