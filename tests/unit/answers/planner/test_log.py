"""A plan from a whole start-up log: the model's exact sizes, the printed bytes, the flags it shows."""

import pytest

from plan_cases import planned

SLOTS, TOKENS = 2157, 7_542_291
CONV_BYTES, SSM_BYTES, ROW_BYTES = 36 * 2048 * 3 * 2, 36 * 8 * 128 * 128 * 4, 6144
GIB = 1 << 30


def log_text(flags="mem_fraction_static=0.9, ", idle="9.80", tokens=TOKENS):
    conv, ssm, kv = ((SLOTS + 1) * CONV_BYTES, (SLOTS + 1) * SSM_BYTES, (tokens + 1) * ROW_BYTES / 2)
    return f"""\
[2026-11-01 10:00:00] server_args=ServerArgs(model_path='Qwen/Qwen3-Next-80B-A3B-Instruct', tp_size=4, {flags}\
kv_cache_dtype='fp8_e4m3', page_size=1, port=30000)
[2026-11-01 10:00:10 TP0] Load weight begin. avail mem=138.90 GB
[2026-11-01 10:03:00 TP0] Load weight end. elapsed=170.00 s, type=Qwen3NextForCausalLM, avail mem=95.87 GB, \
mem usage=43.03 GB.
[2026-11-01 10:03:01 TP0] max_running_requests is capped to 431 by the mamba state cache (max_mamba_cache_size=2157, \
5 state slots per request). To raise it: increase --mamba-full-memory-ratio or --max-mamba-cache-size, or halve the \
state size with --mamba-ssm-dtype bfloat16.
[2026-11-01 10:03:02 TP0] Mamba Cache is allocated. max_mamba_cache_size: {SLOTS}, \
conv_state size: {conv / GIB:.2f}GB, ssm_state size: {ssm / GIB:.2f}GB
[2026-11-01 10:03:02 TP0] KV Cache is allocated. dtype: torch.float8_e4m3fn, #tokens: {tokens}, \
K size: {kv / GIB:.2f} GB, V size: {kv / GIB:.2f} GB
[2026-11-01 10:03:02 TP0] Memory pool end. avail mem=13.80 GB
[2026-11-01 10:03:40 TP0] max_total_num_tokens={tokens}, chunked_prefill_size=8192, max_prefill_tokens=16384, \
max_running_requests=431, context_len=262144, available_gpu_mem={idle} GB
"""


def plan_of(tmp_path, text, *words):
    path = tmp_path / "server.log"
    path.write_text(text)
    return planned("--boot-log", str(path), "--context", "8192", "-q", *words)


def test_the_model_s_exact_sizes_reproduce_the_log(tmp_path):
    plan = plan_of(tmp_path, log_text())
    assert plan["constants"]["origin"] == "catalog"
    assert plan["constants"]["state_bytes_per_slot"] == CONV_BYTES + SSM_BYTES
    assert plan["constants"]["kv_bytes_per_token"] == ROW_BYTES
    assert plan["rest_origin"] == "pools"
    assert plan["rest_bytes"] == pytest.approx(81.98 * GIB, abs=10 * ROW_BYTES)
    current, best = plan["current"], plan["recommended"]
    assert (current["state_slots"], current["kv_tokens"], current["max_running_requests"]) == (SLOTS, TOKENS, 431)
    assert (best["running_requests"], best["state_to_kv_ratio"]) == (599, 1.92)
    assert plan["launch"]["tp_size"] == 4
    assert "--mamba-full-memory-ratio 1.92" in plan["launch_command"]
    assert "--port" not in plan["launch_command"]
    assert any("h200" in warning for warning in plan["warnings"])


def test_the_fraction_follows_what_stays_idle(tmp_path):
    idle = plan_of(tmp_path, log_text(idle="9.80"))["levers"]
    raised = next(lever for lever in idle if lever["name"] == "memory_fraction")
    assert "--mem-fraction-static 0.934" in raised["flags"]
    assert raised["delta_requests"] > 0
    tight = plan_of(tmp_path, log_text(idle="2.00"))["levers"]
    lowered = next(lever for lever in tight if lever["name"] == "memory_fraction")
    assert "--mem-fraction-static 0.878" in lowered["flags"]
    assert lowered["delta_requests"] < 0


def test_pools_that_the_flags_do_not_explain_are_measured(tmp_path):
    plan = plan_of(tmp_path, log_text(tokens=5_000_000))
    assert plan["constants"]["origin"] == "boot_log"
    assert plan["current"]["kv_tokens"] == 5_000_000
    assert plan["constants"]["state_bytes_per_slot"] == pytest.approx(CONV_BYTES + SSM_BYTES, rel=1e-3)


def test_flags_beside_the_log_count(tmp_path):
    plan = plan_of(tmp_path, log_text(), "--disable-overlap-schedule")
    assert plan["launch"]["disable_overlap_schedule"] is True


def test_a_model_whose_sizes_do_not_give_the_pools_is_warned_of(tmp_path):
    text = "\n".join(line for line in log_text().splitlines() if "server_args" not in line)
    other = plan_of(tmp_path, text, "moonshotai/Kimi-Linear-48B-A3B-Instruct", "--gpu", "h200", "--tp", "4")
    assert other["constants"]["origin"] == "boot_log"
    assert any("do not come out at the sizes of moonshotai/Kimi-Linear" in told for told in other["warnings"])


def test_a_folder_in_the_log_is_answered_by_the_model_that_is_named(tmp_path):
    text = log_text().replace("'Qwen/Qwen3-Next-80B-A3B-Instruct'", "'/elsewhere/weights'")
    plan = plan_of(tmp_path, text, "Qwen/Qwen3-Next-80B-A3B-Instruct")
    assert plan["constants"]["origin"] == "catalog"
    assert any("answers for the launch's /elsewhere/weights" in told for told in plan["warnings"])


K3_POOLS = """\
Mamba Cache is allocated. max_mamba_cache_size: 257, conv_state size: 0.46GB, ssm_state size: 13.04GB
KV Cache is allocated. dtype: torch.float8_e4m3fn, #tokens: 1167552, KV size: 15.03 GB
"""


def test_the_kv_dtype_that_the_log_prints_is_in_the_launch(tmp_path):
    plan = plan_of(tmp_path, K3_POOLS, "Kimi-K3", "--tp", "8")
    assert "--kv-cache-dtype fp8_e4m3" in plan["launch_command"]
    assert plan["constants"]["origin"] == "catalog"
    assert any("holds fp8_e4m3" in warning for warning in plan["warnings"])


def test_a_dtype_that_a_flag_says_is_not_written_twice(tmp_path):
    plan = plan_of(tmp_path, K3_POOLS, "Kimi-K3", "--tp", "8", "--kv-cache-dtype", "fp8_e4m3")
    assert plan["launch_command"].count("--kv-cache-dtype") == 1
    assert not any("holds fp8_e4m3" in warning for warning in plan["warnings"])


def test_a_card_that_cannot_hold_the_weights_is_not_assumed(tmp_path):
    plan = plan_of(tmp_path, K3_POOLS, "moonshotai/Kimi-K3", "--tp", "8")
    assert plan["device"] == "b300"


def test_cards_that_fit_as_well_are_named(tmp_path):
    text = log_text().replace("avail mem=138.90 GB", "").replace("avail mem=95.87 GB", "")
    plan = plan_of(tmp_path, text)
    (told,) = [warning for warning in plan["warnings"] if warning.startswith("no card is named")]
    assert plan["device"] in told
    assert "b300 as well" in told
