"""Chooses the committed golden cases of `resolve`: few, and every rule and refusal of every release among them.

    python scripts/choose_resolve_cases.py ../shared/golden/solver tests/golden

A case is taken when it shows something that none before it did: a value of a flag in a release, a model, a card, a
dtype, an arm of the solver, a refusal. The rest of the limit is filled with cases spread over the whole set.
"""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path

CASE_LIMIT = 1400
ANSWER_FIELDS = (
    "ok",
    "stage",
    "reason",
    "figures",
    "launcher_reason",
    *json.loads((Path(__file__).parents[1] / "tests/golden/compared_fields.json").read_text()),
)
PLAIN_NUMBERS = {"mem_fraction_static", "mamba_full_memory_ratio", "max_mamba_cache_size", "max_total_tokens"}


def shown_by(row: dict) -> set[tuple]:
    """What one case shows."""
    case, result = row["case"], row["result"]
    version = result.get("version", "0.5.23")
    args = case.get("args", {})
    shown = {("model", version, case.get("model")), ("card", version, case["platform"])}
    shown |= {("flag", version, name, None if name in PLAIN_NUMBERS else str(args[name])) for name in args}
    shown |= {("env", version, name) for name in case.get("env", {})}
    shown |= {("refusal", version, result.get("reason"), result.get("stage"))}
    shown |= {("launcher", version, result.get("launcher_reason"), result["ok"])}
    if result["ok"]:
        shown.add(("kv", version, result["kv_cache_dtype"], result["is_hybrid_swa"], result["use_mla"]))
        shown.add(("family", version, case.get("model"), args.get("speculative_algorithm"), args.get("pp_size", 1) > 1))
        shown.add(("slots", version, result["mamba_ratio"], bool(args.get("max_mamba_cache_size"))))
    return shown


def choose(rows: list[dict]) -> list[dict]:
    """The cases to keep, in their order."""
    seen: set[tuple] = set()
    kept, others = [], []
    for number, row in enumerate(rows):
        shown = shown_by(row)
        (kept if shown - seen else others).append(number)
        seen |= shown
    room = max(0, CASE_LIMIT - len(kept))
    step = max(1, len(others) // room) if room else 0
    kept += others[::step][:room] if room else []
    return [rows[number] for number in sorted(kept)]


def thinned(row: dict) -> dict:
    """A case with only the answer fields that are compared."""
    result = row["result"]
    case = {**row["case"], "engine_version": result.get("version", "0.5.23")}
    return {"case": case, "result": {name: result[name] for name in ANSWER_FIELDS if name in result}}


def main() -> None:
    """Reads every golden file and writes the chosen cases and their models."""
    source, target = Path(sys.argv[1]), Path(sys.argv[2])
    rows = [json.loads(line) for path in sorted(source.glob("golden*.gz")) for line in lines_of(path)]
    chosen = [thinned(row) for row in choose(rows)]
    models = {path.stem: json.loads(path.read_text()) for path in sorted((source / "models").glob("*.json"))}
    write(target / "resolve_cases.jsonl.gz", "".join(json.dumps(row) + "\n" for row in chosen))
    write(target / "resolve_models.json.gz", json.dumps(models))
    print(len(chosen), "of", len(rows), "cases;", (target / "resolve_cases.jsonl.gz").stat().st_size, "bytes")


def lines_of(path: Path) -> list[bytes]:
    """The lines of a gzip file."""
    return gzip.decompress(path.read_bytes()).splitlines()


def write(path: Path, text: str) -> None:
    """A gzip file that is the same bytes for the same text."""
    path.write_bytes(gzip.compress(text.encode(), mtime=0))


if __name__ == "__main__":
    main()
