"""No ratio runs more requests than the recommended one, and no shorter one as many."""

import math

from hypothesis import given, settings
from hypothesis import strategies as st

from plan_cases import KIMI_K3, QWEN_NEXT, deployment, question, traffic
from poolsplit.errors import LaunchRefusedError
from poolsplit.planning.optimum import best_ratio
from poolsplit.planning.outcome import evaluate

LAUNCHES = st.sampled_from(
    [
        (QWEN_NEXT, "--tp 4"),
        (QWEN_NEXT, "--tp 4 --page-size 64"),
        (QWEN_NEXT, "--tp 2 --speculative-algorithm EAGLE"),
        (QWEN_NEXT, "--tp 2 --speculative-algorithm EAGLE --enable-linear-replayssm-spec --max-running-requests 300"),
        (QWEN_NEXT, "--tp 1 --pp-size 4"),
        (QWEN_NEXT, "--tp 4 --enable-dp-attention --dp-size 2"),
        (KIMI_K3, "--tp 8 --kv-cache-dtype fp8_e4m3"),
        ("Qwen/Qwen3.5-9B", "--tp 1 --disable-radix-cache"),
        ("ibm-granite/granite-4.0-h-small", "--tp 1"),
    ]
)
VERSIONS = st.sampled_from(["0.5.16", "0.5.20", "0.5.23"])


def running(launch, tokens, ratio):
    try:
        return evaluate(launch, traffic(tokens), launch.ratio_changes(ratio)).running_requests
    except LaunchRefusedError:
        return 0


@settings(max_examples=25, deadline=None)
@given(chosen=LAUNCHES, version=VERSIONS, rest_gib=st.floats(4, 120), tokens=st.integers(500, 200_000))
def test_no_ratio_on_a_fine_grid_runs_more(chosen, version, rest_gib, tokens):
    model, flags = chosen
    if model == KIMI_K3 and version == "0.5.16":
        version = "0.5.17"
    launch = deployment(model, flags, rest_gib, version=version)
    best = best_ratio(question(launch, traffic(tokens)))
    most = best.running_requests if best is not None else 0
    around = best.ratio if best is not None else 1.0
    far = [math.exp(step / 12) for step in range(-60, 61)]
    near = [around * math.exp(step / 1000) for step in range(-40, 41)]
    assert max(running(launch, tokens, ratio) for ratio in (*far, *near)) <= most


@settings(max_examples=25, deadline=None)
@given(chosen=LAUNCHES, version=VERSIONS, rest_gib=st.floats(4, 120), tokens=st.integers(500, 200_000))
def test_no_shorter_decimal_runs_as_many(chosen, version, rest_gib, tokens):
    model, flags = chosen
    if model == KIMI_K3 and version == "0.5.16":
        version = "0.5.17"
    launch = deployment(model, flags, rest_gib, version=version)
    best = best_ratio(question(launch, traffic(tokens)))
    if best is None:
        return
    assert running(launch, tokens, best.ratio) == best.running_requests
    digits = len(f"{best.ratio:.17g}".replace(".", "").strip("0").split("e")[0])
    digits = min(digits, len(repr(best.ratio).split("e")[0].replace(".", "").strip("0")))
    for shorter in range(1, min(digits, 6)):
        exponent = math.floor(math.log10(best.ratio)) - shorter + 1
        multiple = int(best.ratio / 10.0**exponent)
        for candidate in (multiple, multiple + 1):
            if candidate:
                assert running(launch, tokens, float(f"{candidate}e{exponent}")) < best.running_requests
