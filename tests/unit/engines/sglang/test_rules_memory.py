"""The default memory fraction and the card-size defaults under it."""

import pytest

from poolsplit.engines.device import Device
from poolsplit.engines.sglang.flags import Flags
from poolsplit.engines.sglang.rules import resolve_flags
from poolsplit.engines.sglang.rules.graphs import prefill_graph_buckets
from poolsplit.engines.sglang.versions import switches_for
from rule_launches import device_of, resolved, shape_of


@pytest.mark.parametrize(
    ("model", "version", "tp_size", "fraction"),
    [
        ("kimi-k3", "0.5.23", 8, 0.841498125),
        ("kimi-k3", "0.5.23", 1, 0.850879375),
        ("kimi-linear-48b-a3b", "0.5.17", 8, 0.897),
        ("kimi-linear-48b-a3b", "0.5.18", 8, 0.886),
        ("kimi-linear-48b-a3b", "0.5.19", 8, 0.886),
        ("kimi-linear-48b-a3b", "0.5.20", 8, 0.897),
        ("nemotron-3-nano-30b-a3b", "0.5.16", 1, 0.903),
        ("nemotron-3-nano-30b-a3b", "0.5.17", 1, 0.907),
        ("nemotron-3-nano-30b-a3b", "0.5.18", 1, 0.903),
        ("kimi-k3", "0.5.17", 32, 0.820859375),
        ("kimi-k3", "0.5.23", 32, 0.820859375),
        ("qwen3-next-80b-a3b", "0.5.16", 1, 0.903),
        ("qwen3-next-80b-a3b", "0.5.23", 1, 0.903),
    ],
)
def test_published_fractions_on_an_h200(model, version, tp_size, fraction):
    assert resolved(model, version=version, tp_size=tp_size).mem_fraction_static == fraction


@pytest.mark.parametrize(
    ("version", "fraction", "prefill_graph"),
    [
        ("0.5.16", 0.901, "disabled"),
        ("0.5.17", 0.898, "breakable"),
        ("0.5.21", 0.898, "breakable"),
        ("0.5.22", 0.903, "breakable"),
        ("0.5.23", 0.903, "breakable"),
    ],
)
def test_a_single_attention_replica_counts_for_graphs_until_the_size_is_the_only_word(version, fraction, prefill_graph):
    found = resolved("qwen3-next-80b-a3b", version=version, tp_size=1, enable_dp_attention=True, dp_size=1)
    assert found.mem_fraction_static == fraction
    assert found.prefill_graph_backend == prefill_graph
    assert found.attn_dp_size == 1


@pytest.mark.parametrize("version", ["0.5.18", "0.5.19"])
def test_the_product_with_the_vision_share_is_not_rounded(version):
    assert resolved("kimi-k3", version=version, tp_size=32).mem_fraction_static == pytest.approx(0.8114781, abs=5e-8)


def test_a_largest_graph_of_nought_reserves_nothing():
    reserved = resolved("qwen3.5-27b", tp_size=1, cuda_graph_max_bs_decode=0)
    assert reserved.decode_graph_max_bs == 0
    assert reserved.mem_fraction_static >= resolved("qwen3.5-27b", tp_size=1).mem_fraction_static


def test_a_given_fraction_stands():
    found = resolved("kimi-k3", mem_fraction_static=0.5, tp_size=8)
    assert found.mem_fraction_static == 0.5
    assert found.origin("mem_fraction_static") is None


def test_an_unknown_card_has_a_fraction_of_its_own():
    card = Device(name="new", memory_mib=None, compute_capability=(9, 0), verified=False)
    new = resolve_flags(shape_of("qwen3-next-80b-a3b"), Flags(), card, switches_for())
    assert new.mem_fraction_static == 0.95
    assert any("not verified" in warning for warning in new.warnings)
    assert (
        resolve_flags(shape_of("qwen3-next-80b-a3b"), Flags(), card, switches_for("0.5.19")).mem_fraction_static == 0.88
    )


