"""The launch behind a log: model, flags and card, as far as the log names them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from poolsplit.data import gpu, gpus
from poolsplit.engines.device import Device
from poolsplit.engines.sglang.boot_log.release_forms import known_releases
from poolsplit.engines.sglang.command.dump import asked_for
from poolsplit.engines.sglang.command.launch import flags_of_values, parse_flags
from poolsplit.engines.sglang.versions import VERSIONS
from poolsplit.errors import InputError, PoolsplitError
from poolsplit.hub import find_draft, find_model
from poolsplit.shapes import catalog
from poolsplit.units import GIB

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from poolsplit.data import Gpu
    from poolsplit.engines.boot_facts import Launch
    from poolsplit.engines.boot_report import BootReport, RankReport
    from poolsplit.engines.sglang.flags import Flags
    from poolsplit.shapes.model_shape import DraftShape, ModelShape

OLDEST_SAME_RULES = {"0.5.15.post1": "0.5.16"}
"""Releases that solve as a release of the table does."""
SMALLEST_FREE_FRACTION = 0.9
"""What a card has free at the start, of its whole memory."""
_OWN_MTP = ("NEXTN", "EAGLE", "EAGLE3")


class NothingToPredictError(Exception):
    """The log does not say enough to resolve the launch; the text says what is missing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedLaunch:
    """One launch that can be resolved under several releases and cards."""

    shape: ModelShape
    model: str
    flags: Flags
    draft: DraftShape | None
    releases: tuple[str, ...]
    devices: tuple[Device, ...]


def launch_of(boot: BootReport, device: Device | None = None) -> LoggedLaunch:
    """The launch of a start.

    Raises:
        NothingToPredictError: The model or the flags are not known here.
    """
    if boot.launch is None or boot.model is None:
        raise NothingToPredictError("the log names no model and flags")
    releases = _releases(boot)
    try:
        model, shape = _model(boot.model)
        values = launch_values_of(boot.launch)
        return LoggedLaunch(
            shape=shape,
            model=model,
            flags=_with_printed_dtype(flags_of_values(values, {}), boot),
            draft=_draft(values, boot.model, model),
            releases=releases,
            devices=(device,) if device else _devices(boot),
        )
    except PoolsplitError as error:
        raise NothingToPredictError(f"the launch is not understood: {error}") from None


def named_device(name: str) -> Device:
    """A card by name.

    Raises:
        InputError: No such card, or one without a compute capability.
    """
    card = gpu(name)
    if card.compute_capability is None:
        raise InputError(f"the rules for the card `{name}` are not known", hint="`poolsplit gpus` lists the cards")
    return _device(card, card.compute_capability)


def _releases(boot: BootReport) -> tuple[str, ...]:
    named = (OLDEST_SAME_RULES.get(name, name) for name in known_releases(boot.version))
    releases = tuple(dict.fromkeys(name for name in named if name in VERSIONS))
    if not releases:
        raise NothingToPredictError(f"the rules of release {boot.version} are not known")
    return releases


def _model(name: str) -> tuple[str, ModelShape]:
    """A model from the catalog or a folder that is here; a log is never a reason to ask a hub."""
    path = Path(name).expanduser()
    if not path.exists() and catalog.find(name) is None and catalog.find(path.name) is None:
        raise NothingToPredictError(f"`{name}` is no embedded model and no folder here")
    found = name if path.exists() or catalog.find(name) else path.name
    return found, find_model(found).shape


def launch_values_of(launch: Launch) -> Mapping[str, Any]:
    """What a logged launch asks for, without defaults.

    Raises:
        UsageError: Its command cannot be read.
    """
    values = asked_for({name: value for name, value in launch.values.items() if not name.startswith("_")})
    return values | dict(parse_flags(launch.command).values) if launch.command else values


_PRINTED_DTYPES = {
    "float8_e4m3fn": "fp8_e4m3",
    "float8_e4m3fnuz": "fp8_e4m3",
    "float8_e5m2": "fp8_e5m2",
    "float8_e5m2fnuz": "fp8_e5m2",
}


def printed_kv_dtype(ranks: Iterable[RankReport]) -> str | None:
    """The `--kv-cache-dtype` that the pool lines print, where it is another than `auto` gives without a checkpoint."""
    printed = next((rank.kv[0].dtype for rank in ranks if rank.kv and rank.kv[0].dtype), None)
    return _PRINTED_DTYPES.get((printed or "").removeprefix("torch."))


def _with_printed_dtype(flags: Flags, boot: BootReport) -> Flags:
    """The flags with the KV dtype that the pool line prints, where the checkpoint and not a flag decides it."""
    decided = printed_kv_dtype(boot.pool_ranks)
    if decided is None or flags.kv_cache_dtype not in (None, "auto"):
        return flags
    return replace(flags, kv_cache_dtype=decided)


def _draft(values: Mapping[str, Any], named: str, model: str) -> DraftShape | None:
    name = values.get("speculative_draft_model_path")
    if not isinstance(name, str):
        return None
    if name == named:
        return find_draft(model)
    if catalog.find(name) is None and not Path(name).expanduser().exists():
        raise NothingToPredictError(f"the draft `{name}` is no embedded model and no folder here")
    return find_draft(name)


def _devices(boot: BootReport) -> tuple[Device, ...]:
    """Cards whose memory fits what was free before the weights; without that line, one card of each architecture."""
    free = [rank.load_begin.value for rank in boot.ranks.values() if rank.load_begin]
    cards = [card for card in gpus() if card.compute_capability is not None]
    if free:
        fitting = [card for card in cards if _fits(card.memory_mib, max(free))]
        cards = fitting or cards
    devices: dict[tuple[int, int], Device] = {}
    for card in cards:
        capability = card.compute_capability
        if capability is not None and capability not in devices:
            devices[capability] = _device(card, capability)
    return tuple(devices.values())


def _device(card: Gpu, capability: tuple[int, int]) -> Device:
    return Device(name=card.id, memory_mib=card.memory_mib, compute_capability=capability, verified=card.verified)


def _fits(memory_mib: int, free_gib: float) -> bool:
    total_gib = memory_mib * (1 << 20) / GIB
    return total_gib * SMALLEST_FREE_FRACTION <= free_gib <= total_gib
