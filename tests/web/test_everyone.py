"""The page for everyone: any width, both themes, no mouse, and by ear."""

import pytest

from live_server import Engine, serving
from support import EXAMPLES
from ui_browser import NARROW

LOG = EXAMPLES / "boot-k3-class-tp8.log"
FULL_HD = {"width": 1920, "height": 1080}


def read(screen):
    screen.open("read")
    screen.drop("read", LOG.name, LOG.read_bytes())
    screen.answered("read")


def traffic(screen):
    page = screen.open("traffic?sample=rag")
    screen.answered("trace")
    page.get_by_role("button", name="Replay", exact=True).click()
    screen.answered("replay")
    screen.charts(1)


def plan(screen):
    screen.plan()
    screen.charts(1)
    for summary in screen.page.locator("#page-plan summary").all():
        summary.click()


def live(screen):
    with serving(Engine()) as server:
        page = screen.open("live")
        screen.field("live", "targets").fill(server.url)
        screen.field("live", "interval").fill("1s")
        page.get_by_role("button", name="Watch").click()
        page.locator("#live-results .usage").first.wait_for()
        page.get_by_role("button", name="Cancel").click()


PAGES = {"plan": plan, "read": read, "traffic": traffic, "live": live}


@pytest.mark.parametrize("name", PAGES)
def test_a_page_at_every_width_in_both_themes(screen, name):
    PAGES[name](screen)
    for theme in ("light", "dark"):
        screen.theme(theme)
        for width, size in (("narrow", NARROW), ("wide", FULL_HD)):
            screen.page.set_viewport_size(size)
            screen.page.wait_for_timeout(200)
            screen.assert_no_sideways_scroll()
            screen.assert_accessible()
            screen.photograph(f"{name}-{theme}-{width}")


def test_refusals_are_accessible(screen):
    screen.plan()
    screen.field("plan", "model").fill("nothing")
    screen.submit("plan")
    screen.refused("plan")
    for theme in ("light", "dark"):
        screen.theme(theme)
        screen.assert_accessible()
        screen.photograph(f"refused-{theme}")


def focused(page):
    return page.evaluate("document.activeElement.name || document.activeElement.textContent.trim()")


def test_the_first_tab_skips_to_the_content(screen):
    page = screen.plan()
    page.keyboard.press("Tab")
    assert focused(page) == "Skip to content"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "content"


def test_a_plan_without_a_mouse(screen):
    page = screen.plan()
    seen = []
    for _ in range(30):
        page.keyboard.press("Tab")
        seen.append(focused(page))
        if seen[-1] == "context":
            break
    assert seen[-1] == "context"
    assert {"Plan", "Read", "Traffic", "Live", "model", "flags", "gpu"} <= set(seen)
    page.keyboard.press("Control+A")
    page.keyboard.type("64k")
    with page.expect_response("**/api/plan"):
        page.keyboard.press("Enter")
    screen.until("document.activeElement.tagName === 'H2'")
    assert page.evaluate("document.activeElement.textContent").endswith("requests at once")
    status = page.locator("#status").inner_text()
    assert screen.big("plan").replace(",", "") in status.replace(",", "")


def test_pages_are_reached_and_told_apart_by_keyboard(screen):
    page = screen.plan()
    page.get_by_role("link", name="Traffic", exact=True).focus()
    page.keyboard.press("Enter")
    screen.until("document.title.startsWith('Replay traffic')")
    assert page.locator("nav [aria-current]").inner_text() == "Traffic"
    assert page.locator("#page-plan").is_hidden()


def test_the_focus_is_always_seen(screen):
    page = screen.plan()
    for _ in range(12):
        page.keyboard.press("Tab")
        style = page.evaluate(
            "(() => { const s = getComputedStyle(document.activeElement); return [s.outlineStyle, s.boxShadow]; })()"
        )
        assert style[0] != "none" or style[1] != "none", focused(page)


def test_the_theme_button_goes_round_and_is_remembered(screen):
    page = screen.plan()
    button = page.locator("#theme")
    seen = [button.inner_text()]
    for _ in range(3):
        button.click()
        seen.append(button.inner_text())
    assert seen == ["Theme: system", "Theme: light", "Theme: dark", "Theme: system"]
    button.click()
    page.reload()
    assert page.locator("#theme").inner_text() == "Theme: light"


def test_a_chart_is_drawn_anew_when_its_width_changes(screen):
    page = screen.plan()
    for size in (NARROW, FULL_HD):
        screen.charts(1)
        page.set_viewport_size(size)
        width = "() => document.querySelector('.chart').clientWidth === document.querySelector('.chart').layout?.width"
        screen.until(width)
    legend, area = (page.locator(f"#plan-results .chart {part}").first for part in (".legend", ".nsewdrag"))
    drawn = legend.bounding_box()
    assert drawn["y"] + drawn["height"] <= area.bounding_box()["y"] + 1


def test_paper_is_light_whatever_the_theme(screen):
    page = screen.plan()
    screen.charts(1)
    screen.theme("dark")
    ink = "getComputedStyle(document.body).color"
    dark = page.evaluate(ink)
    page.emulate_media(media="print")
    assert page.evaluate(ink) != dark
    screen.until(
        "dark => getComputedStyle(document.querySelector('.chart .legendtext')).fill !== dark"
        " && ![...document.querySelectorAll('.chart .scatterlayer path.js-line')].some("
        "(line) => getComputedStyle(line).stroke === dark)",
        dark,
    )
    screen.photograph("plan-printed")
