"""Every argument that moves the pools says where it comes from."""

from poolsplit.engines.sglang.flags import Flags
from poolsplit.engines.sglang.rules.origins import argument_steps
from rule_launches import EAGLE, resolved


def steps(flags, found):
    return {step.name: (step.value, step.source) for step in argument_steps(Flags(**flags), found)}


def test_defaults_flags_and_rules_are_told_apart():
    flags = {"tp_size": 2, "pp_size": 2, "context_length": 8192, "max_running_requests": 7}
    told = steps(flags, resolved(**flags))
    assert told["context_len"] == (8192, "--context-length, as given")
    assert told["max_running_requests"] == (7, "--max-running-requests, as given")
    assert told["disable_overlap_schedule"] == ("yes", "pipeline stages run without overlap")
    assert told["page_size"] == (1, "the engine's default")
    assert told["mem_fraction_static"][1].startswith("default: 143771 MiB less")
    assert "mamba_ssm_dtype" not in told


def test_a_rule_that_replaced_a_given_value_is_named():
    told = steps({**EAGLE, "speculative_num_draft_tokens": 9}, resolved(**{**EAGLE, "speculative_num_draft_tokens": 9}))
    assert told["speculative_num_draft_tokens"] == (4, "one chain: draft steps + 1")
    assert told["max_running_requests"] == (48, "speculation, when no limit is named")
    assert told["context_len"] == (262144, "the model's own")
