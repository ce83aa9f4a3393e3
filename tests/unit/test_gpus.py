"""The embedded cards: their file, their names."""

import json
import tomllib
from importlib import resources

import pytest

from poolsplit.data import gpu, gpus
from poolsplit.errors import InputError

GOLDEN_CARDS = {
    "a100": (81920, (8, 0)),
    "h100": (81559, (9, 0)),
    "h200": (143771, (9, 0)),
    "b200": (183359, (10, 0)),
    "b300": (275040, (10, 3)),
    "rtx4090": (24564, (8, 9)),
    "rtx5090": (32607, (12, 0)),
}


@pytest.mark.parametrize(("name", "facts"), GOLDEN_CARDS.items())
def test_the_cards_that_answers_were_held_against(name, facts):
    card = gpu(name)
    assert (card.memory_mib, card.compute_capability) == facts
    assert card.verified


def test_no_other_card_is_called_verified():
    assert {card.id for card in gpus() if card.verified} == set(GOLDEN_CARDS)


@pytest.mark.parametrize("name", ["H200", "h200-141gb", "H200 141GB SXM", "h 200"])
def test_names_in_every_spelling(name):
    assert gpu(name).id == "h200"


def test_names_are_unique():
    labels = [label.casefold() for card in gpus() for label in {card.id, *card.aliases}]
    assert len(labels) == len(set(labels))


def test_an_unknown_card_names_the_near_ones():
    with pytest.raises(InputError) as caught:
        gpu("rtx4091")
    assert "rtx4090" in caught.value.hint
    assert "--gpu-memory" in caught.value.hint


def test_every_row_has_the_types_of_the_class():
    rows = tomllib.loads(resources.files("poolsplit.data").joinpath("gpus.toml").read_text(encoding="utf-8"))["gpu"]
    for row in rows:
        assert {type(row[key]) for key in ("id", "name", "architecture", "chip", "source")} == {str}
        assert type(row["memory_mib"]) is int
        assert type(row["verified"]) is bool
        assert row["source"]


def test_sizes_are_those_of_the_collected_facts(shared):
    facts = json.loads((shared / "models" / "gpus.json").read_text(encoding="utf-8"))["gpus"]
    sizes = {row["name"]: (int(row["driver_total_mib"]), row.get("runtime_total_gib")) for row in facts}
    assert {card.name: (card.memory_mib, card.process_total_gib) for card in gpus()} == sizes


def test_a_card_that_is_not_embedded_is_not_taken_for_its_neighbour():
    with pytest.raises(InputError, match="no embedded card `h20`") as raised:
        gpu("h20")
    assert "not in the catalog" in raised.value.hint
    assert "near names are other cards: h200; `poolsplit gpus` lists all" in raised.value.hint
