"""Asks other tools what the recorded engine was asked, and writes docs/comparison.md.

    .venv/bin/python bench/comparison.py [--environments FOLDER]

Each tool is installed in an environment of its own, from the package index, at the version named below; with a folder
the environments are kept there. Same config file, same width, same bytes for both pools, same workloads, one run.
"""

import argparse
import datetime as dt
import gzip
import json
import platform
import subprocess
import sys
import sysconfig
import tempfile
import venv
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
GOLDEN = ROOT / "tests" / "golden"
RECORDED = ROOT.parent / "shared" / "golden" / "cache" / "golden.jsonl.gz"
COMMAND = str(Path(sysconfig.get_path("scripts")) / "poolsplit")
PAGE = ROOT / "docs" / "comparison.md"
CONTEXT_TOKENS = 8192
GIB = 2**30
RELEASE = "0.5.23"
SIMULATED_MODEL = "qwen3.5-27b"
SIMULATED_BYTES = 65536
"""Bytes of one token of the simulated model: they turn the engine's KV tokens into a budget, and back again."""
PLAIN_FLAGS = {"tp_size", "mem_fraction_static", "mamba_radix_cache_strategy"}
"""A launch with no flag but these is compared: the other tools know no other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """One tool at one version."""

    name: str
    version: str

    @property
    def requirement(self) -> str:
        """What is installed."""
        return f"{self.name}=={self.version}"


KVFIT = Peer(name="kvfit", version="0.3.0")
HF_MEM = Peer(name="hf-mem", version="0.5.6")
AICONFIGURATOR = Peer(name="aiconfigurator", version="0.12.0")
SIMULATOR = Peer(name="kvcache-simulator", version="0.1.3")

PAGE_TEXT = """# Beside other tools

Written by `bench/comparison.py` on {date} with Python {python} on {machine}. Every tool ran in that run, in an
environment of its own, at the version named: {versions}.

The engine's column is the recorded answer of SGLang {release} itself. Each tool got the `config.json` that the engine
was asked with, the same tensor-parallel width and, on a card, the same bytes for both pools. {launches} launches are
compared: of each hybrid model with recorded answers, the first one that sets nothing but
{flags}.

## How many requests of 8,192 tokens run at once

The engine's count is the smaller of the requests it admits and the requests whose tokens it holds. kvfit says that it
counts one state a sequence and no checkpoints. hf-mem gives the bytes of one request of the whole model and no count:
its column is the bytes of all cards over its figure, a division of ours, so that a multiple near 1 does not say that
its bytes of a request are the engine's.

{requests}

## How many KV tokens the server holds

{tokens}

AIConfigurator was asked for its `h200_sxm` card and its current data of this engine, through its own estimate of the KV
cache; its card was made as large as left the cache the bytes of both pools. kvfit and hf-mem give no count of KV
tokens. None of the three gives the slots of the state pool, of which the engine takes three to five for each running
request; poolsplit gives the engine's count in {slots} launches.

## How much of a workload's prompts is reused

{workloads} of {recorded} recorded workloads, each replayed in order by the engine's own prefix cache at a given size of
both pools; the second half of each is measured, as kvcache-simulator does. It has one pool of KV blocks, got the
engine's KV tokens in blocks of one token, and leaves out the workloads that do not fill them.

{reuse}

## Not run

| tool | why |
|---|---|
| the calculator and the skill of SGLang's cookbook | in no package index: pages of a site, files of a repository |

## What each tool is for

The tools answer other questions too, which are not compared here: hf-mem reads the weights of any model on the hub,
kvfit checks systems of many cards, AIConfigurator estimates latency and searches for configurations,
kvcache-simulator has an optimal policy as a bound. poolsplit answers for hybrid models on SGLang alone.
"""


def environment(folder: Path, peer: Peer) -> Path:
    """The interpreter of an environment that holds one tool."""
    place = folder / peer.name
    python = place / "bin" / "python"
    if not python.exists():
        venv.create(place, with_pip=True)
        quiet = ("--quiet", "--disable-pip-version-check")
        subprocess.run([python, "-m", "pip", "install", *quiet, peer.requirement], check=True)
    return python


def asked(folder: Path, peer: Peer, questions: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What one tool answers to every question."""
    script = ROOT / "bench" / "peers" / f"{peer.name.replace('-', '_')}_answers.py"
    lines = "".join(json.dumps(question) + "\n" for question in questions)
    python = environment(folder, peer)
    done = subprocess.run([python, script], input=lines, capture_output=True, text=True, check=True, cwd=folder)
    return [json.loads(line) for line in done.stdout.splitlines()]


