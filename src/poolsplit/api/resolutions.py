"""What the engine makes of a launch: one, the same under another release, or a batch of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from poolsplit.answers.opened_launch import LaunchRequest
    from poolsplit.engines.resolution import Resolution
    from poolsplit.errors import LaunchRefusedError


def resolve(request: LaunchRequest) -> Resolution:
    """What the engine will resolve from one launch, with every step and the sizes that its log will print.

    Raises:
        LaunchRefusedError: The engine would refuse the launch before or while it sizes the pools.
        InputError: A model, card, size or flag that is not understood, or a model without state layers.
    """
    from dataclasses import replace

    from poolsplit.answers.launch_memory import MEASURED_STEPS, find_memory
    from poolsplit.answers.opened_launch import open_launch
    from poolsplit.engines.sglang.resolution import resolve_launch
    from poolsplit.errors import InputError

    opened = open_launch(request)
    if opened.shape.state is None:
        raise InputError(
            f"{opened.shape.name} has no state layers: there is one pool, and nothing is split",
            hint="`poolsplit models` lists hybrid models; `resolve --batch` answers the others too",
        )
    memory = find_memory(request, opened)
    answer = resolve_launch(opened.shape, opened.flags, opened.device, memory.free, opened.switches, opened.draft)
    warnings = (*opened.warnings, *memory.warnings, *answer.warnings)
    return replace(
        answer,
        memory_source=memory.source,
        memory_error_bytes=memory.error_bytes,
        derivation=tuple(
            replace(step, source=f"{memory.origin}: {memory.source}") if step.name in MEASURED_STEPS else step
            for step in answer.derivation
        ),
        warnings=tuple(dict.fromkeys(warnings)),
    )


def resolve_under(request: LaunchRequest, version: str) -> Resolution | LaunchRefusedError:
    """What another release resolves from the same launch, or why it refuses.

    Raises:
        InputError: Not a release, or anything that `resolve` raises it for.
    """
    from dataclasses import replace

    from poolsplit.errors import LaunchRefusedError

    try:
        return resolve(replace(request, engine_version=version))
    except LaunchRefusedError as refused:
        return refused


def launcher_refusal(answer: Resolution) -> LaunchRefusedError:
    """The error of a launch that the solver answers and the launcher refuses."""
    from poolsplit.errors import LaunchRefusedError

    return LaunchRefusedError(
        answer.launcher_message or "the launcher refuses this launch",
        stage="launcher",
        reason=answer.pools.launcher_reason or "",
        hint="leave out `--pp-size` or `--speculative-algorithm`",
    )


def answer_record(answer: Resolution) -> dict[str, Any]:
    """The answer's fields by the engine's own names, as a batch writes them."""
    from poolsplit.engines.sglang.batch_cases import answer_record as record

    return record(None, answer.pools)


def resolve_batch(lines: Iterable[bytes], *, models: Path | None = None) -> Iterator[bytes]:
    """Answers to a batch of launches, one line each, in order.

    Args:
        lines: One case a line; empty lines are skipped.
        models: Folder with a `NAME.json` for each model that a case names; without it, names are looked up as usual.

    Raises:
        InputError: Once all lines are answered, if some of them were no case.
    """
    from poolsplit.engines.sglang.batch import Batch
    from poolsplit.engines.sglang.solver import solve
    from poolsplit.errors import InputError
    from poolsplit.hub import find_config, local

    def load_config(name: str) -> Mapping[str, Any]:
        return find_config(name).config if models is None else local.read(models / f"{name}.json").config

    batch = Batch(load_config, solve)
    for line in lines:
        if line.strip():
            yield batch.answer(line)
    if batch.unreadable:
        raise InputError(
            f"lines that are no case: {batch.unreadable}", hint="their answers say what is wrong, under `message`"
        )
