"""Values that no launch can mean are refused by name; values that the engine refuses itself are left to it."""

import pytest

from poolsplit.engines.sglang.flags import flags_from_mapping
from poolsplit.errors import UsageError


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("tp_size", 0, "at least 1"),
        ("page_size", -16, "at least 1"),
        ("tp_size", "4", "a whole number"),
        ("tp_size", True, "a whole number"),
        ("tp_size", 2.0, "a whole number"),
        ("mem_fraction_static", float("nan"), "a number"),
        ("mamba_full_memory_ratio", float("inf"), "a number"),
        ("mamba_full_memory_ratio", -1, "above -1"),
        ("mamba_full_memory_ratio", 1e308, "at most 1e+100"),
        ("max_mamba_cache_size", 10**400, "63 bits"),
        ("chunked_prefill_size", 10**18, "at most 2147483647"),
        ("disable_radix_cache", 1, "a switch"),
        ("kv_cache_dtype", 8, "a word"),
    ],
)
def test_nonsense_is_named(name, value, expected):
    with pytest.raises(UsageError) as refused:
        flags_from_mapping({name: value})
    assert f"--{name.replace('_', '-')}" in refused.value.message
    assert expected in refused.value.hint
    assert len(refused.value.message) < 120


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("max_running_requests", 0),
        ("max_mamba_cache_size", 0),
        ("mamba_full_memory_ratio", 0),
        ("mem_fraction_static", 1),
        ("dcp_size", 0),
        ("page_size", None),
    ],
)
def test_values_with_an_answer_pass(name, value):
    assert getattr(flags_from_mapping({name: value}), name) == value


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("SGLANG_VLM_CACHE_SIZE_MB", "much"),
        ("SGLANG_SWA_EVICTION_INTERVAL", "1.5"),
        ("SGLANG_PP_LAYER_PARTITION", "a,b"),
        ("SGLANG_PP_LAYER_PARTITION", "-4,68"),
        ("SGLANG_PP_LAYER_PARTITION", "20,"),
    ],
)
def test_variables_that_cannot_be_read_are_named(name, value):
    with pytest.raises(UsageError, match=name):
        flags_from_mapping({}, {name: value})


@pytest.mark.parametrize(
    ("name", "value"),
    [("SGLANG_VLM_CACHE_SIZE_MB", "0"), ("SGLANG_PP_LAYER_PARTITION", "20, 28"), ("HOME", "/anywhere")],
)
def test_other_variables_pass(name, value):
    assert flags_from_mapping({}, {name: value}).env == {name: value}
