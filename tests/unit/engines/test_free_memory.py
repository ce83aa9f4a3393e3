"""Free memory: sensible figures only, one for all stages or one each."""

import math

import pytest

from pool_launches import memory
from poolsplit.errors import InputError


@pytest.mark.parametrize(
    ("before", "after"), [(0.0, 0.0), (-1.0, 1.0), (math.inf, 1.0), (math.nan, 1.0), (9.0, math.nan), (1e20, 1e20)]
)
def test_figures_that_cannot_be_meant(before, after):
    with pytest.raises(InputError, match="cannot be meant"):
        memory(before, after)


def test_one_figure_a_stage():
    assert memory(100.0, (60.0, 50.0)).per_stage_gib(2) == (50.0, 50.0)
    assert memory(100.0, (60.0, 50.0), shared_minimum=False).per_stage_gib(2) == (60.0, 50.0)
    assert memory(100.0, 60.0).per_stage_gib(3) == (60.0, 60.0, 60.0)
    with pytest.raises(InputError, match="2 free sizes"):
        memory(100.0, (60.0, 50.0)).per_stage_gib(3)
