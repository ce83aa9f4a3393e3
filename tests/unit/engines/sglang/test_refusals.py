"""Refusals: one text an id, every id raised somewhere, none raised that has no text."""

import re
from pathlib import Path
from string import Formatter

import pytest

import poolsplit
from poolsplit.engines.sglang.refusals import REFUSALS, refuse

ENGINE = Path(poolsplit.__file__).parent / "engines" / "sglang"
ROOMS = [ENGINE / "rules", ENGINE / "solver"]
RAISING = [path for room in ROOMS for path in room.rglob("*.py")] + [ENGINE / "slots.py", ENGINE / "shards.py"]
TEXT = "\n".join(path.read_text() for path in RAISING)


@pytest.mark.parametrize("reason", sorted(REFUSALS))
def test_every_refusal_says_what_is_wrong_and_which_flag_to_move(reason):
    entry = REFUSALS[reason]
    words = {name: 1 for _, name, _, _ in Formatter().parse(entry.message) if name}
    error = refuse(reason, figures=words)
    assert error.reason == reason
    assert "{" not in error.message
    assert not error.message.endswith(".")
    assert error.hint
    assert error.exit_code == 1


def test_every_id_is_raised_and_every_raised_id_has_a_text():
    named = set(re.findall(r'"([a-z0-9_]+)"', TEXT))
    assert set(REFUSALS) - named == set()
    raised = set(re.findall(r'refuse\(\s*"([a-z0-9_]+)"', TEXT)) | set(re.findall(r'at_stage\(\s*"([a-z0-9_]+)"', TEXT))
    assert raised - set(REFUSALS) == set()


def test_every_id_of_the_golden_answers_is_known(shared):
    text = (shared / "reference" / "solver" / "reasons.py").read_text()
    ids = set(re.findall(r"', '([a-z0-9_]+)',", text))
    assert len(ids) > 40
    assert ids - set(REFUSALS) == set()
