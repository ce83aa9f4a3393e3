"""A page that is one file, opened from a disk in a real browser that reaches nothing else."""

import json
from types import SimpleNamespace

import pytest

from poolsplit.report.one_file import one_file
from support import EXAMPLES
from ui_browser import NARROW, Screen
from ui_server import PLAN

LOG = EXAMPLES / "boot-qwen3.5-9b-tp2.log"
RAG = [{"sample": "rag"}]
SPLIT = {"state_slots": 200, "kv_tokens": "200k"}
HOSTILE = "</script><img src=x onerror=document.title='broken'>"
BUDGET = {"budget": "300MB", "state_bytes": 800_000, "kv_bytes": 1000.0}


ADD_SCRIPT = """() => {
    const script = document.createElement("script");
    script.textContent = "window.ran = 1";
    document.body.append(script);
}"""
CHARTS = {"plan": 1, "read": 0, "replay": 1, "surface": 1}


@pytest.fixture(scope="module")
def documents(ui):
    """Each answer once."""
    log = [{"upload": ui.upload(LOG.name, LOG.read_bytes())}]
    return {
        "plan": ui.ask("POST", "/api/plan", PLAN).document,
        "read": ui.work("read", files=log),
        "replay": ui.work("replay", files=RAG, split=SPLIT),
        "surface": ui.work("surface", files=RAG, budget=BUDGET, refine=False),
    }


@pytest.fixture
def opened(browser, tmp_path):
    """Opens a document's page from a file; asking anybody for anything is a fault."""
    path = tmp_path / "page.html"
    nobody = SimpleNamespace(url=path.as_uri(), netloc="")
    with Screen(browser, nobody, tmp_path) as screen:

        def open_page(document):
            path.write_text(one_file(document), encoding="utf-8")
            screen.page.goto(nobody.url)
            screen.page.locator("main .answer, main .part").first.wait_for()
            return screen

        yield open_page
        assert_only_maps_refused(screen.faults)


def assert_only_maps_refused(faults):
    """The policy keeps out one thing: the style sheet that plotly brings for maps."""
    assert len(faults) <= 1, faults
    assert all("inline style violates" in fault for fault in faults), faults


@pytest.mark.parametrize("name", CHARTS)
def test_it_shows_the_answer_at_any_width_in_both_themes(opened, documents, name):
    screen = opened(documents[name])
    screen.charts(CHARTS[name])
    for theme in ("light", "dark"):
        screen.theme(theme)
        for size in (NARROW, {"width": 1440, "height": 900}):
            screen.page.set_viewport_size(size)
            screen.page.wait_for_timeout(200)
            screen.assert_no_sideways_scroll()
            screen.assert_accessible()
            screen.photograph(f"file-{name}-{theme}-{size['width']}")


@pytest.mark.parametrize("name", ["plan", "surface"])
def test_it_shows_what_the_page_of_the_server_shows(opened, documents, name):
    text = opened(documents[name]).page.locator("main").inner_text()
    best = documents[name]["recommended" if name == "plan" else "best"]
    assert f"{best['state_slots']:,}" in text
    assert f"{best['kv_tokens']:,}" in text


def test_a_lever_shows_its_launch_and_has_no_button_to_a_server(opened, documents):
    page = opened(documents["plan"]).page
    lever = next(lever for lever in documents["plan"]["levers"] if lever["delta_requests"])
    assert page.get_by_role("button", name="Try").count() == 0
    page.locator(".lever summary").first.click()
    assert page.locator(".lever .command code").first.inner_text() == lever["launch_command"]


def test_text_of_a_log_stays_text(opened, documents):
    hostile = json.loads(json.dumps(documents["read"]))
    hostile["boots"][0]["model"] = HOSTILE
    hostile["findings"][0]["text"] = HOSTILE
    page = opened(hostile).page
    assert page.locator("main img").count() == 0
    assert HOSTILE in page.locator("main").inner_text()
    assert page.title() == "poolsplit read"


def test_a_script_from_elsewhere_does_not_run(opened, documents):
    screen = opened(documents["read"])
    page = screen.page
    page.evaluate(ADD_SCRIPT)
    assert page.evaluate("window.ran") is None
    screen.faults.clear()
