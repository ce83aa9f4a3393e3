"""Deployments that the plan's published figures are about."""

import contextlib
import io
import json

from poolsplit.cli.app import run
from poolsplit.engines.device import Device
from poolsplit.engines.free_memory import FreeMemory
from poolsplit.engines.sglang.command import parse_flags
from poolsplit.engines.sglang.deployment import SglangDeployment
from poolsplit.engines.sglang.versions import switches_for
from poolsplit.hub import find_model
from poolsplit.planning.question import Question
from poolsplit.workload.lengths import single_length
from poolsplit.workload.traffic import Traffic

A100 = Device(name="a100", memory_mib=81920, compute_capability=(8, 0))
H200 = Device(name="h200", memory_mib=143771, compute_capability=(9, 0))
B200 = Device(name="b200", memory_mib=183359, compute_capability=(10, 0))
MM_RESERVE_GIB = 0.09765625
QWEN_NEXT = "Qwen/Qwen3-Next-80B-A3B-Instruct"
KIMI_K3 = "moonshotai/Kimi-K3"


def deployment(model, flags, rest_gib, *, version="0.5.23", device=None, draft=None):
    """One launch with these bytes handed over to both pools: the fraction is 1, nothing else is kept back.

    The card is an H200; a B200 where tokens are shared over ranks, which takes one.
    """
    device = device or (B200 if "--dcp-size" in flags else H200)
    launch = parse_flags([*flags.split(), "--mem-fraction-static", "1.0"], version)
    shape = find_model(model).shape
    handed = rest_gib + (MM_RESERVE_GIB if shape.multimodal else 0.0)
    return SglangDeployment(
        shape=shape,
        flags=launch.flags(),
        device=device,
        memory=FreeMemory(before_gib=handed, after_gib=(handed,)),
        switches=switches_for(version),
        draft=draft,
        launch=launch,
    )


def traffic(tokens, **words):
    """Every request this long."""
    return Traffic(lengths=single_length(tokens), **words)


def question(launch, asked, base=None):
    """One launch under one traffic."""
    return Question(deployment=launch, traffic=asked, base=base or {})


def planned(*words):
    """The document of `poolsplit plan`, run in this process; kept sessions that do not fit are no feasible plan."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exit_code = run(["plan", *words, "--json"])
    plan = json.loads(out.getvalue())
    lost = plan["sessions"] is not None and not plan["sessions"]["fits"]
    assert exit_code == (3 if lost else 0)
    return plan
