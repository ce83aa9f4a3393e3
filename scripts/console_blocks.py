"""Shown commands of a page: what they are, and what they print. Shared by the tests and by `shown_output.py`."""

import os
import re
import shlex
import subprocess
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SCRIPTS = sysconfig.get_path("scripts")
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PROMPT = re.compile(r"^\$ ", re.MULTILINE)
COLUMNS = "100"
ONCE_PER_MACHINE = "compiling the replay kernel"
"""Said when machine code is not on disk yet; no part of an answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """One command as a page shows it."""

    typed: tuple[str, ...]
    """Its lines, without the prompt."""
    output: tuple[str, ...]
    """What the page says it prints; a last line `...` stands for the rest."""

    @property
    def command(self) -> str:
        """The command on one line."""
        return " ".join(line.removesuffix("\\").strip() for line in self.typed)


def shown_commands(block: str) -> Iterator[Shown]:
    """The commands of one block, in order."""
    for part in PROMPT.split(block)[1:]:
        lines = part.rstrip("\n").split("\n")
        size = next((at + 1 for at, line in enumerate(lines) if not line.endswith("\\")), len(lines))
        yield Shown(typed=tuple(lines[:size]), output=tuple(line.rstrip() for line in lines[size:]))


def printed(command: str, folder: Path) -> list[str]:
    """The lines that a person sees in a terminal of 100 columns; nothing printed is no line.

    Raises:
        ValueError: The command is not one of ours.
    """
    words = shlex.split(command)
    if words[0] != "poolsplit":
        raise ValueError(f"a page shows a command that is not ours: {command}")
    environment = {**os.environ, "PATH": f"{SCRIPTS}:{os.environ['PATH']}", "COLUMNS": COLUMNS, "TZ": "UTC"}
    done = subprocess.run(
        [str(Path(SCRIPTS) / "poolsplit"), *words[1:]],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    text = (done.stdout + done.stderr).rstrip("\n")
    return [line.rstrip() for line in text.split("\n") if text and not line.startswith(ONCE_PER_MACHINE)]