def rows_of(file: Path) -> list[dict[str, Any]]:
    """The lines of a recorded file."""
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def launches() -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """The launches that are compared, with the engine's answers: the first plain one of each hybrid model."""
    with gzip.open(GOLDEN / "resolve_models.json.gz", "rt", encoding="utf-8") as file:
        configs = json.load(file)
    chosen: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {}
    for row in rows_of(GOLDEN / "resolve_cases.jsonl.gz"):
        case, result = row["case"], row["result"]
        is_plain = set(case["args"]) <= PLAIN_FLAGS and case.get("engine_version", RELEASE) == RELEASE
        model = case.get("model", "made-up")
        if not is_plain or not result.get("ok") or model.startswith("made-up") or model in chosen:
            continue
        if result["max_mamba_cache_size"] and result["cell_size"][0]:
            chosen[model] = ({**case, "config": configs[model]}, result)
    return list(chosen.values())


def question(case: dict[str, Any], result: dict[str, Any]) -> dict[str, Any]:
    """A launch as the other tools can be asked: the bytes of both pools are those that the engine filled."""
    state_bytes = (result["max_mamba_cache_size"] + 1) * result["mamba_cache_per_req"]
    return {
        "config": case["config"],
        "tp": case["args"]["tp_size"],
        "pool_bytes": result["rest_bytes"][0] + state_bytes,
        "context_tokens": CONTEXT_TOKENS,
    }


