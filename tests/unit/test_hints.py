"""Every error that bad input raises says what to do about it."""

import ast
from pathlib import Path

import poolsplit

ROOT = Path(poolsplit.__file__).parent
ANSWERED_IN_LINE = {"engines/sglang/batch.py", "engines/sglang/batch_cases.py"}
"""A bad line of a batch is answered in its place, by its message."""
NAMES = {"InputError", "UsageError", "TraceFormatError", "LogFormatError", "MissingExtraError", "UnsupportedModelError"}


def without_hint(source):
    calls = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call))
    raised = (call for call in calls if isinstance(call.func, ast.Name) and call.func.id in NAMES)
    return [call.lineno for call in raised if not any(word.arg in ("hint", None) for word in call.keywords)]


def test_every_error_has_a_hint():
    found = {path.relative_to(ROOT).as_posix(): without_hint(path.read_text()) for path in ROOT.rglob("*.py")}
    assert {name for name, lines in found.items() if lines} == ANSWERED_IN_LINE


def test_one_without_is_found():
    assert without_hint("raise InputError('bad', where='x')\n") == [1]
