"""The committed flag table against the engine's own parser, where the engine can be imported."""

import json
import subprocess
import sys
from functools import lru_cache
from pathlib import Path

import pytest

from poolsplit.engines.sglang.command.flag_table import find_flag
from support import ROOT

SCRIPT = ROOT / "scripts" / "make_flag_table.py"
TABLE = ROOT / "src" / "poolsplit" / "engines" / "sglang" / "command" / "flag_table.tsv"


@lru_cache(maxsize=1)
def declared_by_the_engine():
    """What the real package declares: `SGLANG_PYTHON` names an interpreter that has it, else this one is tried."""
    import os

    interpreter = os.environ.get("SGLANG_PYTHON", sys.executable)
    done = subprocess.run(
        [interpreter, str(SCRIPT), "--dump"], capture_output=True, text=True, check=False, env=dict(os.environ)
    )
    if done.returncode:
        pytest.skip("the engine's package is not importable here")
    return json.loads(done.stdout.splitlines()[-1])


def test_every_declared_flag_is_in_the_table():
    engine = declared_by_the_engine()
    wrong = []
    for spelling, (field, values, kind, sets, choices, _default) in engine["flags"].items():
        ours = find_flag(spelling, engine["release"])
        listed = tuple(json.loads(choices)) if choices else ()
        want = (field, values, kind, json.loads(sets) if sets else None, listed)
        if ours is None or (ours.field, ours.values, ours.kind, ours.sets, ours.choices) != want:
            wrong.append(spelling)
    assert wrong == []


def test_the_table_has_no_flag_that_the_release_does_not_declare():
    engine = declared_by_the_engine()
    rows = [line.split("\t") for line in Path(TABLE).read_text(encoding="utf-8").splitlines()]
    of_release = {row[0] for row in rows if row[-1] == engine["release"]}
    assert of_release == set(engine["flags"])