def batch(command: str, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Answers of one of our commands to many questions."""
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
        file.flush()
        done = subprocess.run([COMMAND, command, "--batch", file.name], capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def at_once(answer: dict[str, Any]) -> int:
    """Requests of the context that run at once, by the engine's or our resolution."""
    return min(answer["max_running_requests"], answer["max_total_num_tokens"] // CONTEXT_TOKENS)


def cell(answer: dict[str, Any], value: float | None, truth: int) -> str:
    """A figure with its multiple of the engine's, or why there is none."""
    if value is None:
        return f"refused: {answer['refused'].split(';')[0]}"
    return f"{value:,}" if value == truth else f"{value:,} ({value / truth:.2f} x)"


def table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """A table of the page."""
    lines = (head, ("---",) * len(head), *rows)
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def capacity_tables(folder: Path) -> dict[str, Any]:
    """Both tables of launches."""
    chosen = launches()
    questions = [question(case, result) for case, result in chosen]
    mine = batch("resolve", [case for case, _ in chosen])
    kvfit, hf_mem, configurator = (asked(folder, peer, questions) for peer in (KVFIT, HF_MEM, AICONFIGURATOR))
    requests, tokens = [], []
    for number, (case, result) in enumerate(chosen):
        launch = f"{case['model']}, TP {case['args']['tp_size']}"
        truth, kv_tokens = at_once(result), result["max_total_num_tokens"]
        whole = hf_mem[number].get("request_bytes")
        fitting = whole and questions[number]["pool_bytes"] * case["args"]["tp_size"] // whole
        requests.append(
            (
                launch,
                f"{truth:,}",
                cell(mine[number], at_once(mine[number]), truth),
                cell(kvfit[number], kvfit[number].get("requests"), truth),
                cell(hf_mem[number], fitting, truth),
            )
        )
        tokens.append(
            (
                launch,
                f"{kv_tokens:,}",
                cell(mine[number], mine[number]["max_total_num_tokens"], kv_tokens),
                cell(configurator[number], configurator[number].get("tokens"), kv_tokens),
            )
        )
    agreeing = sum(
        my["max_mamba_cache_size"] == result["max_mamba_cache_size"]
        for my, (_, result) in zip(mine, chosen, strict=True)
    )
    return {
        "launches": len(chosen),
        "slots": f"{agreeing} of {len(chosen)}",
        "requests": table(("launch", "engine", "poolsplit", "kvfit", "hf-mem"), requests),
        "tokens": table(("launch", "engine", "poolsplit", "AIConfigurator"), tokens),
    }


def simulated(python: Path, workload: dict[str, Any], folder: Path) -> dict[str, Any] | None:
    """What kvcache-simulator says of one workload; None where it leaves the budget out."""
    trace = folder / "workload.jsonl"
    with trace.open("w", encoding="utf-8") as file:
        for request in workload["requests"]:
            tokens = [token for start, count in request["runs"] for token in range(start, start + count)]
            file.write(json.dumps({"block_size": 1, "hash_ids": tokens, "input_length": len(tokens)}) + "\n")
    budget_gib = workload["config"]["kv_tokens"] * SIMULATED_BYTES / GIB
    words = (
        "run",
        "--trace",
        trace,
        "--model",
        SIMULATED_MODEL,
        "--budgets-gib",
        repr(budget_gib),
        "--policies",
        "lru",
    )
    command = (python.parent / "kvcache-simulator", *words, "--backend", "python", "--format", "json")
    found = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    if found["metadata"]["bytesPerToken"] != SIMULATED_BYTES:
        raise SystemExit("the simulated model does not take the bytes that the budget was made with")
    return found["points"][0]["results"]["lru"] if found["points"] else None


def reuse_table(folder: Path) -> dict[str, Any]:
    """The table of reuse."""
    python = environment(folder, SIMULATOR)
    file = RECORDED if RECORDED.exists() else GOLDEN / "replay_cases.jsonl.gz"
    workloads = [row for row in rows_of(file) if row["mode"] == "sequential"]
    questions = [{key: value for key, value in row.items() if key not in ("expect", "freed")} for row in workloads]
    mine = {answer["n"]: answer["expect"] for answer in batch("replay", questions)}
    sums = Reuse()
    for row in workloads:
        found = simulated(python, row, folder)
        if found is not None:
            start = found["measurementStartRequest"]
            sums.add(row["expect"][start:], mine[row["n"]][start:], found["hitTokens"])
    return {"workloads": sums.workloads, "recorded": len(workloads), "reuse": sums.table()}


class Reuse:
    """Reused tokens, summed over workloads."""

    def __init__(self) -> None:
        self.workloads = self.prompt_tokens = self.engine_tokens = 0
        self.ours = Sums()
        self.theirs = Sums()

    def add(self, engine: list[dict[str, Any]], ours: list[dict[str, Any]], theirs: int) -> None:
        """One more workload."""
        truth = sum(record["matched"] for record in engine)
        self.workloads += 1
        self.prompt_tokens += sum(record["prompt"] for record in engine)
        self.engine_tokens += truth
        self.ours.add(sum(record["matched"] for record in ours), truth)
        self.theirs.add(theirs, truth)

    def table(self) -> str:
        """As a table of the page."""
        rows = [("engine", f"{self.engine_tokens / self.prompt_tokens:.1%}", "", "")]
        for name, sums in (("poolsplit replay", self.ours), ("kvcache-simulator, LRU", self.theirs)):
            share, off = sums.tokens / self.prompt_tokens, sums.off_tokens / self.prompt_tokens
            rows.append((name, f"{share:.1%}", f"{off:.1%}", f"{sums.equal} of {self.workloads}"))
        return table(("", "prompt tokens reused", "off by, summed without sign", "workloads exact"), rows)


class Sums:
    """One tool's tokens beside the engine's."""

    def __init__(self) -> None:
        self.tokens = self.off_tokens = self.equal = 0

    def add(self, said: int, truth: int) -> None:
        """One more workload."""
        self.tokens += said
        self.off_tokens += abs(said - truth)
        self.equal += said == truth


def main() -> int:
    """Writes the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--environments", type=Path, help="where the tools' environments are kept")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as fresh:
        folder = (arguments.environments or Path(fresh)).resolve()
        page = PAGE_TEXT.format(
            date=dt.datetime.now(tz=dt.UTC).date(),
            python=platform.python_version(),
            machine=f"{platform.system()} {platform.machine()}",
            versions=", ".join(f"{peer.name} {peer.version}" for peer in (KVFIT, HF_MEM, AICONFIGURATOR, SIMULATOR)),
            release=RELEASE,
            flags=", ".join(f"`--{flag.replace('_', '-')}`" for flag in sorted(PLAIN_FLAGS)),
            **capacity_tables(folder),
            **reuse_table(folder),
        )
    PAGE.write_text(page, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
