"""Write the arity table of every engine flag from the real packages.

    python scripts/make_flag_table.py PACKAGES... > src/poolsplit/engines/sglang/command/flag_table.tsv

Each PACKAGES argument is a folder (or several, joined by the path separator) that goes in front of the module path, so
that one environment can read several unpacked releases; `-` is the environment's own package. One child process reads
one release. A line of the table is `spelling, field, values, kind, sets, choices, default, first release, last
release`: `values` is 0 for a switch, 1, `?` (none or one), `+` or `*` (several); `kind` is int, float, bool, json or
text; `sets` is what a switch sets (JSON); `choices` are the only values that the parser takes (JSON, empty when it
takes any, or converts a value before it looks); `default` is the field's default (JSON, empty when it is not a plain
value).
"""

from __future__ import annotations

import argparse
import importlib.abc
import importlib.machinery
import json
import os
import subprocess
import sys
import types
from pathlib import Path

ABSENT = {"IPython", "loguru", "torchvision", "xgrammar", "torchao", "llguidance", "outlines"}
"""Packages that the import chain names and flag declarations never use."""


class _Anything(type):
    def __getattr__(cls, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Thing


class _Thing(metaclass=_Anything):
    """A class, a decorator and a value that is never looked at."""

    def __init__(self, *args: object, **kwargs: object) -> None:
        del args, kwargs

    def __call__(self, *args: object, **kwargs: object) -> object:
        del kwargs
        return args[0] if len(args) == 1 and callable(args[0]) else _Thing()

    def __getattr__(self, name: str) -> object:
        return _Anything.__getattr__(type(self), name)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: object, handler: object) -> object:
        from pydantic_core import core_schema

        del source, handler
        return core_schema.any_schema()


class _StandIn(types.ModuleType):
    __path__: tuple[str, ...] = ()
    __version__ = "99.0"

    def __getattr__(self, name: str) -> object:
        return _Anything.__getattr__(_Thing, name)


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name: str, path: object = None, target: object = None) -> object:
        del path, target
        if name.partition(".")[0] in ABSENT:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        return _StandIn(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        del module


def _values(action: argparse.Action) -> str:
    if action.nargs is None:
        return "1"
    return str(action.nargs)


def _kind(action: argparse.Action) -> str:
    if action.nargs == 0:
        return "bool"
    kinds = {int: "int", float: "float", json.loads: "json", bool: "bool"}
    if action.type in kinds:
        return kinds[action.type]
    name = getattr(action.type, "__name__", "")
    return {"nullable_int": "int", "human_readable_int": "int"}.get(name, "text")


def _sets(spelling: str, action: argparse.Action) -> str:
    if action.nargs != 0:
        return ""
    if isinstance(action, argparse.BooleanOptionalAction):
        return json.dumps(not spelling.startswith("--no-"))
    return json.dumps(getattr(action, "const_value", action.const if action.const is not None else True))


def _choices(action: argparse.Action) -> str:
    converted = action.type not in {None, str, int, float}
    if action.choices is None or action.nargs == 0 or converted:  # NOTE: other types may take further spellings
        return ""
    ordered = sorted(action.choices) if isinstance(action.choices, set | frozenset) else action.choices
    return json.dumps([choice for choice in ordered if choice is not None])


def _default(value: object) -> str:
    plain = value is None or isinstance(value, bool | int | float | str)
    return json.dumps(value) if plain else ""


def dump_release() -> dict[str, object]:
    """Every declared spelling of the importable package, with its release."""
    sys.meta_path.append(_Finder())
    sys.modules["transformers.dependency_versions_check"] = _StandIn("transformers.dependency_versions_check")
    from sglang.srt.server_args import ServerArgs
    from sglang.version import __version__

    parser = argparse.ArgumentParser(add_help=False)
    ServerArgs.add_cli_args(parser)
    flags = {
        spelling: [
            action.dest,
            _values(action),
            _kind(action),
            _sets(spelling, action),
            _choices(action),
            _default(action.default),
        ]
        for action in parser._actions  # noqa: SLF001 -- argparse offers no public list of what was declared
        for spelling in action.option_strings
        if spelling.startswith("-")
    }
    return {"release": __version__, "flags": flags}


def _read_in_child(packages: str) -> dict[str, object]:
    env = dict(os.environ, CUDA_VISIBLE_DEVICES="", OMP_NUM_THREADS="1", HF_HUB_OFFLINE="1")
    if packages != "-":
        env["PYTHONPATH"] = packages
    command = [sys.executable, str(Path(__file__).resolve()), "--dump"]
    answer = subprocess.run(command, env=env, check=False, capture_output=True, text=True)
    if answer.returncode:
        sys.exit(f"{packages}: {answer.stderr[-2000:]}")
    return json.loads(answer.stdout.splitlines()[-1])


def merge(releases: list[dict[str, object]]) -> list[str]:
    """Table lines: a flag that changed its form or its choices between releases has one line per span of releases."""
    _check_gaps(releases)
    spans: list[list[str]] = []
    for spelling in sorted({spelling for release in releases for spelling in release["flags"]}):
        before: list[str] | None = None
        for release in releases:
            *form, default = release["flags"].get(spelling, [None])
            if not form:
                before = None
                continue
            if before is None or before[1:-3] != form:
                before = [spelling, *form, default, str(release["release"]), ""]
                spans.append(before)
            before[-3], before[-1] = default, str(release["release"])
    return ["\t".join(span) for span in spans]


def _check_gaps(releases: list[dict[str, object]]) -> None:
    """Stops at a flag that is absent from a release between two that have it in one form: a reading that failed."""
    order = [str(release["release"]) for release in releases]
    seen: dict[tuple[str, ...], list[str]] = {}
    for release in releases:
        for spelling, (*form, _choices_of_flag, _default_of_flag) in release["flags"].items():
            seen.setdefault((spelling, *form), []).append(str(release["release"]))
    for form, names in seen.items():
        if order.index(names[-1]) - order.index(names[0]) + 1 != len(names):
            sys.exit(f"{form[0]} is absent from a release between {names[0]} and {names[-1]}")


def main() -> None:
    """Print the table of the packages that the arguments name, oldest release first."""
    if sys.argv[1:] == ["--dump"]:
        print(json.dumps(dump_release()))
        return
    releases = [_read_in_child(packages) for packages in sys.argv[1:]]
    releases.sort(key=lambda release: [int(part) for part in str(release["release"]).split(".")])
    print("\n".join(merge(releases)))


if __name__ == "__main__":
    main()
