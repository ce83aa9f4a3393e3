"""A release says one version everywhere, and its lists of dependencies are those of its locks."""

import importlib.metadata
import json
import re
import tomllib

import pytest

import poolsplit as package
from support import ROOT

PIN = re.compile(r"^([a-z0-9][a-z0-9-]*)==(\S+?)(?:\s|$)", re.MULTILINE)
BOUND = re.compile(r"^([a-z0-9-]+)[^>]*>=([0-9.]+)")


def pins(lock):
    return set(PIN.findall((ROOT / "requirements" / lock).read_text(encoding="utf-8")))


@pytest.fixture(scope="module")
def bill():
    return json.loads((ROOT / "requirements" / "sbom.cdx.json").read_text(encoding="utf-8"))


def test_one_version_everywhere(poolsplit, bill):
    newest = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)[1]
    said = {
        "metadata": importlib.metadata.version("poolsplit"),
        "--version": poolsplit("--version").stdout.strip(),
        "changelog": newest,
        "bill of materials": bill["metadata"]["component"]["version"],
    }
    assert said == dict.fromkeys(said, package.__version__)


def test_the_bill_of_materials_is_the_lock(bill):
    named = [(one["name"], one["version"]) for one in bill["components"]]
    assert len(named) == len(set(named))
    assert set(named) == pins("run.txt")


def test_the_bill_names_what_the_project_asks_for(bill):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    asked = {BOUND.match(dependency)[1] for dependency in project["dependencies"]}
    (root,) = bill["dependencies"]
    assert {reference.removeprefix("pkg:pypi/").split("@")[0] for reference in root["dependsOn"]} == asked


def test_the_oldest_dependencies_tested_are_the_lower_bounds():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = [one for extra, asked in project["optional-dependencies"].items() if extra != "sglang" for one in asked]
    tested = dict(pins("minimal.txt"))
    for dependency in [*project["dependencies"], *extras]:
        name, bound = BOUND.match(dependency).groups()
        assert f"{tested[name]}.".startswith(f"{bound}."), dependency