@pytest.mark.parametrize(
    ("memory_mib", "tp_size", "version", "chunk", "graphs"),
    [
        (16000, 1, "0.5.23", 2048, 8),
        (24564, 2, "0.5.23", 4096, 48),
        (24564, 4, "0.5.23", 4096, 160),
        (24564, 2, "0.5.19", 2048, 24),
        (24564, 4, "0.5.19", 2048, 80),
        (46068, 2, "0.5.19", 4096, 32),
        (81559, 2, "0.5.19", 8192, 256),
        (143771, 4, "0.5.19", 8192, 512),
        (183359, 1, "0.5.19", 16384, 512),
    ],
)
def test_chunks_and_graphs_go_by_the_size_of_the_card(memory_mib, tp_size, version, chunk, graphs):
    found = resolve_flags(
        shape_of("granite-4.0-h-tiny"), Flags(tp_size=tp_size), device_of("h100", memory_mib), switches_for(version)
    )
    assert (found.chunked_prefill_size, found.decode_graph_max_bs) == (chunk, graphs)


@pytest.mark.parametrize(("version", "graphs"), [("0.5.21", 512), ("0.5.22", 16)])
def test_decode_graphs_stop_at_the_request_limit(version, graphs):
    assert resolved(version=version, tp_size=4, max_running_requests=16).decode_graph_max_bs == graphs


def test_a_decode_server_reserves_for_its_requests_and_not_for_prefill():
    """H100: 512 + 1.5 x 4096 + 128 + 2 x 256 MiB is below the 10 GiB floor; 8192 tokens are above it."""
    small = resolved(
        card="h100", disaggregation_mode="decode", max_running_requests=1024, speculative_num_draft_tokens=4
    )
    large = resolved(
        card="h100", disaggregation_mode="decode", max_running_requests=4096, speculative_num_draft_tokens=2
    )
    assert small.mem_fraction_static == 0.874
    assert large.mem_fraction_static == round((81559 - (512 + 8192 * 1.5 + 128 + 256 * 2)) / 81559, 3)


def test_deepep_reserves_more_and_aligns_its_graphs():
    plain = resolved("qwen3.5-35b-a3b", "b200", tp_size=4)
    exchange = resolved("qwen3.5-35b-a3b", "b200", tp_size=4, moe_a2a_backend="deepep")
    assert exchange.prefill_graph_buckets == 38
    assert exchange.mem_fraction_static < plain.mem_fraction_static


@pytest.mark.parametrize(("largest", "buckets"), [(0, 0), (4, 1), (2048, 42), (4096, 50), (8192, 58), (16384, 74)])
def test_prefill_graph_sizes(largest, buckets):
    assert prefill_graph_buckets(largest) == buckets


def test_attention_replicas_divide_the_chunk_after_the_fraction_was_set():
    found = resolved("granite-4.0-h-small", tp_size=4, dp_size=4, enable_dp_attention=True)
    assert found.chunked_prefill_size == 2048
    assert found.prefill_graph_buckets == 42
    assert found.origin("chunked_prefill_size") == "the whole chunk over 4 attention replicas"


def test_graph_sizes_that_are_named():
    found = resolved(cuda_graph_bs_decode=[1, 16, 300], cuda_graph_bs_prefill=[64, 128])
    assert (found.decode_graph_max_bs, found.prefill_graph_buckets) == (300, 2)


@pytest.mark.parametrize(("version", "chunk"), [("0.5.21", 4096), ("0.5.22", 16384)])
def test_glm5_next_with_its_prefill_graph_asked_for_has_a_chunk_of_its_own(version, chunk):
    found = resolved("made-up-glm5-next", "b200", version=version, cuda_graph_backend_prefill="breakable")
    assert found.chunked_prefill_size == chunk


def test_inkling_with_images_leaves_a_share_to_its_tower():
    assert resolved("made-up-inkling", tp_size=2).mem_fraction_static == 0.902
    assert resolved("made-up-inkling", tp_size=2, enable_multimodal=True).mem_fraction_static == 0.902 * 0.95
