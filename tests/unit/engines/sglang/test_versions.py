"""The table of switches: one place that knows releases, every switch read, releases outside answered with a warning."""

import re
from dataclasses import asdict, fields, replace
from pathlib import Path

import pytest

import poolsplit
from poolsplit.engines.sglang.versions import DEFAULT_VERSION, TABLE, VERSIONS, Switches, switches_for
from poolsplit.errors import InputError
from rule_launches import resolved

ENGINE = Path(poolsplit.__file__).parent / "engines" / "sglang"
SIZING_ROOMS = ("rules", "solver", "slots.py", "shards.py", "release_shapes.py")


def sources(*names):
    for name in names:
        room = ENGINE / name
        yield from room.rglob("*.py") if room.is_dir() else [room]


def test_the_default_release_is_the_last_of_the_table():
    assert DEFAULT_VERSION == VERSIONS[-1] == "0.5.23"
    assert VERSIONS[0] == "0.5.16"
    assert len(VERSIONS) == 8


def test_every_switch_is_read_by_a_rule():
    text = "\n".join(path.read_text() for path in sources(*SIZING_ROOMS))
    unread = [item.name for item in fields(Switches) if not re.search(rf"switches\.{item.name}\b", text)]
    assert set(unread) <= {"warning"}


def test_no_rule_names_a_release():
    named = [path.name for path in sources(*SIZING_ROOMS) if re.search(r'"0\.5\.\d+"', path.read_text())]
    assert named == []


@pytest.mark.parametrize(
    ("asked", "nearest"),
    [("0.5.24", "0.5.23"), ("0.5.15.post1", "0.5.16"), ("v0.5.20.post2", "0.5.20"), ("1.0", "0.5.23")],
)
def test_a_release_outside_the_table_is_answered_with_a_warning(asked, nearest):
    switches = switches_for(asked)
    assert switches.warning is not None
    assert asked in switches.warning
    assert replace(switches, warning=None) == TABLE[nearest]


def test_what_is_no_release_number_is_refused():
    with pytest.raises(InputError) as refused:
        switches_for("nightly")
    assert "0.5.16" in refused.value.hint


def test_switches_are_independent():
    """Turning one switch of a release on or off changes that rule and leaves the record otherwise equal."""
    old = TABLE["0.5.16"]
    changed = replace(old, padding_slot=True)
    assert {name for name, value in asdict(changed).items() if value != asdict(old)[name]} == {"padding_slot"}


@pytest.mark.parametrize(("version", "dp_size", "enabled"), [("0.5.21", 4, True), ("0.5.22", 1, False)])
def test_the_size_of_attention_replicas_moves(version, dp_size, enabled):
    found = resolved(version=version, tp_size=4, dp_size=4, enable_dp_attention=True)
    assert (found.dp_size, found.enable_dp_attention, found.attn_dp_size) == (dp_size, enabled, 4)
