"""Comparing answers of `resolve --batch` with recorded answers of the engine."""

import gzip
import json
from pathlib import Path
from typing import Any

from poolsplit.engines.sglang.batch import Batch
from poolsplit.engines.sglang.solver import solve

PRINTED_DECIMALS = {"rest_gib": 2, "slot_mib": 2, "raise_above": 3, "minimum": 4}
CELL_TOLERANCE = 1e-9
COMPARED: tuple[str, ...] = tuple(json.loads((Path(__file__).parent / "golden/compared_fields.json").read_text()))


def read_lines(path: Path) -> list[dict[str, Any]]:
    """The rows of a gzip file of JSON lines."""
    return [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]


def answers(rows: list[dict[str, Any]], models: dict[str, Any]) -> list[dict[str, Any]]:
    """Our answer to each recorded case."""
    batch = Batch(models.__getitem__, solve)
    found = []
    for row in rows:
        version = row["case"].get("engine_version") or row["result"].get("version") or "0.5.23"
        line = json.dumps({**row["case"], "engine_version": version}).encode()
        found.append(json.loads(batch.answer(line)))
    return found


def disagreement(want: dict[str, Any], have: dict[str, Any]) -> str | None:
    """What differs between a recorded answer and ours; None when nothing does."""
    if bool(want["ok"]) != have["ok"]:
        return f"wanted ok={want['ok']} {want.get('reason')}, got {have.get('reason')}: {have.get('message')}"
    if want.get("launcher_reason") != have["launcher_reason"]:
        return f"launcher_reason: wanted {want.get('launcher_reason')}, got {have['launcher_reason']}"
    if not want["ok"]:
        return _refusal_disagreement(want, have)
    for name in COMPARED:
        if name in want and not _same(want[name], have[name]):
            return f"{name}: wanted {want[name]}, got {have[name]}"
    return None


def _refusal_disagreement(want: dict[str, Any], have: dict[str, Any]) -> str | None:
    for name in ("stage", "reason"):
        if want[name] != have[name]:
            return f"{name}: wanted {want[name]}, got {have[name]}"
    for name, value in want["figures"].items():
        tolerance = 0.501 * 10 ** -PRINTED_DECIMALS[name] if name in PRINTED_DECIMALS else 0
        if abs(have["figures"][name] - value) > tolerance:
            return f"figure {name}: wanted {value}, got {have['figures'][name]}"
    return None


def _same(want: Any, have: Any) -> bool:
    if isinstance(want, list):
        return len(want) == len(have) and all(map(_same, want, have))
    if isinstance(want, float) and have is not None:
        return abs(want - have) <= CELL_TOLERANCE * max(1.0, abs(want))
    return want == have
