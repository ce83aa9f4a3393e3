"""Writes docs/reference/json.md and docs/reference/schemas/, or checks that they are current (`--check`).

The documents themselves are the source: the commands of `COMMANDS` run in a folder with the examples, and each kind of
document gets the least schema that all of its answers meet. What a field means is said by the class that it comes from,
or by `field_meanings.toml`.
"""

import ast
import json
import re
import shlex
import subprocess
import sys
import sysconfig
import tempfile
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from document_schema import DIALECT, Schema, fields_of, schema_of
from generated_page import PACKAGE, REFERENCE, ROOT, settle, table

COMMAND = str(Path(sysconfig.get_path("scripts")) / "poolsplit")
LOGS = ROOT / "tests" / "golden" / "bootlogs"
SCHEMAS = REFERENCE / "schemas"
TEXTS = ROOT / "scripts" / "field_meanings.toml"
QWEN = "Qwen/Qwen3-Next-80B-A3B-Instruct --gpu h200 --tp 4 --kv-cache-dtype fp8_e4m3"
PRICES = "--state-bytes 19316736 --kv-bytes 6144"
MEASURED = f"{QWEN} --free-before 139GiB --free-after 100.5GiB"
LAUNCH = "'sglang serve --model-path Qwen/Qwen3.5-9B --tp 2 --mem-fraction-static {fraction}'"
REPLAY = "replay chat.pst --state-slots 120 --kv-tokens 100k"
PREPARE = ("trace synth chat --seed 1 --requests 400 -o chat.pst", f"plan {MEASURED} --context 8k --json -o plan.json")
COMMANDS: dict[str, tuple[str, ...]] = {
    "plan": (
        f"plan {MEASURED} --context 8192",
        f"plan {QWEN} --context 8k --concurrency 64 --compare-version 0.5.16",
        f"plan {MEASURED} --lengths p50=2k,p90=32k,p99=128k --sessions 200 --session-tokens 60k --concurrency 48",
        f"plan {MEASURED} --input 7k --output 1k --pair",
        f"plan {MEASURED} --trace chat.pst --goal balanced --live-sessions 8 --trace-mode closed",
        "plan --boot-log examples/boot-qwen3.5-9b-tp2.log --context 9216",
    ),
    "resolve": (
        f"resolve {MEASURED} --compare-version 0.5.16",
        f"resolve {QWEN} --pp-size 2",
        "resolve moonshotai/Kimi-K3 --gpu b300 --tp 8",
        f"resolve {MEASURED} --mem-fraction-static 0.1",
    ),
    "read": (
        "read examples/boot-qwen3.5-9b-tp2.log --model-path Qwen/Qwen3.5-9B --tp 2 --mem-fraction-static 0.8",
        "read examples/boot-k3-class-tp8.log",
        "read examples/boot-refused.log",
        "read examples/run-time-states-full.log",
        f"read {shlex.quote(str(LOGS))}/sgl-cap9-rtx6000ada.log",
        f"read {shlex.quote(str(LOGS))}/vllm-blocksize-544.log",
    ),
    "diff": (f"diff {LAUNCH.format(fraction=0.8)} {LAUNCH.format(fraction=0.85)} --gpu rtx4090",),
    "trace-info": ("trace info chat.pst",),
    "replay": (
        f"{REPLAY} --sessions 8",
        f"{REPLAY} --sessions 8 --hicache-ratio 4",
        f"{REPLAY} --sessions 8 --enable-unified-memory --state-bytes 19316736 --kv-bytes 6144",
    ),
    "replay-levers": (f"{REPLAY} --sessions 8 --levers",),
    "surface": (
        f"surface chat.pst --budget 4GiB {PRICES} --sessions 8",
        "surface chat.pst --plan plan.json --sessions 8",
    ),
    "sweep": ("sweep --set trace=chat.pst --set state_slots=60,120 --set kv_tokens=100k --set sessions=8 -o grid",),
    "models": ("models",),
    "model": (f"models {QWEN.split(maxsplit=1)[0]}",),
    "gpus": ("gpus",),
    "watch": ("watch examples/live-session.jsonl", "watch examples/live-session.jsonl --plan plan.json"),
    "check": (
        "check plan.json --min-requests 64",
        "check examples/boot-qwen3.5-9b-tp2.log --min-requests 64",
        "check examples/live-session.jsonl --min-requests 64 --min-cached-fraction 0.3",
    ),
}
RECORDS_IN: dict[str, tuple[str, ...]] = {
    "plan": ("plan_answer.py", "plan_beside.py"),
    "read": ("engines/*report*.py", "engines/*report*/*.py", "engines/boot_facts.py", "engines/boot_facts/*.py"),
    "resolve": ("engines/resolved_pools.py", "engines/resolution.py"),
    "watch": ("engines/live_reading.py", "live/*.py"),
    "trace-info": ("traces/info.py",),
    "replay": ("replay/*.py",),
    "replay-levers": ("replay/*.py",),
    "surface": ("surface/*.py",),
}
"""Modules whose classes some objects of a document are made of."""
FEWEST_FIELDS = 3
"""Below it, equal names say nothing."""
PYTHON_KINDS = {
    "int": "integer",
    "float": "number",
    "str": "string",
    "Literal": "string",
    "bool": "boolean",
    "None": "null",
}
Record = Mapping[str, tuple[str, str]]
"""Annotation and meaning of each field of a class."""
HEAD = """# JSON documents

Written by `scripts/make_json_reference.py` from documents that the commands give; the tests hold it to them. Every
`--json` document is one object with `schema_version` (1), `command`, the inputs echoed, `warnings` and `derivation`:
steps of `name`, `value`, `unit`, `source`. `watch --json` prints one object a line.

- Fields stay as they are named here; more may be added. Programs must pass over fields that they do not know.
- Bytes, tokens, slots and pages are whole numbers. `_fraction` is 0 to 1 of a whole, `_ratio` one part to another.
- Unknown is null beside a `<name>_reason`. A figure that follows from rounded ones has `<name>_interval`: low, high.
- Types are those of the documents that were drawn, and of the classes behind them.
- A key `*` stands for a name that is data: a flag, the label of a rank."""


