"""Flags: what a launch asks for, unset ones told from given ones."""

from dataclasses import FrozenInstanceError

import pytest

from poolsplit.engines.sglang.flags import FLAG_NAMES, Flags, flags_from_mapping
from poolsplit.errors import UsageError
from rule_launches import resolved


def test_unset_flags_are_empty():
    flags = Flags()
    assert flags.mem_fraction_static is None
    assert flags.page_size is None
    assert flags.tp_size == 1
    assert dict(flags.env) == {}


def test_flags_take_the_engine_names():
    flags = flags_from_mapping({"tp_size": 8, "mamba_full_memory_ratio": 0.5}, {"SGLANG_VLM_CACHE_SIZE_MB": "0"})
    assert (flags.tp_size, flags.mamba_full_memory_ratio, flags.env["SGLANG_VLM_CACHE_SIZE_MB"]) == (8, 0.5, "0")
    assert "env" not in FLAG_NAMES


def test_a_flag_that_does_not_reach_memory_is_named():
    with pytest.raises(UsageError) as refused:
        flags_from_mapping({"tp_size": 1, "mamba_full_ratio": 0.5})
    assert "mamba_full_ratio" in refused.value.message


def test_flags_do_not_change():
    with pytest.raises(FrozenInstanceError):
        Flags().tp_size = 2  # type: ignore[misc]


@pytest.mark.parametrize(
    ("flags", "needle"),
    [
        ({"disaggregation_mode": "both"}, "--disaggregation-mode"),
        ({"mamba_radix_cache_strategy": "lazy"}, "extra_buffer_lazy"),
    ],
)
def test_a_value_that_no_flag_takes_lists_those_it_takes(flags, needle):
    with pytest.raises(UsageError) as refused:
        resolved(**flags)
    assert needle in f"{refused.value} {refused.value.hint}"
