"""Free memory of a launch: what the weights of the longest stage leave."""

import pytest
from tests.plan_cases import KIMI_K3

from poolsplit.answers.launch_memory import find_memory
from poolsplit.answers.opened_launch import LaunchRequest, open_launch


def estimated_weights_gib(*flags, env=()):
    words = (*env, *["python", "-m", "sglang.launch_server", "--tp", "8", "--model-path"], KIMI_K3, *flags)
    request = LaunchRequest(gpu="b300", pasted=words)
    free = find_memory(request, open_launch(request)).free
    return free.before_gib - free.after_gib[0]


@pytest.mark.parametrize(("env", "longest"), [((), 47), (("SGLANG_PP_LAYER_PARTITION=48,45",), 48)])
def test_estimated_weights_follow_the_longest_stage(env, longest):
    whole = estimated_weights_gib("--pp-size", "1", "--tp", "16") * 16
    assert estimated_weights_gib("--pp-size", "2", env=env) == pytest.approx(whole / 8 * longest / 93)


def test_a_cut_that_does_not_add_up_is_left_to_the_solver():
    whole = estimated_weights_gib("--pp-size", "1", "--tp", "16") * 16
    env = ("SGLANG_PP_LAYER_PARTITION=40,40",)
    assert estimated_weights_gib("--pp-size", "2", env=env) == pytest.approx(whole / 16)
