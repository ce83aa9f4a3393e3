"""Every error that bad input raises says what to do about it."""

import ast
from pathlib import Path

import pytest

import poolsplit

ROOT = Path(poolsplit.__file__).parent
ROOMS = ("traces", "cli", "log_answers", "engines/sglang/boot_log", ".")
NAMES = {"InputError", "UsageError", "TraceFormatError", "LogFormatError", "MissingExtraError", "UnsupportedModelError"}


def without_hint(source):
    calls = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call))
    raised = (call for call in calls if isinstance(call.func, ast.Name) and call.func.id in NAMES)
    return [call.lineno for call in raised if not any(word.arg in ("hint", None) for word in call.keywords)]


@pytest.mark.parametrize("room", ROOMS)
def test_every_error_has_a_hint(room):
    files = list((ROOT / room).glob("*.py"))
    assert files
    found = {str(path.relative_to(ROOT)): without_hint(path.read_text()) for path in files}
    assert {name: lines for name, lines in found.items() if lines} == {}


def test_one_without_is_found():
    assert without_hint("raise InputError('bad', where='x')\n") == [1]
