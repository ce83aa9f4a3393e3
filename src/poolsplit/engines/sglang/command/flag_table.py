"""Every flag that a release of the engine declares: how many values it takes and which field it sets.

The table is a data file made from the real packages; a flag that is not in it is unknown, never guessed at.
Source: `scripts/make_flag_table.py`; held by the differential test of the flag table.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from poolsplit.engines.sglang.versions import DEFAULT_VERSION

_TABLE = Path(__file__).with_name("flag_table.tsv")
_ABSENT = "absent"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredFlag:
    """One spelling of one flag in a span of releases."""

    spelling: str
    field: str
    values: str
    """`0` for a switch, `1`, `?` (none or one), `+` or `*` (several)."""
    kind: str
    """int, float, bool, json or text."""
    sets: object
    """What a switch sets its field to."""
    choices: tuple[object, ...]
    """The only values that the release's parser takes; empty when it takes any."""
    default: object
    first_release: str
    last_release: str

    def covers(self, release: str) -> bool:
        """Whether the release declares this form."""
        return _number(self.first_release) <= _number(release) <= _number(self.last_release)


def find_flag(spelling: str, release: str = DEFAULT_VERSION) -> DeclaredFlag | None:
    """The flag behind a spelling: the release's own form, else the newest of another release.

    An abbreviation that only one flag of the release starts with is accepted, as the engine does.
    """
    name = _canonical(spelling)
    forms = _forms(name) if name in _lines() else _abbreviated(name, release)
    if not forms:
        return None
    return next((form for form in forms if form.covers(release)), forms[-1])


def is_declared(spelling: str) -> bool:
    """Whether any release declares this exact spelling."""
    return _canonical(spelling) in _lines()


@lru_cache(maxsize=256)
def spelling_of(field: str, release: str = DEFAULT_VERSION) -> str:
    """The spelling that sets a field to a value: the engine's long form where there are several."""
    exact = "--" + field.replace("_", "-")
    if any(form.field == field and form.covers(release) for form in _forms(exact)):
        return exact
    forms = [form for spelling in _lines() for form in _forms(spelling) if form.field == field]
    forms.sort(key=lambda form: (form.spelling != exact, not form.covers(release), form.sets is False, form.spelling))
    return forms[0].spelling if forms else exact


def sets_field(field: str, release: str) -> bool:
    """Whether the release has a flag for a field."""
    spelling = spelling_of(field, release)
    return any(form.field == field and form.covers(release) for form in _forms(spelling))


def near_spellings(spelling: str, release: str = DEFAULT_VERSION) -> list[str]:
    """Declared spellings that look like a misspelt one; first those that a too short one begins."""
    from difflib import get_close_matches

    name = _canonical(spelling)
    declared = [known for known in _lines() if any(form.covers(release) for form in _forms(known))]
    begun = sorted((known for known in declared if known.startswith(f"{name}-")), key=lambda known: (len(known), known))
    close = get_close_matches(name, declared, n=3)
    return list(dict.fromkeys((*begun[:1], *close)))


def default_of(field: str) -> object:
    """The newest default of a field; `absent` when no flag sets it or it is not a plain value."""
    return _defaults().get(field, _ABSENT)


def _canonical(spelling: str) -> str:
    return spelling.partition("=")[0]


def _abbreviated(name: str, release: str) -> tuple[DeclaredFlag, ...]:
    if not name.startswith("--") or len(name) < len("--x"):
        return ()
    found = [_forms(spelling) for spelling in _lines() if spelling.startswith(name)]
    found = [forms for forms in found if any(form.covers(release) for form in forms)]
    return found[0] if len({forms[-1].field for forms in found}) == 1 else ()


@lru_cache(maxsize=1)
def _lines() -> dict[str, list[str]]:
    """Lines of the table by spelling; a flag is only read out of its line when it is asked for."""
    lines: dict[str, list[str]] = {}
    for line in _TABLE.read_text(encoding="utf-8").splitlines():
        lines.setdefault(line[: line.index("\t")], []).append(line)
    return lines


@lru_cache(maxsize=1024)
def _forms(spelling: str) -> tuple[DeclaredFlag, ...]:
    """Every form of one spelling, the newest last."""
    forms = [_form(line) for line in _lines().get(spelling, ())]
    return tuple(sorted(forms, key=lambda form: _number(form.last_release)))


def _form(line: str) -> DeclaredFlag:
    spelling, field, values, kind, sets, choices, default, first, last = line.split("\t")
    return DeclaredFlag(
        spelling=spelling,
        field=field,
        values=values,
        kind=kind,
        sets=json.loads(sets) if sets else None,
        choices=tuple(json.loads(choices)) if choices else (),
        default=json.loads(default) if default else _ABSENT,
        first_release=first,
        last_release=last,
    )


@lru_cache(maxsize=1)
def _defaults() -> dict[str, object]:
    defaults: dict[str, object] = {}
    for spelling in _lines():
        for form in _forms(spelling):
            defaults.setdefault(form.field, form.default)
    return defaults


def _number(release: str) -> tuple[int, ...]:
    return tuple(int(part) for part in release.split(".") if part.isdecimal())
