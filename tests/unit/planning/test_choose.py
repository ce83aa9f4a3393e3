"""Which split is recommended, and that it keeps its promise when it is solved again from the flags."""

import pytest

from plan_cases import A100, KIMI_K3, QWEN_NEXT, deployment, question, traffic
from poolsplit.engines.sglang.command import parse_flags
from poolsplit.errors import InfeasiblePlanError, LaunchRefusedError
from poolsplit.planning.choose import choose
from poolsplit.planning.decimals import decimals_between
from poolsplit.planning.outcome import evaluate
from poolsplit.planning.pins import pinned_slots

LAUNCHES = [
    (QWEN_NEXT, "--tp 4", 60.0),
    (QWEN_NEXT, "--tp 2 --kv-cache-dtype fp8_e4m3 --speculative-algorithm EAGLE --max-running-requests 300", 46.8663),
    (QWEN_NEXT, "--tp 4 --enable-dp-attention --dp-size 4", 30.0),
    (QWEN_NEXT, "--tp 1 --pp-size 4", 50.0),
    (KIMI_K3, "--tp 8 --kv-cache-dtype fp8_e4m3", 28.9),
    (KIMI_K3, "--tp 8 --dcp-size 8", 28.9),
    ("Qwen/Qwen3.5-9B", "--tp 1 --page-size 64", 12.0),
    ("nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", "--tp 2", 20.0),
    ("ibm-granite/granite-4.0-h-small", "--tp 1", 9.0),
    ("LiquidAI/LFM2-8B-A1B", "--tp 1", 5.0),
]


@pytest.mark.parametrize(("model", "flags", "rest_gib"), LAUNCHES)
@pytest.mark.parametrize("tokens", [700, 9216, 100_000])
def test_what_is_recommended_gives_the_same_when_its_flags_are_read_again(model, flags, rest_gib, tokens):
    launch = deployment(model, flags, rest_gib)
    best = (choice := choose(question(launch, traffic(tokens)))).recommended
    words = [word for change in launch.flag_words(best.changes) for word in change.split()]
    again = deployment(model, f"{flags} {' '.join(words)}", rest_gib)
    outcome = evaluate(again, traffic(tokens), {})
    assert outcome.running_requests == best.running_requests
    assert outcome.solution.pools == best.solution.pools
    assert best.running_requests >= (choice.current.running_requests if choice.current else 1)


@pytest.mark.parametrize(("model", "flags", "rest_gib"), LAUNCHES[:5])
def test_a_shorter_decimal_would_run_fewer(model, flags, rest_gib):
    launch = deployment(model, flags, rest_gib)
    choice = choose(question(launch, traffic(9216)))
    assert choice.pin_reason is None
    best = choice.optimum
    digits = len(str(best.ratio).replace(".", "").strip("0"))
    for fewer in range(1, digits):
        shorter = float(f"{best.ratio:.{fewer}g}")
        assert evaluate(launch, traffic(9216), launch.ratio_changes(shorter)).running_requests < best.running_requests


QWEN_35 = "Qwen/Qwen3.5-9B"
RADIX_OFF = "--tp 1 --disable-radix-cache --speculative-algorithm NEXTN --page-size 128"


def test_a_request_limit_that_leaves_nothing_for_kv_is_answered_with_a_pin():
    launch = deployment("Qwen/Qwen3.5-397B-A17B", RADIX_OFF, 37.6, version="0.5.21", device=A100)
    choice = choose(question(launch, traffic(16_384)))
    assert choice.current is None
    assert choice.recommended.mode == "pin"
    assert choice.recommended.running_requests == most_by_pins(launch, 16_384)
    wanted = choose(question(launch, traffic(16_384, concurrency=20))).recommended
    assert wanted.running_requests >= 20


def most_by_pins(launch, tokens):
    def running(slots):
        try:
            return evaluate(launch, traffic(tokens), launch.pin_changes(slots)).running_requests
        except LaunchRefusedError:
            return 0

    return max(running(slots) for slots in range(1, 60))


@pytest.mark.parametrize("rest_gib", [0.36, 0.5, 0.7, 1.0])
@pytest.mark.parametrize("tokens", [1024, 8192])
def test_a_plan_is_denied_only_where_no_pin_runs_a_request(rest_gib, tokens):
    launch = deployment(KIMI_K3, "--tp 8 --kv-cache-dtype fp8_e4m3", rest_gib)
    most = most_by_pins(launch, tokens)
    if not most:
        with pytest.raises(InfeasiblePlanError):
            choose(question(launch, traffic(tokens)))
        return
    assert choose(question(launch, traffic(tokens))).recommended.running_requests in {most, most - 1}


