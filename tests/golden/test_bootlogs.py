"""Real log fragments: every figure that a reader must find, and every figure that follows from them."""

import json

import pytest

from poolsplit import api
from poolsplit.report.read_document import read_document
from support import GOLDEN, SHARED

COMMITTED = GOLDEN / "bootlogs"
WHOLE = SHARED / "bootlogs"
FOLDERS = [folder for folder in (COMMITTED, WHOLE) if folder.is_dir()]
CASES = [
    pytest.param(path, id=f"{path.parent.parent.name}-{path.stem}")
    for folder in FOLDERS
    for path in sorted(folder.glob("*.json"))
]
MIB = 1 << 20
FLAGS_NOT_IN_THE_LOG = {
    "sgl-cap9-rtx6000ada": {"max_running_requests": 32},
    "sgl-cap12-dflash2-gb10": {"max_running_requests": 16},
}
"""What the paste says beside the log, where a figure cannot be known without it."""


def read(path):
    facts = json.loads(path.read_text())
    answer = api.read_log([str(path.with_suffix(".log"))], extra_flags=FLAGS_NOT_IN_THE_LOG.get(path.stem))
    return facts, read_document(answer, [path.name])


@pytest.mark.parametrize("path", CASES)
def test_kind_and_engine(path):
    facts, document = read(path)
    boot = document["boots"][-1]
    engine = {"SGLang": "sglang", "SGLang + kvcached": "sglang", "vLLM": "vllm", "llama.cpp": "llama.cpp"}[
        facts["engine"]
    ]
    assert boot["engine"] == engine
    if engine != "sglang":
        assert boot["kind"] == "other_engine"
        assert document["findings"] == []
    elif "kvcached" in facts["engine"]:
        assert boot["kind"] == "elastic"
    elif facts["derived_truth"].get("hybrid") is False:
        assert boot["kind"] == "not_hybrid"
    elif any(
        rank.get("mamba") or rank.get("cap") or rank.get("error_not_enough")
        for rank in facts["expected_parse_by_rank"].values()
    ):
        assert boot["kind"] == "hybrid"
    else:
        assert boot["kind"] == "not_a_boot"


@pytest.mark.parametrize("path", CASES)
def test_batches_host_pools_and_refusals(path):
    facts, document = read(path)
    boot = document["boots"][-1]
    for label, rank in facts["expected_parse_by_rank"].items():
        mine = boot["ranks"].get(label, {})
        names = {
            "kind": "kind",
            "running": "running",
            "queue": "queue",
            "cached": "cached_tokens",
            "full_token": "kv_tokens",
            "full_usage": "kv_usage_fraction",
            "mamba_num": "state_slots",
            "mamba_usage": "state_usage_fraction",
        }
        for want, got in zip(rank.get("batches", []), mine.get("batches", []), strict=True):
            assert {name: got[ours] for name, ours in names.items() if got[ours] is not None} == want
        if "host_kv" in rank:
            assert {name: mine["host_kv"][name] for name in rank["host_kv"]} == rank["host_kv"]
        if "host_mamba" in rank:
            assert {name: mine["host_state"][name] for name in rank["host_mamba"]} == rank["host_mamba"]
        if "error_not_enough" in rank:
            want = rank["error_not_enough"]
            (error,) = boot["errors"]
            assert error["id"] == "not_enough_state_memory"
            assert error["figures"] == {
                "state_slots": want["computed"],
                "rest_gib": want["rest_gb"],
                "state_mib_per_slot": want["per_req_mib"],
            }
        if "init_mem_usage_gb" in rank:
            assert mine["init_mem_usage_gib"] == rank["init_mem_usage_gb"]
        for number, pool in enumerate(rank.get("kv", [])[1:]):
            got = mine["draft_kv"][number]
            assert (got["kv_tokens"], got["k_gib"], got["v_gib"]) == (pool["tokens"], pool["k_gb"], pool["v_gb"])
        for number, load in enumerate(rank.get("load_end", [])[-1:]):
            assert number == 0
            assert mine["weights_gib"] == load["usage_gb"]
            assert mine["model_class"] == load["type"]
        for want, got in zip(rank.get("graphs", []), mine.get("graphs", []), strict=False):
            assert got["what"] == want["what"]


def only_rank(document):
    return next(iter(document["boots"][-1]["ranks"].values()))


def inside(interval, value):
    return interval[0] <= value <= interval[1]


def pool_rank(document):
    return next(rank for rank in document["boots"][-1]["ranks"].values() if rank["kv_tokens"] is not None)


