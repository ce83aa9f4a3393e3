"""MiniCPM-SALA with sparse attention brings kernels of its own, so that no card forces pages on it."""

import pytest

from poolsplit.engines.device import Device
from poolsplit.engines.sglang.flags import Flags
from poolsplit.engines.sglang.rules import resolve_flags
from poolsplit.engines.sglang.versions import switches_for
from poolsplit.hub import find_config
from poolsplit.shapes.families import read_model_shape

CARDS = {
    "b200": Device(name="b200", memory_mib=183_359, compute_capability=(10, 0)),
    "h200": Device(name="h200", memory_mib=143_771, compute_capability=(9, 0)),
}


def resolved(card, *, sparse, **flags):
    config = dict(find_config("openbmb/MiniCPM-SALA").config)
    config["sparse_config"] = {"topk": 64} if sparse else None
    shape = read_model_shape(config, name="made")
    return resolve_flags(shape, Flags(**flags), CARDS[card], switches_for(), None)


@pytest.mark.parametrize(("card", "sparse", "page_size"), [("b200", True, 1), ("b200", False, 64), ("h200", True, 1)])
def test_pages_follow_the_kernels(card, sparse, page_size):
    assert resolved(card, sparse=sparse).page_size == page_size


def test_a_named_backend_stays():
    assert resolved("b200", sparse=True, attention_backend="trtllm_mha").page_size == 64


def test_the_radix_cache_is_off_either_way():
    assert all(resolved("h200", sparse=sparse).disable_radix_cache for sparse in (True, False))
