"""Writes requirements/sbom.cdx.json: what an installation takes, as a CycloneDX bill of materials, from the lock.

    .venv/bin/python scripts/make_sbom.py

The archives' SHA-256 stand in `requirements/run.txt`, which the bill follows line by line. The same lock gives the same
bytes.
"""

import json
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
BILL = ROOT / "requirements" / "sbom.cdx.json"
LOCKED = re.compile(r"^(?P<name>[a-z0-9][a-z0-9-]*)==(?P<version>\S+)(?: ; (?P<marker>.*?))? \\$", re.MULTILINE)
VERSION = re.compile(r'^__version__ = "(.+)"$', re.MULTILINE)


def component(name: str, version: str, **more: Any) -> dict[str, Any]:
    """One package, named as every bill of materials names it."""
    url = f"pkg:pypi/{name}@{version}"
    return {"bom-ref": url, "name": name, "version": version, "purl": url, **more}


def locked() -> list[dict[str, Any]]:
    """The packages of the lock; those that some systems leave out say when they are needed."""
    lock = (ROOT / "requirements" / "run.txt").read_text(encoding="utf-8")
    return [
        component(
            found["name"],
            found["version"],
            type="library",
            **({"properties": [{"name": "python:marker", "value": found["marker"]}]} if found["marker"] else {}),
        )
        for found in LOCKED.finditer(lock)
    ]


def bill() -> dict[str, Any]:
    """The whole document."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    source = (ROOT / "src" / "poolsplit" / "__init__.py").read_text(encoding="utf-8")
    found = VERSION.search(source)
    if found is None:
        raise SystemExit("the package names no version")
    root = component(project["name"], found[1], type="application", licenses=[{"license": {"id": project["license"]}}])
    direct = {re.split(r"[^a-z0-9-]", dependency)[0] for dependency in project["dependencies"]}
    packages = locked()
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": root},
        "components": packages,
        "dependencies": [
            {"ref": root["bom-ref"], "dependsOn": [one["bom-ref"] for one in packages if one["name"] in direct]}
        ],
    }


def main() -> int:
    """Writes the bill."""
    BILL.write_text(json.dumps(bill(), indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
