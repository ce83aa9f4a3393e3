"""The page's server from the installed package: its files, its numbers and its long work."""

import re

import pytest

from ui_server import PLAN, running_ui

pytest.importorskip("uvicorn", reason="needs the extra `ui`")


@pytest.fixture(scope="module")
def ui(tmp_path_factory):
    """A server outside the sources."""
    with running_ui(cwd=tmp_path_factory.mktemp("ui")) as server:
        yield server


def test_every_file_that_the_page_names_is_there(ui):
    index = ui.ask("GET", "/").body.decode()
    named = re.findall(r'(?:src|href)="(/[^"#]+)"', index)
    assert any(name.endswith(".js") for name in named)
    seen = set()
    while named:
        name = named.pop()
        if name in seen:
            continue
        seen.add(name)
        reply = ui.ask("GET", name)
        assert reply.status == 200, name
        if name.startswith("/static/") and name.endswith(".js"):
            assert reply.headers["content-type"].startswith("text/javascript")
            named += [f"/static/{module}" for module in re.findall(r'from "\./([^"]+)"', reply.body.decode())]
    assert len(seen) > 10


def test_charts_come_from_the_installed_package(ui):
    assert b"plotly.js v" in ui.ask("GET", "/plotly.min.js").body[:200]


def test_a_plan_and_a_sample(ui, poolsplit):
    line = ("plan", PLAN["model"], "--gpu", "h200", "--tp", "4", "--context", "9216", "--json")
    assert ui.ask("POST", "/api/plan", PLAN).document["recommended"] == poolsplit(*line).document["recommended"]
    assert ui.work("trace-info", files=[{"sample": "chat"}])["requests"] == 2000


def test_it_ends_when_it_is_interrupted(tmp_path):
    with running_ui(cwd=tmp_path) as ui:
        assert ui.ask("GET", "/").status == 200
        assert ui.stop() == 0
