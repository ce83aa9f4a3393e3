"""The Plan page in a browser."""

from urllib.parse import parse_qs

import pytest

from ui_server import PLAN


def fragment(page):
    """Page and values of the address."""
    name, _, query = page.evaluate("location.hash.slice(1)").partition("?")
    return name, {key: values[0] for key, values in parse_qs(query).items()}


@pytest.fixture
def document(ui):
    """What the server says to the plan that the page opens with."""
    return ui.ask("POST", "/api/plan", PLAN).document


def test_it_opens_with_an_answer(screen, document):
    page = screen.plan()
    assert screen.big("plan") == f"{document['recommended']['running_requests']:,}"
    text = page.locator("#plan-results").inner_text()
    for flag in document["recommended"]["flags"]:
        assert flag in text
    assert document["launch_command"] in text
    rank = document["picture"]["recommended"][0]
    assert rank["state_text"] in text
    assert rank["kv_text"] in text
    assert f"{document['recommended']['kv_tokens']:,}" in text
    screen.charts(1)
    screen.photograph("plan-light")


def test_it_says_what_it_was_planned_for(screen):
    screen.plan("plan?context=8k")
    assert "on h200, 8,192 tokens a request." in screen.answered("plan").inner_text()
    screen.plan("plan?traffic=mix&lengths=p50%3D2k%2Cp90%3D32k")
    assert "11,264 tokens a request on average." in screen.answered("plan").inner_text()


def test_pools_are_drawn_to_scale(screen, document):
    page = screen.plan()
    bars = page.locator("#plan-results .pools .bar")
    assert bars.count() == 2
    for bar, split in zip(bars.all(), ("current", "recommended"), strict=True):
        whole = bar.bounding_box()["width"]
        for pool in ("state", "kv"):
            share = bar.locator(f".pool.{pool}").bounding_box()["width"] / whole
            assert share == pytest.approx(document["picture"][split][0][f"{pool}_fraction"], abs=0.01)


def test_the_slider_redraws(screen):
    page = screen.plan()
    before = screen.big("plan")
    slider = page.locator("#length-slider")
    slider.focus()
    with page.expect_response("**/api/plan"):
        page.keyboard.press("ArrowRight")
    screen.changed("plan", before)
    assert fragment(page)[1]["context"] == screen.field("plan", "context").input_value()


def test_a_lever_is_taken_and_taken_back(screen, document):
    page = screen.plan()
    gaining = [lever for lever in document["levers"] if (lever["delta_requests"] or 0) > 0]
    before = screen.big("plan")
    page.locator(".lever button").first.click()
    screen.changed("plan", before)
    assert screen.big("plan") == f"{gaining[0]['running_requests']:,}"
    assert screen.field("plan", "launch").input_value() == gaining[0]["launch_command"]
    page.go_back()
    screen.until("before => document.querySelector('#plan-results .big')?.textContent === before", before)


def test_a_link_reproduces_the_page(screen, browser, ui, tmp_path):
    from ui_browser import Screen

    page = screen.plan()
    screen.field("plan", "context").fill("32k")
    screen.field("plan", "flags").fill("--tp 8 --page-size 64")
    screen.field("plan", "gpu").select_option("b200")
    screen.submit("plan")
    screen.until("document.querySelector('#plan-results').textContent.includes('--page-size 64')")
    screen.charts(1)
    shown, address = screen.answered("plan").inner_text(), page.url
    with Screen(browser, ui, tmp_path) as other:
        other.page.goto(address)
        other.charts(1)
        assert other.answered("plan").inner_text() == shown
        other.assert_clean()


def test_a_pasted_launch_line(screen):
    page = screen.plan()
    page.get_by_label("Launch line", exact=True).check()
    launch = (
        "docker run --gpus all lmsysorg/sglang:v0.5.22 \\\n  python -m sglang.launch_server --model-path "
        + PLAN["model"]
    )
    screen.field("plan", "launch").fill(f"{launch} --tp 8 --port 30000")
    screen.submit("plan")
    screen.until("document.querySelector('#plan-results .command')?.textContent.includes('docker run')")
    text = screen.answered("plan").inner_text()
    assert "sglang 0.5.22" in text
    assert "--port 30000" in text


def test_the_derivation_on_demand(screen, document):
    page = screen.plan()
    steps = page.get_by_text("How these numbers were found")
    rows = page.locator("#plan-results details[open] tbody tr")
    assert rows.count() == 0
    steps.click()
    rows.first.wait_for()
    assert rows.count() == len(document["derivation"])


def test_the_command_is_copied(screen):
    screen.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = screen.plan()
    page.get_by_role("button", name="Copy the launch command").click()
    page.get_by_text("Copied", exact=True).wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == page.locator(".command code").first.inner_text()


@pytest.mark.parametrize(
    ("field", "value", "needle"),
    [
        ("model", "Qwen/Qwen3-Nxt-80B-A3B-Instruct", "Qwen"),
        ("flags", "--tp four", "--tp"),
        ("context", "nine thousand", "nine thousand"),
        ("concurrency", "100000", "do not fit"),
    ],
)
def test_a_refusal_is_said_in_its_place(screen, field, value, needle):
    screen.plan()
    screen.field("plan", field).fill(value)
    screen.submit("plan")
    text = screen.refused("plan")
    assert "error:" in text
    assert "hint:" in text
    assert needle in text


def test_pipeline_stages_each_have_a_bar(screen):
    page = screen.plan("plan?flags=--tp+4+--pp-size+2")
    assert page.locator("#plan-results .pools").last.locator(".bar").count() == 2
    assert "Stage 1" in screen.answered("plan").inner_text()


def test_markup_in_an_address_is_text(screen):
    page = screen.open("plan?model=%3Cimg+src%3Dx+onerror%3Ddocument.title%3D1%3E")
    assert "<img" in screen.refused("plan")
    assert page.locator("main img").count() == 0
