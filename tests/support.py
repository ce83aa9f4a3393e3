"""What the suites share: where things are, and how the real command line is run."""

import json
import os
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared"
GOLDEN = ROOT / "tests" / "golden"
EXAMPLES = ROOT / "examples"
COMMAND = Path(sysconfig.get_path("scripts")) / "poolsplit"
TIMEOUT_S = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandResult:
    """One finished run of the command line."""

    exit_code: int
    stdout: str
    stderr: str

    @property
    def document(self) -> Any:
        """The JSON object on stdout."""
        return json.loads(self.stdout)

    def assert_error(self, exit_code: int, *needles: str) -> None:
        """One `error:` line, a hint, the exit code, no traceback and nothing on stdout."""
        assert self.exit_code == exit_code, self.stderr
        lines = self.stderr.splitlines()
        assert sum(line.startswith("error: ") for line in lines) == 1, self.stderr
        assert any(line.startswith("hint: ") for line in lines), self.stderr
        assert "Traceback" not in self.stderr
        assert self.stdout == ""
        for needle in needles:
            assert needle in self.stderr


def run_command(
    *arguments: str, cwd: Path, stdin: str | None = None, env: dict[str, str] | None = None
) -> CommandResult:
    """Runs the installed `poolsplit` as a person would."""
    done = subprocess.run(
        [str(COMMAND), *arguments],
        cwd=cwd,
        input=stdin or "",
        env={**os.environ, **(env or {})},
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    return CommandResult(exit_code=done.returncode, stdout=done.stdout, stderr=done.stderr)


def interruptible(command: list[str]) -> list[str]:
    """A command that can be interrupted even where the tests run in the background, which ignores that signal."""
    start = "import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); os.execv(sys.argv[1], sys.argv[1:])"
    return [sys.executable, "-c", start, *command]
