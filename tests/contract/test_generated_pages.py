"""Pages that are written from the code are what the code says today."""

import subprocess
import sys

import pytest

from support import ROOT

SCRIPTS = ("make_cli_reference", "make_json_reference", "make_formulas", "make_catalog_page", "make_cliff_figure")


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_generated_page_is_current(script):
    done = subprocess.run(
        [sys.executable, f"scripts/{script}.py", "--check"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_a_stale_page_is_told(tmp_path, monkeypatch, capsys):
    import generated_page

    page = tmp_path / "page.md"
    page.write_text("old", encoding="utf-8")
    monkeypatch.setattr(generated_page, "ROOT", tmp_path)
    monkeypatch.setattr(sys, "argv", ["make_x.py", "--check"])
    assert generated_page.settle({page: "new"}) == 1
    assert "page.md is out of date: run make_x.py" in capsys.readouterr().err
    assert generated_page.settle({page: "old"}) == 0
    assert page.read_text(encoding="utf-8") == "old"