def answers(command_lines: Sequence[str], folder: Path) -> Iterator[Any]:
    """Every document that the commands print."""
    for line in command_lines:
        done = subprocess.run(
            [COMMAND, *shlex.split(line), "--json", "--quiet"], cwd=folder, capture_output=True, text=True, check=False
        )
        if not done.stdout:
            raise SystemExit(f"poolsplit {line}: {done.stderr}")
        if line.startswith("watch"):
            yield from (json.loads(each) for each in done.stdout.splitlines())
        else:
            yield json.loads(done.stdout)


def records(patterns: Sequence[str]) -> list[Record]:
    """The dataclasses of the modules, those with most fields first."""
    found = []
    for pattern in patterns:
        for path in sorted(PACKAGE.glob(pattern)):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            found += [dict(fields(node)) for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    return sorted((record for record in found if len(record) >= FEWEST_FIELDS), key=len, reverse=True)


def fields(node: ast.ClassDef) -> Iterator[tuple[str, tuple[str, str]]]:
    """Name, annotation and the string under each field of a class."""
    for field, below in zip(node.body, [*node.body[1:], None], strict=True):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
            text = below.value.value if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant) else ""
            yield field.target.id, (ast.unparse(field.annotation), " ".join(str(text).split()))


def explain(schema: Schema, known: list[Record], texts: Mapping[str, str], path: str = "") -> None:
    """Adds what fields mean, and that they may be null: from the class that has these fields, and from the texts."""
    properties = schema.get("properties", {})
    record = next((each for each in known if each.keys() <= properties.keys()), {})
    for name, field in properties.items():
        annotation, text = record.get(name, ("", ""))
        text = texts.get(f"{path}{name}", text)
        if text:
            field["description"] = text
        admit(field, {kind for word, kind in PYTHON_KINDS.items() if re.search(rf"\b{word}\b", annotation)})
        if f"{name}_reason" in properties:
            admit(field, {"null"})
        explain(field, known, texts, f"{path}{name}.")
        explain(field.get("items", {}), known, texts, f"{path}{name}[].")
        explain(field.get("additionalProperties", {}), known, texts, f"{path}{name}.*.")


def admit(field: Schema, kinds: set[str]) -> None:
    """Lets a field have more types; one that was only ever null, and no class types, may have any."""
    seen = {field["type"]} if isinstance(field.get("type"), str) else set(field.get("type", ()))
    allowed = sorted((seen | kinds) - ({"integer"} if "number" in seen | kinds else set()))
    if allowed == ["null"]:
        field.pop("type", None)
    else:
        field["type"] = allowed[0] if len(allowed) == 1 else allowed


def main() -> int:
    """Writes page and schemas, or says which are out of date."""
    parts, files = [HEAD], {}
    texts = tomllib.loads(TEXTS.read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "examples").symlink_to(ROOT / "examples")
        for line in PREPARE:
            subprocess.run([COMMAND, *shlex.split(line), "--quiet"], cwd=folder, check=True)
        for kind, lines in COMMANDS.items():
            schema = schema_of(list(answers(lines, folder)))
            explain(schema, records(RECORDS_IN.get(kind, ())), {**texts["every document"], **texts.get(kind, {})})
            document = {"$schema": DIALECT, "title": f"poolsplit {kind.replace('-', ' ')} --json", **schema}
            files[SCHEMAS / f"{kind}.json"] = json.dumps(document, indent=1) + "\n"
            rows = ((f"`{path}`", kinds, field.get("description", "")) for path, kinds, field in fields_of(schema))
            parts += [f"## {kind}", f"[Schema](schemas/{kind}.json)", table(("field", "type", "meaning"), rows)]
    files[REFERENCE / "json.md"] = "\n\n".join(parts) + "\n"
    return settle(files)


if __name__ == "__main__":
    sys.exit(main())
