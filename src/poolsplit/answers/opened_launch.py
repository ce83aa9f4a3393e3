"""A launch with everything that an answer needs found: model, draft, card, release and the memory around the weights.

Beside `api` on the same floor, and reached through it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from poolsplit.answers.launch_memory import find_memory
from poolsplit.budget.memory import Card
from poolsplit.engines.device import Device
from poolsplit.engines.sglang.command import LaunchCommand, parse_flags, parse_tokens
from poolsplit.engines.sglang.versions import DEFAULT_VERSION, Switches, switches_for
from poolsplit.errors import InputError, LaunchRefusedError, UsageError
from poolsplit.units import MIB, parse_size

if TYPE_CHECKING:
    from poolsplit.engines.resolution import AskedLaunch
    from poolsplit.engines.sglang.flags import Flags
    from poolsplit.hub import FoundModel
    from poolsplit.shapes.model_shape import DraftShape, ModelShape

ARCHITECTURES = {"sm80": (8, 0), "sm89": (8, 9), "sm90": (9, 0), "sm100": (10, 0), "sm103": (10, 3), "sm120": (12, 0)}
"""Compute capabilities by the name that `--gpu-arch` takes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchRequest:
    """What a command line says about a launch."""

    model: str | None = None
    gpu: str | None = None
    gpu_memory: str | None = None
    gpu_arch: str | None = None
    weights: str | None = None
    free_before: str | None = None
    free_after: str | None = None
    engine_version: str | None = None
    engine_flags: tuple[str, ...] = ()
    """Flags in the engine's own spelling."""
    pasted: tuple[str, ...] = ()
    """A whole launch command."""

    @property
    def release(self) -> str:
        """Release whose rules answer."""
        return DEFAULT_VERSION if self.engine_version is None else self.engine_version


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class OpenedLaunch:
    """A launch ready to be resolved."""

    model: FoundModel
    flags: Flags
    launch: LaunchCommand
    device: Device
    card: Card
    switches: Switches
    draft: DraftShape | None
    warnings: tuple[str, ...]

    @property
    def shape(self) -> ModelShape:
        """The target model."""
        return self.model.shape


def asked_launch(request: LaunchRequest) -> AskedLaunch:
    """What a launch asks for, without an answer.

    Raises:
        InputError: A model, card, size or flag that is not understood.
    """
    from poolsplit.engines.resolution import AskedLaunch
    from poolsplit.engines.sglang.resolution import asked_arguments

    opened = open_launch(request)
    try:
        memory = find_memory(request, opened)
        free, source, warnings = memory.free, memory.source, memory.warnings
    except LaunchRefusedError as refused:
        free, source, warnings = None, refused.message, ()
    return AskedLaunch(
        model=opened.shape.name,
        device=opened.device,
        flags=asked_arguments(opened.flags),
        memory=free,
        memory_source=source,
        version=opened.switches.version,
        warnings=(*opened.warnings, *warnings),
    )


def read_launch(request: LaunchRequest) -> LaunchCommand:
    """The launch command of a request: pasted, or made of the flags beside ours.

    Raises:
        UsageError: Both are given, or neither reads as a launch.
    """
    release = switches_for(request.release).version
    if request.pasted and request.engine_flags:
        raise UsageError(
            f"`{request.engine_flags[0]}` stands before `--` while a launch command follows it",
            hint="put the engine's flags into the launch command",
        )
    if request.pasted:
        return _read_pasted(request.pasted, request, release)
    return parse_flags(request.engine_flags, release)


def _read_pasted(tokens: tuple[str, ...], request: LaunchRequest, release: str) -> LaunchCommand:
    """The launch with the flags of the release that its text names, unless another is asked for."""
    launch = parse_tokens(tokens, release)
    named = launch.named_release
    if named is None or named == request.engine_version:
        return launch
    if request.engine_version is not None:
        told = (
            f"the launch names release {named}, and the rules of {request.engine_version} are asked for: those answer"
        )
        return replace(launch, warnings=(*launch.warnings, told))
    launch = parse_tokens(tokens, switches_for(named).version)
    return replace(launch, warnings=(*launch.warnings, f"the launch names release {named}, which chooses the rules"))


def _release(request: LaunchRequest, launch: LaunchCommand) -> str:
    """Asked for, or named by the launch, or the default."""
    if request.engine_version is None and launch.named_release is not None:
        return launch.named_release
    return request.release


