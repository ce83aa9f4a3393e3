"""Argument resolution: what the engine makes of a launch before it sizes anything."""

from __future__ import annotations

from poolsplit.engines.sglang.rules.resolve import resolve_flags

__all__ = ["resolve_flags"]
