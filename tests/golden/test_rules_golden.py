"""Argument resolution, field by field, against what the real engine resolved: eight releases, odd kernels and roles."""

from dataclasses import replace

import pytest

from poolsplit.engines.sglang.flags import flags_from_mapping
from poolsplit.engines.sglang.rules import resolve_flags
from poolsplit.engines.sglang.versions import VERSIONS, switches_for
from poolsplit.errors import LaunchRefusedError
from poolsplit.shapes.families import read_model_shape
from resolve_answers import read_lines
from rule_launches import device_of, draft_of, shape_of
from support import GOLDEN, SHARED

COMMITTED = read_lines(GOLDEN / "rules_cases.jsonl.gz")
WHOLE = sorted((SHARED / "golden" / "solver").glob("golden*.jsonl.gz"))
LEFT_UNSET_BY_THE_ENGINE = {"mamba_full_memory_ratio", "swa_full_tokens_ratio", "enable_linear_replayssm_spec"}
EFFECTIVE = {"mm_reservation_gb": "mm_reservation_gib", "attn_dcp_size": "dcp_size"}


def resolve_case(case, version):
    if "config" in case:
        shape = replace(read_model_shape(case["config"], name="config"), kv_quant_dtype=None)
    else:
        shape = shape_of(case["model"])
    if case.get("checkpoint_kv_cache_quant_algo"):
        shape = replace(shape, kv_quant_dtype="fp8_e4m3")
    return resolve_flags(
        shape,
        flags_from_mapping(case["args"], case.get("env")),
        device_of(case["platform"], case.get("device_mem_mib")),
        switches_for(version),
        draft_of(case.get("draft_config") or case.get("draft_model")),
    )


def differences(found, wanted):
    return {name: (value, getattr(found, name)) for name, value in wanted.items() if getattr(found, name) != value}


@pytest.mark.parametrize("version", VERSIONS)
def test_committed_launches(version):
    rows = [row for row in COMMITTED if row["case"]["engine_version"] == version]
    assert len(rows) > 80
    for row in rows:
        case, wanted = row["case"], dict(row["want"])
        if "reason" in wanted:
            with pytest.raises(LaunchRefusedError) as refused:
                resolve_case(case, version)
            assert (refused.value.stage, refused.value.reason) == ("server_args", wanted["reason"]), case
            assert refused.value.hint
        else:
            found = resolve_case(case, version)
            assert found.mamba_full_memory_ratio == wanted.pop("state_to_kv_ratio"), case
            assert differences(found, wanted) == {}, case


@pytest.mark.skipif(not WHOLE, reason="needs the golden answers beside the project")
@pytest.mark.parametrize("path", WHOLE, ids=lambda path: path.name)
def test_every_recorded_argument(path):
    rows = read_lines(path)
    assert len(rows) >= 428
    for row in rows:
        case, result = row["case"], row["result"]
        version = result.get("version") or "0.5.23"
        if not result["ok"] and result["stage"] == "server_args":
            with pytest.raises(LaunchRefusedError) as refused:
                resolve_case(case, version)
            assert refused.value.reason == result["reason"], case
            continue
        found = resolve_case(case, version)
        wanted = {k: v for k, v in result.get("resolved", {}).items() if k not in LEFT_UNSET_BY_THE_ENGINE}
        wanted |= {EFFECTIVE.get(name, name): value for name, value in result.get("effective", {}).items()}
        wanted["launcher_reason"] = result.get("launcher_reason")
        assert differences(found, wanted) == {}, case