CHECKS = {
    "ssm_mib_per_slot": lambda d, value: inside(pool_rank(d)["ssm_bytes_per_slot_interval"], value * MIB),
    "state_mib_per_slot": lambda d, value: inside(pool_rank(d)["state_bytes_per_slot_interval"], value * MIB),
    "conv_bytes_per_slot": lambda d, value: inside(pool_rank(d)["conv_bytes_per_slot_interval"], value),
    "kv_bytes_per_token": lambda d, value: inside(pool_rank(d)["kv_bytes_per_token_interval"], value),
    "kv_bytes_per_token_target": lambda d, value: inside(pool_rank(d)["target_kv_bytes_per_token_interval"], value),
    "kv_bytes_per_token_draft": lambda d, value: inside(
        pool_rank(d)["draft_kv"][0]["kv_bytes_per_token_interval"], value
    ),
    "kv_bytes_per_token_host": lambda d, value: inside(pool_rank(d)["host_kv"]["bytes_per_token_interval"], value),
    "host_total_gb_decimal": lambda d, value: pool_rank(d)["host_total_gb_decimal"] == value,
    "rest_gib_author": lambda d, value: inside(pool_rank(d)["rest_gib_interval"], value),
    "implied_mem_fraction": lambda d, value: round(sum(pool_rank(d)["implied_mem_fraction_interval"]) / 2, 2) == value,
    "S": lambda d, value: d["boots"][-1]["slots_per_request"] == value,
    "cap": lambda d, value: d["boots"][-1]["granted_running_requests"] == value,
    "cap_default": lambda d, value: d["boots"][-1]["requests_by_slots_per_request"]["5"] == value,
    "cap_measured": lambda d, value: d["boots"][-1]["requests_by_slots_per_request"]["5"] == value,
    "S_default": lambda d, value: str(value) in d["boots"][-1]["requests_by_slots_per_request"],
    "binding": lambda d, value: d["boots"][-1]["binding"] == value,
    "cap_binding": lambda d, value: (
        value.startswith("request cap")
        and d["boots"][-1]["binding"] == "request_cap"
        and "23.8 times" in d["findings"][0]["text"]
    ),
    "hybrid": lambda d, value: d["boots"][-1]["hybrid"] is value,
    "computed": lambda d, value: d["boots"][-1]["errors"][0]["figures"]["state_slots"] == value,
    "mamba_missing": lambda d, value: d["boots"][-1]["errors"][0]["figures"]["state_missing"] == value,
    "full_missing": lambda d, value: d["boots"][-1]["errors"][0]["figures"]["kv_missing"] == value,
    "kv_pool_tokens_about": lambda d, value: inside(d["runtime"]["kv_pool_tokens_interval"], value),
    "raw_bytes_per_layer_slot": lambda d, value: d["boots"][-1]["elastic"]["raw_bytes_per_layer_slot"] == value,
    "padding_factor": lambda d, value: round(d["boots"][-1]["elastic"]["padding_factor"], 3) == value,
    "mib_per_seq": lambda d, value: d["boots"][-1]["other_engine"]["mib_per_sequence"] == value,
    "block": lambda d, value: d["boots"][-1]["other_engine"]["attention_block_tokens"] == value,
    "pad_pct": lambda d, value: d["boots"][-1]["other_engine"]["state_page_padding_percent"] == value,
    "slots_for_32": lambda d, value: d["findings"][0]["flags"] == [f"--max-mamba-cache-size {value}"],
    "slots_for_16": lambda d, value: d["findings"][0]["flags"] == [f"--max-mamba-cache-size {value}"],
    "spec_slots": lambda d, value: any(
        inside(pool_rank(d)["scratch_states_interval"], value * drafts) for drafts in (4, 6)
    ),
}
NOT_IN_THE_LOG = {
    ("sgl-cap0-kt-g16", "table"),
    ("sgl-runtime-pingpong-exhausted", "slots"),
    ("sgl-runtime-pingpong-exhausted", "worst_case_running"),
}
"""Figures of other runs, or of flags that the fragment does not show."""


@pytest.mark.parametrize("path", CASES)
def test_derived_truth(path):
    facts, document = read(path)
    for name, value in facts["derived_truth"].items():
        if (path.stem, name) in NOT_IN_THE_LOG:
            continue
        if name == "slots":
            assert inside(document["runtime"]["state_pool_slots_interval"], value)
        else:
            assert CHECKS[name](document, value), (name, value)


def followed(path):
    """Printed figures of a log that follow from the bytes that its facts give: (name, follows)."""
    facts, _ = read(path)
    truth = facts["derived_truth"]
    for label, rank in facts["expected_parse_by_rank"].items():
        mamba, pools = rank.get("mamba") or {}, rank.get("kv") or []
        rows = (mamba.get("max_mamba_cache_size") or 0) + 1
        ssm = truth.get("ssm_mib_per_slot")
        if ssm is not None and mamba.get("ssm_gb") is not None:
            yield f"{label} ssm", abs(rows * ssm / 1024 - mamba["ssm_gb"]) <= 0.005 + 1e-9
        if "state_mib_per_slot" in truth and mamba.get("ssm_gb") is not None:
            both = mamba["ssm_gb"] + mamba["conv_gb"]
            yield f"{label} ssm + conv", abs(rows * truth["state_mib_per_slot"] / 1024 - both) <= 0.01 + 1e-9
        if "conv_bytes_per_slot" in truth and mamba.get("conv_gb") is not None:
            yield f"{label} conv", abs(rows * truth["conv_bytes_per_slot"] / 2**30 - mamba["conv_gb"]) <= 0.005 + 1e-9
        if truth.get("spec_slots") and mamba.get("inter_ssm_gb") is not None:
            drafts = facts["flags"].get("speculative_num_draft_tokens", 4)
            scratch = truth["spec_slots"] * drafts * ssm / 1024
            yield f"{label} intermediate ssm", abs(scratch - mamba["inter_ssm_gb"]) <= 0.005 + 1e-9
        for pool, key in zip(pools, ("kv_bytes_per_token_target", "kv_bytes_per_token_draft"), strict=False):
            row = truth.get(key, truth.get("kv_bytes_per_token"))
            printed = pool.get("kv_gb") or (
                (pool["k_gb"] or 0) + pool["v_gb"] if pool.get("v_gb") is not None else None
            )
            if row is not None and printed is not None:
                step = 0.005 if pool.get("kv_gb") else 0.01
                yield (
                    f"{label} KV",
                    any(abs((pool["tokens"] + page) * row / 2**30 - printed) <= step + 1e-9 for page in (1, 64)),
                )


@pytest.mark.parametrize("path", CASES)
def test_printed_figures_follow_from_the_bytes(path):
    assert [name for name, follows in followed(path) if not follows] == []
