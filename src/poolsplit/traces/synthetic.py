"""Generators by name, their parameters from text, and what each parameter is."""

from __future__ import annotations

import ast
import inspect
from dataclasses import fields
from difflib import get_close_matches
from importlib import import_module
from typing import TYPE_CHECKING, Any

import msgspec

from poolsplit.errors import UsageError
from poolsplit.traces.checks import check
from poolsplit.units import parse_count

if TYPE_CHECKING:
    from collections.abc import Mapping

    from poolsplit.traces.trace import Trace

PRESETS = {"chat": "ChatWorkload", "agent": "AgentWorkload", "rag": "RagWorkload", "mixed": "MixedWorkload"}
"""Preset to the class of its parameters, in `synthetic_PRESET.py`."""


def synthesise(preset: str, *, seed: int, parameters: Mapping[str, str]) -> tuple[Trace, Any]:
    """A generated trace and the parameters that made it.

    Args:
        preset: `chat`, `agent`, `rag` or `mixed`.
        seed: The same seed and parameters give the same trace.
        parameters: Values by name where they differ from the preset's; counts may be written `32k`.

    Raises:
        UsageError: An unknown preset or parameter, or a value that is not one.
    """
    module = _module(preset)
    if seed < 0:
        raise UsageError(f"`--seed` is {seed}", hint="give a whole number from 0")
    workload = _workload(preset, getattr(module, PRESETS[preset]), parameters)
    return check(module.generate(workload, seed)), workload


def parameters_of(preset: str, *, seed: int, parameters: Mapping[str, str]) -> list[dict[str, Any]]:
    """Every parameter that a trace would be made with.

    Raises:
        UsageError: An unknown preset or parameter, or a value that is not one.
    """
    return parameter_steps(_workload(preset, getattr(_module(preset), PRESETS[preset]), parameters), seed)


def parameter_steps(workload: Any, seed: int) -> list[dict[str, Any]]:
    """Every parameter with value, unit and meaning, for the derivation."""
    meanings = _meanings(type(workload))
    steps = [
        {"name": f.name, "value": getattr(workload, f.name), "unit": _unit(f.name), "source": meanings[f.name]}
        for f in fields(workload)
    ]
    return [{"name": "seed", "value": seed, "unit": "", "source": "the same seed gives the same trace"}, *steps]


def _module(preset: str) -> Any:
    if preset not in PRESETS:
        raise UsageError(f"there is no preset `{preset}`", hint=f"the presets are {', '.join(PRESETS)}")
    return import_module(f"poolsplit.traces.synthetic_{preset}")


def _workload(preset: str, kind: Any, parameters: Mapping[str, str]) -> Any:
    known = {f.name: f for f in fields(kind)}
    values: dict[str, Any] = {}
    for name, text in parameters.items():
        if name not in known:
            near = get_close_matches(name, known, n=1)
            hint = f"did you mean `--{near[0].replace('_', '-')}`?" if near else "see `--explain` for all of them"
            raise UsageError(f"the preset `{preset}` has no parameter `--{name.replace('_', '-')}`", hint=hint)
        values[name] = _value(text)
    try:
        return msgspec.convert(values, kind, strict=False)
    except msgspec.ValidationError as error:
        message, _, path = str(error).partition(" - at `$.")
        flag = "--" + path.removesuffix("`").replace("_", "-")
        raise UsageError(
            f"{message[:1].lower()}{message[1:]}", hint="see `--explain` for its unit", where=flag
        ) from None


def _value(text: str) -> Any:
    """A number where the text is one (`32k` counts in 1,024), else the text for the parameter's own type to judge."""
    if text in {"inf", "infinity"}:
        return float("inf")
    if text in {"none", "None"}:
        return None
    if text[-1:].lower() in {"k", "m"} and text[:-1].replace(".", "", 1).isdecimal():
        return parse_count(text)
    return text


def _unit(name: str) -> str:
    endings = {"_tokens": "tokens", "_s": "s", "_fraction": "fraction", "_tokens_per_s": "tokens/s"}
    return next((unit for ending, unit in reversed(endings.items()) if name.endswith(ending)), "")


def _meanings(kind: type) -> dict[str, str]:
    """The sentence under each field of a dataclass."""
    body = ast.parse(inspect.getsource(kind)).body[0]
    meanings: dict[str, str] = {}
    name = ""
    for node in getattr(body, "body", []):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            name = node.target.id
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and name:
            meanings[name] = str(node.value.value)
    return meanings
