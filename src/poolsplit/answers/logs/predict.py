"""Printed figures beside what each candidate release's rules give, line by line.

Two kinds of figures: slots and tokens follow from free memory, which the log rounds and prints at a slightly other
moment than the engine measures it, so they follow to within one slot; sizes follow from the printed slots, tokens and
requests exactly, to the printed digit.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from poolsplit.answers.logs.logged_memory import fitted, memory_of_pools, printed_memory, stage_of
from poolsplit.answers.logs.predict_sizes import granted_requests, predicted_sizes
from poolsplit.engines.boot_facts import PrintedSize
from poolsplit.engines.boot_report import LARGEST_PAGE_TOKENS, PredictedFigure, Prediction
from poolsplit.engines.free_memory import FreeMemory
from poolsplit.engines.sglang.deployment import SglangDeployment
from poolsplit.engines.sglang.solver import solve
from poolsplit.engines.sglang.versions import switches_for
from poolsplit.errors import LaunchRefusedError, PoolsplitError
from poolsplit.units import MIB

if TYPE_CHECKING:
    from collections.abc import Iterator

    from poolsplit.answers.logs.launches import LoggedLaunch
    from poolsplit.engines.boot_facts import EngineError
    from poolsplit.engines.boot_report import BootReport
    from poolsplit.engines.device import Device
    from poolsplit.engines.resolved_pools import ResolvedPools
    from poolsplit.engines.sglang.resolved import ResolvedFlags

SLOT_SLACK = 1
"""Free memory before the weights is printed at another moment than the engine measures it: one slot of play."""
REST_PLAY_MIB = 20
"""How far the least memory that prints so may lie below the true one: two roundings to 0.01 GiB."""
PLENTY_GIB = 4096.0
"""Free memory that any launch solves under, where only sizes are compared."""


def predict_all(boot: BootReport, launch: LoggedLaunch) -> tuple[Prediction, ...]:
    """One prediction a release, each under the card that explains most."""
    return tuple(_best_card(boot, launch, version) for version in launch.releases)


def deployment_of(launch: LoggedLaunch, version: str, device: Device, memory: FreeMemory) -> SglangDeployment:
    """The launch on one card with known free memory."""
    return SglangDeployment(
        shape=launch.shape,
        flags=launch.flags,
        device=device,
        memory=memory,
        switches=switches_for(version),
        draft=launch.draft,
    )


def deployment_of_log(boot: BootReport, launch: LoggedLaunch) -> tuple[SglangDeployment, str]:
    """The launch on the card and release that explain the log best, with the memory that its pools share.

    Raises:
        PoolsplitError: The launch does not resolve.
    """
    best = max(predict_all(boot, launch), key=lambda each: (each.holds, each.refused is None, each.following))
    return deployment_under(boot, launch, best), best.version


def deployment_under(boot: BootReport, launch: LoggedLaunch, prediction: Prediction) -> SglangDeployment:
    """The launch under one prediction's release and card, with the memory that the log's pools share."""
    device, version = device_named(launch, prediction.card), prediction.version
    plenty = FreeMemory(before_gib=PLENTY_GIB, after_gib=(PLENTY_GIB * 0.99,))
    resolved = deployment_of(launch, version, device, plenty).resolve({})
    bounds = memory_of_pools(boot, resolved) or printed_memory(boot, resolved)
    if bounds is None:
        return deployment_of(launch, version, device, plenty)

    def deploy(memory: FreeMemory) -> SglangDeployment:
        return deployment_of(launch, version, device, memory)

    return deploy(fitted(boot, resolved, bounds, deploy))


def device_named(launch: LoggedLaunch, name: str | None) -> Device:
    """The card of a prediction."""
    return next(device for device in launch.devices if device.name == name)


def _best_card(boot: BootReport, launch: LoggedLaunch, version: str) -> Prediction:
    tried = [_predict(boot, launch, version, device) for device in launch.devices]
    return max(tried, key=lambda prediction: (prediction.refused is None, prediction.holds, prediction.following))


def _predict(boot: BootReport, launch: LoggedLaunch, version: str, device: Device) -> Prediction:
    try:
        figures = tuple(_figures(boot, launch, version, device))
    except LaunchRefusedError as refused:
        return _refused(boot, version, device, refused)
    except PoolsplitError as error:
        return Prediction(version=version, card=device.name, refused=f"not understood: {error}")
    return Prediction(version=version, card=device.name, figures=figures)


_SAME_REFUSAL = {
    "not_enough_state_memory": "state_pool_empty",
    "too_small_for_one_request": "below_one_request",
    "weights_leave_no_memory": "no_memory_for_kv",
    "no_kv_tokens": "kv_pool_empty",
}
"""Ids of refusals in a log to those of the rules."""


def _refused(boot: BootReport, version: str, device: Device, refused: LaunchRefusedError) -> Prediction:
    """A refusal beside the log's own: the same one, with its slot size and slots where both tell them."""
    same = next((error for error in boot.errors if _SAME_REFUSAL.get(error.id) == refused.reason), None)
    return Prediction(
        version=version,
        card=device.name,
        figures=tuple(_refusal_figures(same, refused)) if same else (),
        refused=str(refused),
        refused_as_logged=same is not None,
    )


