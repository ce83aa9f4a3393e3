"""The embedded catalog: names, provenance, and that its files are those that its maker writes."""

import subprocess
import sys

import pytest

from poolsplit.errors import InputError
from poolsplit.shapes import catalog
from support import ROOT


@pytest.mark.parametrize("name", catalog.ids())
def test_every_entry_says_where_it_comes_from(name):
    entry = catalog.load(name)
    assert entry.id == name
    assert entry.source
    assert entry.weights_source
    assert entry.provenance in {"exact", "published", "derived"}
    assert (entry.provenance == "derived") == entry.caution.startswith("partial facts")


@pytest.mark.parametrize("name", ["qwen/qwen3.5-27b", "Qwen3.5-27B", "QWEN3.5-27b"])
def test_case_and_organisation_do_not_matter(name):
    assert catalog.load(name).id == "Qwen/Qwen3.5-27B"


@pytest.mark.parametrize("name", ["", "/", "..", "../models/x", "Qwen/../Qwen", "Qwen/Qwen3.5-27B.json"])
def test_a_name_is_never_taken_as_a_path(name):
    assert catalog.find(name) is None


@pytest.mark.parametrize(
    ("name", "first"),
    [
        ("qwen3-next", "Qwen/Qwen3-Next-80B-A3B-Instruct"),
        ("Qwen/Qwen3.5-72B", "Qwen/Qwen3.5-27B"),
        ("kimi-k2", "moonshotai/Kimi-K3"),
        ("granite-4.0-h-smal", "ibm-granite/granite-4.0-h-small"),
    ],
)
def test_near_names(name, first):
    assert first in catalog.near(name)
    with pytest.raises(InputError) as caught:
        catalog.load(name)
    assert first in caught.value.hint


def test_quantised_checkpoints_are_lighter_than_two_bytes_a_parameter():
    plain = catalog.load("Qwen/Qwen3.5-397B-A17B").weights_bytes
    packed = catalog.load("nvidia/Qwen3.5-397B-A17B-NVFP4")
    assert packed.weights_bytes < plain / 3
    assert packed.weights_source.startswith("estimate")


def test_the_files_are_those_that_the_maker_writes(shared):
    maker = ROOT / "scripts" / "make_catalog.py"
    done = subprocess.run(
        [sys.executable, maker, shared / "models", "--check"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
