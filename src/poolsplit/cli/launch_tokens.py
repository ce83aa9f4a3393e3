"""The parts of a command line that belong to the engine."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchTokens:
    """Engine flags given among our options, and a launch command pasted after `--`; both as typed."""

    engine: tuple[str, ...] = ()
    pasted: tuple[str, ...] = ()