@pytest.mark.parametrize(
    ("model", "flags", "rest_gib", "words", "tokens", "running"),
    [
        ("LiquidAI/LFM2-8B-A1B", "--tp 4 --max-running-requests 1 --enable-dp-attention --dp-size 2", 2, {}, 8192, 78),
        (QWEN_35, "--tp 1 --max-running-requests 500 --enable-linear-replayssm-spec", 0.6, {}, 1024, 1),
        (QWEN_35, "--tp 1", 0.3, {"concurrency": 1}, 300, 1),
        ("thinkingmachines/Inkling", "--tp 2 --disable-radix-cache --max-running-requests 500", 60, {}, 300, 119),
    ],
)
def test_a_request_limit_or_a_spare_slot_in_the_way_denies_no_plan(model, flags, rest_gib, words, tokens, running):
    launch = deployment(model, flags, rest_gib, version="0.5.20")
    best = choose(question(launch, traffic(tokens, **words))).recommended
    assert best.total_running >= running
    assert evaluate(launch, traffic(tokens), best.changes).total_running == best.total_running


def first_between(low, high, near):
    return next(decimals_between(low, high, near))[0]


def test_the_simplest_number_between_two():
    assert first_between(7.664, 7.681, 7.67) == 7.67
    assert first_between(0.479, 0.4825, 0.48) == 0.48
    assert first_between(0.7, 130.0, 9.0) == 9.0
    assert first_between(1.9193468, 1.9212183, 1.92) == 1.92
    assert 0.33333 <= first_between(0.33333, 0.33334, 0.33333) <= 0.33334
    with pytest.raises(ValueError, match="no positive interval"):
        first_between(2.0, 1.0, 1.5)


def test_a_pin_has_one_spare_slot_for_each_worker():
    assert pinned_slots(48, 5, 1) == 241
    assert pinned_slots(100, 5, 8) == 8 * (13 * 5 + 1)


def test_wanted_concurrency_is_pinned_with_the_cap_raised():
    launch = deployment(QWEN_NEXT, "--tp 2 --speculative-algorithm EAGLE", 46.8663)
    choice = choose(question(launch, traffic(8192, concurrency=100)))
    assert choice.recommended.mode == "pin"
    assert choice.recommended.running_requests == 100
    assert launch.flag_words(choice.recommended.changes) == (
        "--max-mamba-cache-size 501",
        "--max-running-requests 100",
    )


def test_shared_tokens_are_pinned():
    choice = choose(question(deployment(KIMI_K3, "--tp 8 --dcp-size 8", 28.9), traffic(9216)))
    assert choice.recommended.mode == "pin"
    assert "context-parallel" in choice.pin_reason


def test_a_blunt_ratio_is_pinned():
    choice = choose(question(deployment(KIMI_K3, "--tp 8 --kv-cache-dtype fp8_e4m3", 28.9), traffic(262_144)))
    assert choice.formula_ratio < 0.15
    assert choice.recommended.mode == "pin"


def test_too_many_requests_name_the_nearest_plan():
    launch = deployment(QWEN_NEXT, "--tp 4", 20.0)
    with pytest.raises(InfeasiblePlanError) as caught:
        choose(question(launch, traffic(32_768, concurrency=1000)))
    error = caught.value
    assert error.exit_code == 3
    pin = int(error.hint.split("--max-mamba-cache-size ")[1].split("`")[0])
    fits = evaluate(launch, traffic(32_768), launch.pin_changes(pin))
    assert f"{fits.running_requests} such requests fit" in error.hint
    more = evaluate(launch, traffic(32_768), launch.pin_changes(pin + 5))
    assert more.running_requests <= fits.running_requests


def test_not_one_request_fits():
    with pytest.raises(InfeasiblePlanError, match="not one request") as caught:
        choose(question(deployment(KIMI_K3, "--tp 8", 0.9), traffic(1_000_000)))
    assert "tokens fits with" in caught.value.hint


def test_a_launch_that_is_refused_whatever_the_split_is_no_plan():
    launch = deployment(QWEN_NEXT, "--tp 4 --mamba-radix-cache-strategy no_buffer --page-size 64", 60.0)
    with pytest.raises(LaunchRefusedError):
        choose(question(launch, traffic(9216)))
    with pytest.raises(LaunchRefusedError) as caught:
        choose(question(deployment(QWEN_NEXT, "--tp 1 --pp-size 2 --speculative-algorithm EAGLE", 60.0), traffic(9216)))
    assert caught.value.stage == "launcher"


def test_a_default_split_that_does_not_start_is_said_beside_the_one_that_does():
    launch = deployment(KIMI_K3, "--tp 8 --kv-cache-dtype fp8_e4m3", 0.6)
    choice = choose(question(launch, traffic(1024)))
    assert choice.current is None
    assert choice.current_refused is not None
    assert choice.recommended.running_requests >= 1


def test_requests_decide_the_slots_without_a_prefix_cache():
    launch = deployment(QWEN_NEXT, "--tp 4 --disable-radix-cache --max-running-requests 64", 20.0)
    choice = choose(question(launch, traffic(8192)))
    assert choice.current.running_requests == 64
    assert parse_flags(["--tp", "4"]).flags().tp_size == 4
    assert choice.recommended.running_requests > 64
