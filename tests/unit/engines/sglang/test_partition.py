"""Cuts between pipeline stages: none is better than the best of those that a plan solves."""

from dataclasses import replace
from itertools import combinations, pairwise

import pytest
from tests.plan_cases import KIMI_K3, deployment, question, traffic

from poolsplit.engines.free_memory import FreeMemory
from poolsplit.engines.sglang.flag_sense import PARTITION
from poolsplit.engines.sglang.levers import levers_of
from poolsplit.engines.sglang.partition import undominated_partitions, with_moved_weights
from poolsplit.engines.sglang.shards import stage_ranges
from poolsplit.hub import find_model
from poolsplit.planning.choose import choose
from poolsplit.planning.levers import price_levers
from poolsplit.planning.optimum import best_ratio

BEFORE_GIB, AFTER_GIB = 100.0, 60.0


def asked(model, stages, tokens):
    """A launch whose longest stage has 40 GiB of weights."""
    ranks = 8 if model == KIMI_K3 else 2
    launch = deployment(model, f"--tp {ranks} --pp-size {stages}", AFTER_GIB)
    flags = replace(launch.flags, mem_fraction_static=0.88)
    memory = FreeMemory(before_gib=BEFORE_GIB, after_gib=(AFTER_GIB,))
    return question(replace(launch, flags=flags, memory=memory), traffic(tokens))


def every_cut(layers, stages):
    for inner in combinations(range(1, layers), stages - 1):
        yield tuple(end - start for start, end in pairwise((0, *inner, layers)))


def counts(shape, cut):
    """Layers of each kind on the stage with most of them."""
    ranges = stage_ranges(shape.layers, len(cut), cut)
    window = shape.window.layer_ids if shape.window else ()
    kinds = (tuple(range(shape.layers)), shape.state_layer_ids, shape.kv_layer_ids, window)
    return tuple(max(stage.count(ids) for stage in ranges) for ids in kinds)


@pytest.mark.parametrize(
    ("model", "stages", "tokens", "better"),
    [(KIMI_K3, 2, 32768, True), ("jet-ai/Jet-Nemotron-4B", 2, 8192, False), ("Qwen/Qwen3.5-9B", 3, 8192, False)],
)
def test_no_cut_beats_the_lever(model, stages, tokens, better):
    plan = asked(model, stages, tokens)
    deployed, recommended = plan.deployment, choose(plan).recommended
    resolved = deployed.resolve({})
    offered = levers_of(deployed.shape, deployed.flags, resolved, deployed.device, "0.5.23")
    levers = price_levers(plan, [lever for lever in offered if lever.name == "stage_partition"], recommended)
    cuts = {counts(deployed.shape, cut): cut for cut in every_cut(deployed.shape.layers, stages)}
    most = 0
    for cut in cuts.values():
        changes = {**recommended.changes, PARTITION: ",".join(map(str, cut))}
        best = best_ratio(plan.changed(changes), guess=recommended.running_requests)
        most = max(most, 0 if best is None else best.outcome.total_running)
    assert [lever.total_running_requests for lever in levers] == [most]
    assert (most > recommended.total_running) is better


@pytest.mark.parametrize("stages", [2, 3, 4])
def test_every_cut_is_matched_by_one_that_is_solved(stages):
    for model in ("moonshotai/Kimi-Linear-48B-A3B-Instruct", "openbmb/MiniCPM-SALA", "jet-ai/Jet-Nemotron-4B"):
        shape = find_model(model).shape
        solved = [counts(shape, cut) for cut in undominated_partitions(shape, stages)]
        for cut in every_cut(min(shape.layers, 36), stages):
            found = counts(shape, cut)
            assert any(all(mine <= theirs for mine, theirs in zip(one, found, strict=True)) for one in solved)


def test_a_model_is_not_cut_into_more_stages_than_layers():
    shape = find_model(KIMI_K3).shape
    assert undominated_partitions(shape, 93) == ((1,) * 93,)
    assert undominated_partitions(shape, 94) == ()


def test_weights_move_with_the_layers():
    was, now = stage_ranges(93, 2), stage_ranges(93, 2, (48, 45))
    one = FreeMemory(before_gib=100.0, after_gib=(53.0,))
    each = FreeMemory(before_gib=100.0, after_gib=(54.0, 53.0))
    assert with_moved_weights(one, was, was) is one
    assert with_moved_weights(one, was, now).after_gib == pytest.approx((52.0,))
    assert with_moved_weights(each, was, now).after_gib == pytest.approx((52.0, 55.0))


def test_a_launch_with_a_cut_of_its_own_is_measured_with_it():
    plan = asked(KIMI_K3, 2, 32768)
    changed = {PARTITION: "48,45"}
    assert plan.deployment.memory_under({}).after_gib == (AFTER_GIB,)
    moved = BEFORE_GIB - (BEFORE_GIB - AFTER_GIB) * 48 / 47
    assert plan.deployment.memory_under(changed).after_gib == pytest.approx((moved,))
    own = replace(plan.deployment, flags=replace(plan.deployment.flags, env=changed), _resolved={})
    assert own.memory_under({}).after_gib == (AFTER_GIB,)
    assert own.memory_under(changed).after_gib == (AFTER_GIB,)