def open_launch(request: LaunchRequest, launch: LaunchCommand | None = None) -> OpenedLaunch:
    """Finds model, draft, card and release of a launch.

    Args:
        request: The command line.
        launch: The launch, where it was read elsewhere (a log).

    Raises:
        InputError: No such model or card, or contradictory names.
        UnsupportedModelError: The model's config is not understood.
    """
    from poolsplit.hub import find_draft, find_model

    launch = launch or read_launch(request)
    name, told = one_model(request.model, launch.model)
    if name is None:
        raise UsageError(
            "no model is named", hint="give a catalog id, a folder or a hub id, or paste a launch with `--model-path`"
        )
    if launch.model is None:
        launch = replace(launch, values={"model_path": name, **launch.values})
    found = find_model(name)
    device, card, warnings = find_card(request)
    own_draft = launch.draft_model is not None and launch.draft_model == launch.model
    draft = find_draft(name if own_draft else launch.draft_model) if launch.draft_model else None
    caution = (found.shape.caution,) if found.shape.caution else ()
    return OpenedLaunch(
        model=found,
        flags=launch.flags(),
        launch=launch,
        device=device,
        card=card,
        switches=switches_for(_release(request, launch)),
        draft=draft,
        warnings=(*caution, *told, *launch.warnings, *warnings),
    )


def one_model(named: str | None, launched: str | None) -> tuple[str | None, tuple[str, ...]]:
    """The model that answers, of the one named beside a launch and the launch's own, and what to say of the other.

    A launch often names a folder of its own machine, for which the model is named beside it.

    Raises:
        UsageError: They are two known models.
    """
    if named is None or launched is None or _last_part(named) == _last_part(launched):
        return named or launched, ()
    from poolsplit.shapes import catalog

    ours, theirs = catalog.find(named), catalog.find(launched)
    if ours is not None and theirs is not None and ours != theirs:
        raise UsageError(
            f"two models are named: {named}, and {launched} in the launch",
            hint="leave out the first, or paste the launch of that model",
        )
    return named, () if ours is not None and ours == theirs else (f"{named} answers for the launch's {launched}",)


def _last_part(name: str) -> str:
    return name.rstrip("/").rpartition("/")[2].casefold()


def find_card(request: LaunchRequest) -> tuple[Device, Card, tuple[str, ...]]:
    """The card by name, or by size and architecture.

    Raises:
        InputError: No such card, a card whose generation is not known, or no card at all.
    """
    if request.gpu is not None and (request.gpu_memory or request.gpu_arch):
        raise UsageError("a card is given by name and by size", hint="use --gpu, or --gpu-memory with --gpu-arch")
    if request.gpu is not None:
        return _named_card(request.gpu)
    if request.gpu_arch is None:
        raise UsageError("no card is named", hint="give --gpu NAME, or --gpu-memory SIZE with --gpu-arch sm90")
    if request.gpu_arch not in ARCHITECTURES:
        raise InputError(
            f"`{request.gpu_arch}` is not a known architecture",
            where="--gpu-arch",
            hint=f"one of {', '.join(ARCHITECTURES)}",
        )
    memory_mib = parse_size(request.gpu_memory) // MIB if request.gpu_memory else None
    label = f"{request.gpu_memory or 'card of unknown size'} {request.gpu_arch}"
    device = Device(
        name=label, memory_mib=memory_mib, compute_capability=ARCHITECTURES[request.gpu_arch], verified=False
    )
    return device, Card(name=label, memory_mib=memory_mib, process_total_gib=None), device.cautions


def _named_card(name: str) -> tuple[Device, Card, tuple[str, ...]]:
    from poolsplit.data import gpu

    card = gpu(name)
    device = Device(
        name=card.id,
        memory_mib=card.memory_mib,
        compute_capability=card.compute_capability or ARCHITECTURES["sm90"],
        verified=card.verified,
        rocm=card.chip.startswith("gfx"),
    )
    known = Card(name=card.id, memory_mib=card.memory_mib, process_total_gib=card.process_total_gib)
    stands_in = f"the engine's rules for {card.architecture} are not known: those of sm90 stand in"
    return device, known, (*device.cautions, *(() if card.compute_capability else (stands_in,)))