def _refusal_figures(logged: EngineError, refused: LaunchRefusedError) -> Iterator[PredictedFigure]:
    printed_mib, slot_mib = logged.figures.get("state_mib_per_slot"), refused.figures.get("slot_mib")
    if printed_mib is not None and slot_mib is not None:
        size = PrintedSize(value=printed_mib, step=0.01, unit_bytes=MIB)
        follows = size.holds(slot_mib * MIB)
        yield PredictedFigure(
            rank="-", name="state slot", unit="MiB", predicted=slot_mib, printed=str(printed_mib), follows=follows
        )
    printed, slots = logged.figures.get("state_slots"), refused.figures.get("max_mamba_cache_size")
    if printed is not None and slots is not None:
        slack = 0 if "rest_gib" in logged.figures else SLOT_SLACK
        play = SLOT_SLACK + int(REST_PLAY_MIB / slot_mib) if slot_mib else SLOT_SLACK
        yield _between("-", "state slots", "slots", (int(slots) - slack, int(slots) + play), int(printed))


def _figures(boot: BootReport, launch: LoggedLaunch, version: str, device: Device) -> Iterator[PredictedFigure]:
    plenty = FreeMemory(before_gib=PLENTY_GIB, after_gib=(PLENTY_GIB * 0.99,))
    deployment = deployment_of(launch, version, device, plenty)
    resolved = deployment.resolve({})
    yield from _counts_from_memory(boot, launch, deployment, resolved)
    pools = solve(launch.shape, _unpinned(resolved), plenty, deployment.switches, launch.draft)
    yield from _granted(boot, resolved, pools)
    for rank in boot.pool_ranks:
        yield from predicted_sizes(rank, boot, (launch.shape, resolved, deployment.switches), pools)


def _unpinned(resolved: ResolvedFlags) -> ResolvedFlags:
    """The launch with room for everything, so that only widths and dtypes count."""
    return replace(resolved, max_total_tokens=None)


def _counts_from_memory(
    boot: BootReport, launch: LoggedLaunch, deployment: SglangDeployment, resolved: ResolvedFlags
) -> list[PredictedFigure]:
    """Slots and tokens from the printed free memory.

    A launch that states no static fraction has one that depends on the card; where that one does not give the printed
    counts, the sum of the printed pools stands for it.
    """
    figures = list(_counts(boot, launch, deployment, (resolved, printed_memory(boot, resolved))))
    if launch.flags.mem_fraction_static is not None or (figures and all(figure.follows for figure in figures)):
        return figures
    try:
        others = list(_counts(boot, launch, deployment, (resolved, memory_of_pools(boot, resolved))))
    except LaunchRefusedError:
        return figures
    return max(figures, others, key=lambda each: sum(figure.follows for figure in each))


def _counts(
    boot: BootReport,
    launch: LoggedLaunch,
    deployment: SglangDeployment,
    start: tuple[ResolvedFlags, tuple[FreeMemory, FreeMemory] | None],
) -> Iterator[PredictedFigure]:
    resolved, bounds_of_memory = start
    if bounds_of_memory is None:
        return
    least, most = (solve(launch.shape, resolved, each, deployment.switches, launch.draft) for each in bounds_of_memory)
    for rank in boot.pool_ranks:
        stage = min(stage_of(rank.label), len(least.stages) - 1)
        low, high = least.stages[stage], most.stages[stage]
        slots = rank.state.state_slots if rank.state else None
        row, slot = low.kv_bytes_per_token, least.state.charged_bytes_per_slot if least.state else 0
        if slots is not None and low.state and high.state:
            bounds = (low.state.state_slots - SLOT_SLACK, high.state.state_slots + SLOT_SLACK)
            yield _between(rank.label, "state slots", "slots", bounds, slots)
        tokens = rank.kv_tokens
        if tokens is not None and row:
            play = int(slot * (1 + SLOT_SLACK) / row) + LARGEST_PAGE_TOKENS
            yield _between(rank.label, "KV tokens", "tokens", (low.kv_tokens - play, high.kv_tokens + play), tokens)


def _granted(boot: BootReport, resolved: ResolvedFlags, pools: ResolvedPools) -> Iterator[PredictedFigure]:
    per_request = pools.slots_per_request
    if boot.cap is not None and boot.cap.slots_per_request is not None and per_request is not None:
        yield _exact("-", "slots per request", "slots", per_request, boot.cap.slots_per_request)
    granted = granted_requests(boot, resolved, pools)
    if granted is not None and boot.granted_running_requests is not None:
        yield _exact("-", "granted requests", "requests", granted, boot.granted_running_requests)


def _exact(rank: str, name: str, unit: str, predicted: int, printed: int) -> PredictedFigure:
    follows = predicted == printed
    return PredictedFigure(rank=rank, name=name, unit=unit, predicted=predicted, printed=str(printed), follows=follows)


def _between(rank: str, name: str, unit: str, bounds: tuple[int, int], printed: int) -> PredictedFigure:
    low, high = bounds
    return PredictedFigure(
        rank=rank,
        name=name,
        unit=unit,
        predicted=(low + high) // 2,
        printed=str(printed),
        follows=low <= printed <= high,
    )
