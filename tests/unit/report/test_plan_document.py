"""Every unknown of a plan's document stands beside its reason."""

import pytest

from plan_cases import KIMI_K3, QWEN_NEXT, planned
from poolsplit.report.plan_reasons import with_reasons

REST = ("--gpu", "h200", "--free-before", "120GiB", "--free-after", "60GiB", "-q")
NEXT = (QWEN_NEXT, *REST, "--tp", "4")
POOLS = """\
Mamba Cache is allocated. max_mamba_cache_size: 257, conv_state size: 0.46GB, ssm_state size: 13.04GB
KV Cache is allocated. dtype: torch.float8_e4m3fn, #tokens: 1167552, KV size: 15.03 GB
"""
ITSELF_A_REASON = ("reason",)


def unexplained(value, path=""):
    """Null fields without a reason beside them; a lever's figures stand beside its `reason`."""
    if isinstance(value, list):
        return [found for at, item in enumerate(value) for found in unexplained(item, f"{path}[{at}]")]
    if not isinstance(value, dict):
        return []
    missing = [
        f"{path}.{name}"
        for name, item in value.items()
        if item is None
        and not name.endswith(ITSELF_A_REASON)
        and not isinstance(value.get(f"{name}_reason"), str)
        and not isinstance(value.get("reason"), str)
    ]
    return missing + [found for name, item in value.items() for found in unexplained(item, f"{path}.{name}")]


@pytest.mark.parametrize(
    "words",
    [
        (*NEXT, "--context", "8k"),
        (*NEXT, "--context", "8k", "--concurrency", "200"),
        (*NEXT, "--context", "8k", "--max-mamba-cache-size", "100", "--compare-version", "0.5.16"),
        (*NEXT, "--lengths", "p50=2k,p99=32k", "--sessions", "20", "--session-tokens", "8k"),
        (*NEXT, "--input", "4k", "--output", "4k", "--pair"),
        (QWEN_NEXT, *REST, "--pp-size", "4", "--context", "8k", "--compare-version", "0.5.17"),
        (KIMI_K3, *REST, "--tp", "8", "--context", "8k", "--mem-fraction-static", "0.51"),
        ("thinkingmachines/Inkling", *REST, "--tp", "8", "--context", "8k"),
    ],
)
def test_no_null_is_left_unexplained(words):
    plan = planned(*words)
    plan.pop("launch")
    assert unexplained(plan) == []


def test_nor_in_a_plan_from_a_log(tmp_path):
    log = tmp_path / "boot.log"
    log.write_text(POOLS)
    plan = planned("--boot-log", str(log), "--context", "8k", "-q")
    plan.pop("launch")
    assert unexplained(plan) == []
    assert isinstance(plan["constants"]["token_equiv_published"], float)


def test_a_reason_that_is_there_stands():
    fields = with_reasons(
        {"a": None, "a_reason": "mine", "b": None, "c": 1}, {"a": "table", "b": "table", "c": "table"}
    )
    assert fields == {"a": None, "a_reason": "mine", "b": None, "b_reason": "table", "c": 1}
