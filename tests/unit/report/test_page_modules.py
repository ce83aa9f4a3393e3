"""Modules put together as one script."""

import re
from importlib.resources import files

import pytest

from poolsplit.report.page_modules import one_script

STATIC = files("poolsplit") / "web" / "static"
MODULES = sorted(file.name.removesuffix(".js") for file in STATIC.iterdir() if file.name.endswith(".js"))


def test_a_module_stands_behind_all_that_it_imports_and_once():
    sources = {
        "top": 'import { a } from "./left.js";\nimport { b } from "./right.js";\na(b);\n',
        "left": 'import { b } from "./right.js";\nexport function a() {}\n',
        "right": "export const b = 1;\n",
    }
    script = one_script("top", sources.__getitem__)
    assert re.findall(r"const module_(\w+) = ", script) == ["right", "left", "top"]


def test_private_names_of_two_modules_do_not_meet():
    sources = {
        "top": 'import { a } from "./other.js";\nconst hidden = 1;\nexport const found = [hidden, a];\n',
        "other": "const hidden = 2;\nexport const a = hidden;\n",
    }
    script = one_script("top", sources.__getitem__)
    assert script.count("const hidden") == 2
    assert script.count("(() => {") == 2


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("export function a() {}", "a"),
        ("export async function b() {}", "b"),
        ("export class C {}", "C"),
        ("export const d = 1;", "d"),
    ],
)
def test_whatever_is_exported_can_be_imported(line, name):
    assert f"return {{ {name} }};" in one_script("top", lambda _: f"{line}\n")


@pytest.mark.parametrize("name", MODULES)
def test_every_module_of_the_page_keeps_to_the_two_forms(name):
    script = one_script(name, lambda each: (STATIC / f"{each}.js").read_text(encoding="utf-8"))
    code = re.sub(r"/\*.*?\*/", "", script, flags=re.DOTALL)
    assert not re.search(r"^\s*(import|export)\b|\bimport\(|^await\b", code, flags=re.MULTILINE)
