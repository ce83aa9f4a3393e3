"""`poolsplit resolve`: what the engine will resolve from a launch, before it loads anything."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from poolsplit.cli.launch_tokens import LaunchTokens
from poolsplit.cli.options import HardwareOptions, OutputOptions, ReleaseOptions
from poolsplit.cli.output import emit
from poolsplit.cli.refused import REFUSED_EXIT_CODE, emit_refusal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from poolsplit.answers.opened_launch import LaunchRequest
    from poolsplit.errors import UsageError


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class BatchOptions:
    """Many launches at once."""

    batch: Annotated[str | None, Parameter(allow_leading_hyphen=True)] = None
    """File of launches, one JSON case a line, or `-`: one answer a line, a refusal is an answer."""
    models: str | None = None
    """Folder of configs for the models that a batch names."""


def resolve(
    model: str | None = None,
    *,
    release: ReleaseOptions = ReleaseOptions(),  # noqa: B008  frozen
    many: BatchOptions = BatchOptions(),
    hardware: HardwareOptions = HardwareOptions(),  # noqa: B008  frozen
    out: OutputOptions = OutputOptions(),  # noqa: B008  frozen
    launch: Annotated[LaunchTokens, Parameter(parse=False)] = LaunchTokens(),  # noqa: B008  frozen
) -> int:
    """What the engine will resolve from a launch, before it loads anything.

    Engine flags are taken in the engine's own spelling; a whole launch command may stand after `--`.

    Args:
        model: Catalog id, folder or `config.json`, or hub id; a pasted launch names its own.
        release: Releases whose rules answer.
        many: Many launches at once.
        hardware: The card and its free memory around the weights.
        out: Where the answer goes.
        launch: Engine flags and pasted command.
    """
    from dataclasses import asdict

    from poolsplit import api

    words = {"model": model, "engine_version": release.engine_version, **asdict(hardware)}
    if many.batch is not None:
        others = {"compare_version": release.compare_version, "explain": out.explain or None}
        _refuse_beside_batch({**words, **others}, launch)
        return _answer_batch(many.batch, many.models, out)
    if many.models is not None:
        raise _models_alone()
    request = api.launch_request(engine_flags=launch.engine, pasted=launch.pasted, **words)
    return _answer(request, release.compare_version, out)


def _refuse_beside_batch(words: Mapping[str, object], launch: LaunchTokens) -> None:
    """Every line of a batch says all of its launch itself; what stands beside it would be dropped.

    Raises:
        UsageError: Something does.
    """
    from poolsplit.errors import UsageError

    options = [
        "a model" if name == "model" else f"`--{name.replace('_', '-')}`" for name in words if words[name] is not None
    ]
    given = [*options, *(f"`{token}`" for token in launch.engine[:1]), *("a pasted launch" for _ in launch.pasted[:1])]
    if given:
        raise UsageError(
            f"{given[0]} stands beside --batch, whose lines each say their own launch",
            hint="put it into the lines (`model`, `args`, `env`, `platform`, `engine_version`), or leave out --batch",
        )


def _models_alone() -> UsageError:
    from poolsplit.errors import UsageError

    return UsageError("`--models` goes with --batch", hint="give --batch FILE, or name the config's path as the model")


def _answer(request: LaunchRequest, compare_version: str | None, out: OutputOptions) -> int:
    """One launch; a refusal is an error for people and a document with `ok: false` for programs."""
    from poolsplit import api
    from poolsplit.errors import LaunchRefusedError
    from poolsplit.report.resolution_document import resolution_document
    from poolsplit.report.resolution_screen import resolution_screen

    try:
        answer = api.resolve(request)
    except LaunchRefusedError as error:
        return emit_refusal("resolve", error, request, out)
    if answer.launcher_message is not None and not out.json:
        raise api.launcher_refusal(answer)
    document = resolution_document(answer, api.answer_record(answer))
    text = resolution_screen(answer, explain=out.explain)
    if compare_version is not None:
        from poolsplit.report.resolution_compared import compared_document, compared_text

        other = api.resolve_under(request, compare_version)
        document["compared"] = compared_document(answer, other, compare_version)
        text = f"{text.rstrip()}\n\n{compared_text(answer, other, compare_version)}\n"
    emit(out, document=document, text=text, warnings=answer.warnings)
    return 0 if answer.launcher_message is None else REFUSED_EXIT_CODE


def _answer_batch(batch: str, models: str | None, out: OutputOptions) -> int:
    """Many launches, one line each in and out; lines that were none are told once all are answered."""
    from pathlib import Path

    from poolsplit import api
    from poolsplit.cli.batch_lines import batch_lines
    from poolsplit.errors import InputError

    unreadable: InputError | None = None
    with batch_lines(batch, out) as (source, target):
        try:
            target.writelines(api.resolve_batch(source, models=None if models is None else Path(models)))
        except InputError as error:
            unreadable = error
    if unreadable is not None:
        raise unreadable
    return 0
