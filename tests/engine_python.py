"""Running scripts with an interpreter that has the engine's package; tests are skipped where there is none."""

import importlib.metadata
import json
import os
import subprocess
import sys
from functools import lru_cache

import pytest

from support import ROOT, SHARED

SCRIPTS = ROOT / "tests" / "differential" / "engine_side"
HARNESS = SHARED / "reference" / "solver"
TIMEOUT_S = 300


def engine_python() -> str:
    """`SGLANG_PYTHON` names an interpreter that has the engine, else this one is tried."""
    return os.environ.get("SGLANG_PYTHON", sys.executable)


@lru_cache(maxsize=1)
def engine_version() -> str | None:
    """Release of the engine behind that interpreter; None without one."""
    code = "import importlib.metadata as m; print(m.version('sglang'))"
    done = subprocess.run([engine_python(), "-c", code], capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else None


def run_in_engine(script: str, stdin: object = None, *, path: tuple[str, ...] = ()) -> str:
    """Standard output of one of the scripts.

    Skips the test where the engine, or the harness that stands in for a GPU, is missing.
    """
    if engine_version() is None:
        pytest.skip("the engine's package is not importable here")
    if not HARNESS.is_dir():
        pytest.skip("needs the harness beside the project")
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(HARNESS), *path]),
        "HF_HUB_OFFLINE": "1",
        "OMP_NUM_THREADS": "1",
    }
    done = subprocess.run(
        [engine_python(), str(SCRIPTS / script)],
        input=json.dumps(stdin),
        env=environment,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def installed_metadata(folder) -> str:
    """A folder with this package's installed metadata alone, for loaders that look for entry points."""
    distribution = importlib.metadata.distribution("poolsplit")
    target = folder / "poolsplit-0.0.dist-info"
    target.mkdir()
    for name in ("METADATA", "entry_points.txt"):
        (target / name).write_text(distribution.read_text(name), encoding="utf-8")
    return str(folder)
