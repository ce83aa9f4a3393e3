"""Sizes the two memory pools of a hybrid model's server with the engine's own arithmetic."""

from __future__ import annotations

from typing import Any

__version__ = "0.1.0"

_FUNCTIONS = ("plan", "read_log", "resolve")

__all__ = ["__version__", "plan", "read_log", "resolve"]


def __getattr__(name: str) -> Any:
    if name in _FUNCTIONS:
        from poolsplit import api

        return getattr(api, name)
    raise AttributeError(f"module `poolsplit` has no attribute `{name}`")
