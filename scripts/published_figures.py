"""Published figures beside ours: the facts in `scripts/published`, and what the commands that answer them give."""

import json
import shlex
import subprocess
import sysconfig
import tomllib
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
FACTS = ROOT / "scripts" / "published"
TRACES = ROOT.parent / "shared" / "traces"
COMMAND = str(Path(sysconfig.get_path("scripts")) / "poolsplit")
CLAMP = (
    "poolsplit resolve {model} --gpu b300 --free-before 260GiB --free-after 240GiB"
    " --max-mamba-cache-size {slots} --max-running-requests {asked}"
)

PRINTED_DIGITS = 2
"""Of a size in the engine's log."""


class NoAnswerError(Exception):
    """A command gave no document."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One published figure, and where ours stands in the answer."""

    name: str
    published: float
    path: str = ""
    digits: int = 0
    unit: float = 1
    fitted: bool = False
    """The free memory of the command was chosen by it: no check."""
    measured: float | None = None
    """Ours as it was measured on the run's date, where the command is slow or its trace is not in the repository."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One command and the figures it answers."""

    group: str
    what: str
    source: str
    command: str
    figures: tuple[Figure, ...]
    note: str = ""
    trace: str = ""
    """The file that the command names, under the folder of traces."""
    date: str = ""
    """When it was measured; a run with a date is not run again by the test."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One figure with both values."""

    run: Run
    figure: Figure
    ours: float | None
    follows: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Boot:
    """One start-up that someone printed."""

    name: str
    source: str
    what: str
    build: str
    rules: str
    launch: str
    gpu: str = ""
    log: str = ""
    known: bool = False
    note: str = ""

    @property
    def command(self) -> str:
        """The command that holds its printed figures to the rules."""
        log = self.log or f"scripts/published/boots/{self.name}.log"
        card = f" --gpu {self.gpu}" if self.gpu else ""
        return f"poolsplit read {log}{card} -- python -m sglang.launch_server {self.launch}"


def facts(name: str) -> dict[str, Any]:
    """One file of facts."""
    return tomllib.loads((FACTS / f"{name}.toml").read_text(encoding="utf-8"))


def boots() -> list[Boot]:
    """The printed start-ups."""
    return [Boot(**entry) for entry in facts("boots")["boot"]]


def runs() -> list[Run]:
    """The commands with their figures, clamps included."""
    listed = [
        Run(**{**entry, "figures": tuple(Figure(**figure) for figure in entry["figures"])})
        for entry in facts("figures")["run"]
    ]
    return [*listed, *(_clamp(entry) for entry in facts("clamps")["clamp"])]


def _clamp(entry: Mapping[str, Any]) -> Run:
    granted = Figure(name="running requests", path="max_running_requests", published=entry["granted"])
    return Run(
        group="clamps",
        what=f"{entry['slots']} slots, {entry['asked']} asked: {entry['what']}",
        source=entry["source"],
        command=" ".join([CLAMP.format(**entry), *filter(None, [entry.get("flags")])]),
        figures=(granted,),
    )


def answer(command: str, trace: str = "") -> Any:
    """The document that a command gives."""
    words = [str(TRACES / trace) if trace and word == Path(trace).name else word for word in shlex.split(command)]
    ours, rest = (words[: words.index("--")], words[words.index("--") :]) if "--" in words else (words, [])
    done = subprocess.run(
        [COMMAND, *ours[1:], "--json", "-q", *rest], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if not done.stdout:
        raise NoAnswerError(f"{command}: {done.stderr}")
    return json.loads(done.stdout)


def value(document: Any, figure: Figure) -> float | None:
    """Our value of one figure; a refused start-up has none."""
    found = document
    for key in figure.path.split("."):
        found = found[int(key)] if isinstance(found, list) else found.get(key)
        if found is None:
            return None
    return float(found) / figure.unit


def rows_of(run: Run) -> list[Row]:
    """One command's figures with both values; what has a date, or a trace that is not here, keeps what was measured."""
    kept = run.date or (run.trace and not (TRACES / run.trace).is_file())
    document = None if kept else answer(run.command, run.trace)
    return [
        row(run, figure, figure.measured if document is None else value(document, figure)) for figure in run.figures
    ]


def row(run: Run, figure: Figure, ours: float | None) -> Row:
    """Both values; ours follows when it rounds to what was published."""
    follows = ours is not None and round(ours, figure.digits) == figure.published
    return Row(run=run, figure=figure, ours=ours, follows=follows)


def boot_figures(boot: Boot) -> list[dict[str, Any]]:
    """The printed figures of one start-up beside the rules' own, by the release that answers for it."""
    predictions = answer(boot.command)["predictions"]
    return [figure for each in predictions if each["version"] == boot.rules for figure in each["figures"]]


def to_the_digit(figure: Mapping[str, Any]) -> bool:
    """Whether our value of a printed figure is the printed one, not only within the bounds that rounding leaves."""
    return bool(figure["follows"]) and round(figure["predicted"], PRINTED_DIGITS) == float(figure["printed"])


def every(one: Any, work: Sequence[Any]) -> list[Any]:
    """What the call gives for every entry, in order, four commands at a time."""
    with ThreadPoolExecutor(max_workers=4) as pool:
        return list(pool.map(one, work))
