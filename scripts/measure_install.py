"""Measures what an installation takes and how fast it starts, and rewrites the last section of docs/release.md.

    .venv/bin/python scripts/measure_install.py

Builds the last commit, installs it with the locked dependencies in a fresh environment, and runs commands in it. Times
are of the processor, user and system, so that a busy machine does not change them much.
"""

import datetime as dt
import os
import platform
import resource
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "release.md"
HEADING = "## What an installation takes"
LIGHT_ROUNDS = 7
PLAN = ("plan", "Qwen/Qwen3-Next-80B-A3B-Instruct", "--gpu", "h200", "--tp", "4", "--context", "8192")
LOG = str(ROOT / "examples" / "boot-qwen3.5-9b-tp2.log")
LIGHT = (("--version",), ("--help",), PLAN, ("read", LOG))
SYNTH = ("trace", "synth", "rag", "--requests", "120", "-o", "rag.pst")
HEAVY = (
    ("replay", "rag.pst", "--state-slots", "64", "--kv-tokens", "200000", "--sessions", "8"),
    ("surface", "rag.pst", "--budget", "300MB", "--state-bytes", "800000", "--kv-bytes", "1000"),
)
SECTION = """{heading}

Written by `scripts/measure_install.py` on {date}: Python {python}, {machine}, {processor}.

| | |
|---|---|
| wheel | {wheel} |
| sdist | {sdist} |
| packages beside poolsplit | {packages} |
| on disk, byte code included | {disk} |
| `pip install` of the lock, from a warm cache of archives | {install_s:.1f} s of the processor |

The largest: {largest}.
The compiler that replay and surface need is most of it; planning, resolving and reading never load it.

| command | processor time, median of {rounds} |
|---|---|
| `python -c pass` | {bare_s:.2f} s |
{light}

| command | first run ever, compiles its kernels | second run |
|---|---|---|
{heavy}
"""


def processor_s(command: list[str], folder: Path) -> float:
    """Processor seconds of one command, its children included."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "NUMBA"))}
    subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def median_s(command: list[str], folder: Path) -> float:
    """The median of some runs, after one that leaves byte code."""
    times = sorted(processor_s(command, folder) for _ in range(LIGHT_ROUNDS + 1))
    return times[LIGHT_ROUNDS // 2]


def size_bytes(place: Path) -> int:
    """Bytes of a file or of all files under a folder."""
    return sum(file.stat().st_size for file in [place, *place.rglob("*")] if file.is_file())


def mib(count: int) -> str:
    """Bytes in MiB."""
    return f"{count / 2**20:.1f} MiB"


def processor_name() -> str:
    """The processor as the system names it, and how many of it."""
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    name = next((line.split(": ", 1)[1] for line in lines if line.startswith("model name")), platform.machine())
    return f"{os.cpu_count()} x {name}"


def row(arguments: tuple[str, ...], *cells: str) -> str:
    """One row of a table of commands."""
    shown = " ".join(argument.removeprefix(f"{ROOT}/") for argument in arguments)
    return f"| `poolsplit {shown}` | {' | '.join(cells)} |"


def measured(work: Path) -> str:
    """The section, measured in a fresh environment."""
    dist, environment = work / "dist", work / "environment"
    subprocess.run(["sh", str(ROOT / "scripts" / "build.sh"), str(dist)], check=True)
    (wheel,), (sdist,) = dist.glob("*.whl"), dist.glob("*.tar.gz")
    venv.create(environment, with_pip=True)
    (site,) = (environment / "lib").glob("python*/site-packages")
    standing = {entry.name for entry in site.iterdir()}
    python, command = str(environment / "bin" / "python"), str(environment / "bin" / "poolsplit")
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    lock = str(ROOT / "requirements" / "run.txt")
    install_s = processor_s([*pip, "--require-hashes", "-r", lock], work)
    install_s += processor_s([*pip, "--no-deps", str(wheel)], work)
    added = {entry.name: size_bytes(entry) for entry in site.iterdir() if entry.name not in standing}
    largest = sorted(((size, name) for name, size in added.items()), reverse=True)[:4]
    processor_s([command, *SYNTH], work)
    return SECTION.format(
        heading=HEADING,
        date=dt.datetime.now(tz=dt.UTC).date(),
        python=platform.python_version(),
        machine=f"{platform.system()} {platform.machine()}",
        processor=processor_name(),
        wheel=mib(size_bytes(wheel)),
        sdist=mib(size_bytes(sdist)),
        packages=sum(name.endswith(".dist-info") for name in added) - 1,
        disk=mib(sum(added.values())),
        install_s=install_s,
        largest=", ".join(f"{name} {mib(size)}" for size, name in largest),
        rounds=LIGHT_ROUNDS,
        bare_s=median_s([python, "-c", "pass"], work),
        light="\n".join(row(words, f"{median_s([command, *words], work):.2f} s") for words in LIGHT),
        heavy="\n".join(
            row(words, *(f"{processor_s([command, *words], work):.1f} s" for _ in ("first", "second")))
            for words in HEAVY
        ),
    )


def main() -> int:
    """Rewrites the section, which is the page's last."""
    with tempfile.TemporaryDirectory() as work:
        section = measured(Path(work))
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(text[: text.index(HEADING)] + section, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
