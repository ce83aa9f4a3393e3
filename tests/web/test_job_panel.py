"""Work that is started again, or cancelled at any moment: one process at most, and its Cancel always in reach."""

from urllib.parse import urlencode

import pytest

from ui_server import until

ROW = "#live-results .job"


@pytest.fixture
def live(screen, endless):
    """The Live page, ready to watch a server that answers for ever."""
    return screen.open("live?" + urlencode({"targets": endless["targets"][0], "interval": "1s"}))


@pytest.fixture
def fresh(ui):
    """Processes of the server, once the work of pages that were closed has left: its places are few."""
    until(lambda: not ui.children())
    return lambda: set(ui.children())


def watch(page):
    page.get_by_role("button", name="Watch").click()


def test_work_started_again_takes_the_place_of_the_first(live, fresh):
    watch(live)
    live.locator("#live-results .usage").first.wait_for()
    first = fresh()
    watch(live)
    until(lambda: fresh() and not fresh() & first)
    live.wait_for_timeout(500)
    assert live.locator(ROW).is_visible()
    assert len(fresh()) == 1
    live.locator(ROW).get_by_role("button", name="Cancel").click()
    until(lambda: not fresh())


def test_hasty_clicks_leave_one_piece_of_work(live, fresh):
    live.evaluate(
        "() => { const button = document.querySelector('#form-live button[type=submit]');"
        " for (const wait of [0, 20, 150]) setTimeout(() => button.click(), wait); }"
    )
    live.locator("#live-results .usage").first.wait_for()
    until(lambda: len(fresh()) == 1)
    assert live.locator(ROW).is_visible()
    live.locator(ROW).get_by_role("button", name="Cancel").click()
    until(lambda: not fresh())


def test_work_cancelled_before_it_began_does_not_go_on(live, fresh):
    live.evaluate(
        "() => { document.querySelector('#form-live button[type=submit]').click();"
        " document.querySelector('#live-results .job button').click(); }"
    )
    live.wait_for_timeout(1500)
    assert live.locator(ROW).is_hidden()
    assert not fresh()


def test_the_focus_goes_on_where_cancel_was(live):
    watch(live)
    live.locator("#live-results .usage").first.wait_for()
    live.locator(ROW).get_by_role("button", name="Cancel").focus()
    live.keyboard.press("Enter")
    assert live.evaluate("document.getElementById('live-results').contains(document.activeElement)")
    assert live.locator("#status").inner_text() == "cancelled"


def test_what_goes_on_is_said_once_and_not_with_every_figure(screen):
    page = screen.open("traffic?sample=chat")
    screen.answered("trace")
    said = page.evaluate_handle(
        "() => { const said = []; const status = document.getElementById('status');"
        " new MutationObserver(() => said.push(status.textContent)).observe(status, { childList: true });"
        " return said; }"
    )
    page.get_by_role("button", name="Replay", exact=True).click()
    screen.answered("replay")
    heard = said.json_value()
    assert heard[0] == "starting"
    assert heard[-1] == "done"
    assert len(heard) == len(set(heard))
