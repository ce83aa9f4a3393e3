"""An answer as one HTML file."""

import json

import pytest

from one_file import PLOTLY_BANNER, OneFile, source_hash
from poolsplit.errors import MissingExtraError
from poolsplit.report import one_file as module
from poolsplit.report import plotly_bundle as bundle_module
from poolsplit.report.one_file import one_file

HOSTILE = "</script><script>alert(1)</script><!-- <img src=x onerror=alert(1)> \u2028 & \" '"
READ = {"command": "read", "model": HOSTILE, "boots": [], "warnings": [HOSTILE]}


@pytest.fixture
def small_bundle(monkeypatch, tmp_path):
    """A stand-in for plotly that holds what would end a script."""
    path = tmp_path / "plotly.min.js"
    path.write_text(f'/* {PLOTLY_BANNER}1 */ globalThis.Plotly = "</script><!--";\r\n', encoding="utf-8")
    monkeypatch.setattr(module, "plotly_bundle", lambda: path)


def test_text_of_a_document_cannot_leave_its_place():
    page = OneFile(one_file(READ))
    assert page.document == {"schema_version": 1, **READ}
    assert len(page.scripts) == 1
    assert [tag for tag, _ in page.elements if tag == "img"] == []


def test_a_document_is_ascii_safe_and_whole():
    text = one_file({**READ, "model": "模型 é"})
    assert OneFile(text).document["model"] == "模型 é"
    assert "schema_version" in text


@pytest.mark.usefixtures("small_bundle")
def test_the_policy_admits_what_stands_in_the_file_and_nothing_else():
    page = OneFile(one_file({"command": "plan"}))
    assert page.policy["default-src"] == "'none'"
    assert page.policy["script-src"].split() == [source_hash(code) for code in page.scripts]
    assert page.policy["style-src"].split() == [source_hash(code) for code in page.styles]
    assert page.policy["img-src"] == "data: blob:"
    assert page.addresses == []


@pytest.mark.parametrize("command", ["plan", "replay", "surface"])
@pytest.mark.usefixtures("small_bundle")
def test_plotly_stands_in_a_drawn_page_once(command):
    page = OneFile(one_file({"command": command}))
    assert len(page.scripts) == 2
    assert "".join(page.scripts).count(PLOTLY_BANNER) == 1


def test_a_report_of_a_log_has_no_chart_and_needs_no_plotly(monkeypatch):
    monkeypatch.setattr(module, "plotly_bundle", lambda: pytest.fail("asked for plotly"))
    assert len(one_file(READ)) < 200_000


def test_a_missing_extra_names_its_install_command(monkeypatch):
    monkeypatch.setattr(bundle_module, "find_spec", lambda _: None)
    with pytest.raises(MissingExtraError) as raised:
        one_file({"command": "plan"})
    assert raised.value.hint == "pip install 'poolsplit[ui]'"


@pytest.mark.usefixtures("small_bundle")
def test_equal_documents_give_equal_bytes():
    document = {"command": "plan", "model": "m", "device": "h200"}
    assert one_file(document) == one_file(json.loads(json.dumps(document)))


@pytest.mark.usefixtures("small_bundle")
def test_the_title_names_model_and_card():
    text = one_file({"command": "plan", "model": "Qwen/<x>", "device": "h200"})
    assert "<title>poolsplit plan · Qwen/&lt;x&gt; · h200</title>" in text
