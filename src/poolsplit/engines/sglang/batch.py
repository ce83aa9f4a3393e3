"""A batch of launches: each line is read, resolved, solved and answered; equal configs and cards are read once."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

from poolsplit.engines.sglang import batch_cases
from poolsplit.engines.sglang.flags import flags_from_mapping
from poolsplit.engines.sglang.release_shapes import shape_in_release
from poolsplit.engines.sglang.rules import resolve_flags
from poolsplit.engines.sglang.versions import switches_for
from poolsplit.errors import InputError, LaunchRefusedError, PoolsplitError
from poolsplit.shapes.families import read_model_shape
from poolsplit.shapes.families.draft import read_draft_shape

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from poolsplit.engines.device import Device
    from poolsplit.engines.free_memory import FreeMemory
    from poolsplit.engines.resolved_pools import ResolvedPools
    from poolsplit.engines.sglang.batch_cases import BatchCase
    from poolsplit.engines.sglang.resolved import ResolvedFlags
    from poolsplit.engines.sglang.versions import Switches
    from poolsplit.shapes.model_shape import DraftShape, ModelShape


class Solver(Protocol):
    """The start-up solver."""

    def __call__(
        self,
        shape: ModelShape,
        resolved: ResolvedFlags,
        memory: FreeMemory,
        switches: Switches,
        draft: DraftShape | None = None,
    ) -> ResolvedPools:
        """The pools of one launch."""
        ...


class Batch:
    """Answers lines and remembers what it read: shapes by config, cards by name and size.

    Args:
        load_config: Decoded config of a model that a case names instead of giving one.
        solve: The start-up solver.
    """

    def __init__(self, load_config: Callable[[str], Mapping[str, Any]], solve: Solver) -> None:
        self._load_config = load_config
        self._solve = solve
        self._shapes: dict[tuple[str | None, bytes, str | None], ModelShape] = {}
        self._drafts: dict[tuple[str | None, bytes], DraftShape] = {}
        self._devices: dict[tuple[str, int | None], Device] = {}
        self.unreadable = 0
        """Lines so far that were no case."""

    def answer(self, line: bytes) -> bytes:
        """The answer to one line, as a line."""
        case: BatchCase | None = None
        try:
            case = batch_cases.read_case(line)
            return self._answer_case(case)
        except LaunchRefusedError as error:
            return batch_cases.write_refusal(case.id if case else None, error, None)
        except PoolsplitError as error:
            self.unreadable += 1
            return batch_cases.write_unreadable(case.id if case else batch_cases.id_of(line), error)

    def _answer_case(self, case: BatchCase) -> bytes:
        switches = switches_for(case.engine_version)
        shape = shape_in_release(self._shape(case), switches)
        draft = self._draft(case)
        flags = flags_from_mapping(case.args, {name: str(value) for name, value in case.env.items()})
        resolved = resolve_flags(shape, flags, self._device(case), switches, draft)
        if case.set:
            resolved = _forced(resolved, case.set)
        try:
            pools = self._solve(shape, resolved, case.memory, switches, draft)
        except LaunchRefusedError as error:
            return batch_cases.write_refusal(case.id, error, resolved.launcher_reason)
        return batch_cases.write_answer(case.id, pools)

    def _shape(self, case: BatchCase) -> ModelShape:
        raw = batch_cases.config_text(case.config)
        name = None if raw else case.model
        key = (name, raw, case.checkpoint_kv_cache_quant_algo)
        shape = self._shapes.get(key)
        if shape is None:
            shape = self._shapes[key] = _declared(
                read_model_shape(self._config(name, raw), name=case.model or "config"),
                case.checkpoint_kv_cache_quant_algo,
            )
        return shape

    def _draft(self, case: BatchCase) -> DraftShape | None:
        raw = batch_cases.config_text(case.draft_config)
        name = None if raw else case.draft_model
        if not raw and name is None:
            return None
        draft = self._drafts.get((name, raw))
        if draft is None:
            draft = read_draft_shape(self._config(name, raw), name=case.draft_model or "draft config")
            self._drafts[name, raw] = draft
        return draft

    def _config(self, name: str | None, raw: bytes) -> Mapping[str, Any]:
        if raw:
            return batch_cases.decode_config(raw)
        if name is None:
            raise InputError("the case names no model and holds no config", hint="give `model` or `config`")
        return self._load_config(name)

    def _device(self, case: BatchCase) -> Device:
        key = (case.platform, case.device_mem_mib)
        device = self._devices.get(key)
        if device is None:
            device = self._devices[key] = case.device
        return device


def _declared(shape: ModelShape, algorithm: str | None) -> ModelShape:
    """The shape with the KV dtype that the case says its checkpoint declares."""
    if algorithm is None:
        return shape
    dtype = batch_cases.KV_ALGORITHMS.get(algorithm.upper())
    if dtype is None:
        raise InputError(
            f"`checkpoint_kv_cache_quant_algo` is {algorithm!r}",
            hint=f"known are {', '.join(batch_cases.KV_ALGORITHMS)}",
        )
    return replace(shape, kv_quant_dtype=dtype)


def _forced(resolved: ResolvedFlags, fields: Mapping[str, Any]) -> ResolvedFlags:
    """Resolved arguments with some of them set past validation."""
    try:
        return replace(resolved, **fields)
    except TypeError:
        raise InputError(f"`set` names no resolved argument: {', '.join(fields)}") from None
