"""The pages of long work in a browser: Read, Traffic and Live."""

import json

import pytest

from live_server import Engine, serving
from support import EXAMPLES

BIG_BYTES = 200 << 20
LOG = EXAMPLES / "boot-qwen3.5-9b-tp2.log"
STATES_FULL = EXAMPLES / "run-time-states-full.log"


@pytest.fixture(scope="session")
def big_trace(tmp_path_factory):
    """A trace of 200 MB, one long prompt's ids in each line."""
    path = tmp_path_factory.mktemp("big") / "big.jsonl"
    ids = list(range(100_000, 102_500))
    line = json.dumps({"timestamp": 0, "input_length": 512 * len(ids), "output_length": 100, "hash_ids": ids})
    one = f"{line}\n".encode()
    with path.open("wb") as file:
        for _ in range(BIG_BYTES // len(one) + 1):
            file.write(one)
    return path


def test_a_log_is_read(screen, ui):
    page = screen.open("read")
    screen.drop("read", LOG.name, LOG.read_bytes())
    text = screen.answered("read").inner_text()
    document = ui.work("read", files=[{"upload": ui.upload(LOG.name, LOG.read_bytes())}])
    assert screen.big("read") == f"{document['boots'][-1]['granted_running_requests']:,}"
    for finding in document["findings"]:
        assert finding["text"].split("\n")[0][:60] in text
    screen.photograph("read-light")
    assert page.title().startswith("Read")


def test_several_logs_and_another_after_them(screen):
    screen.open("read")
    screen.drop("read", STATES_FULL.name, STATES_FULL.read_bytes())
    first = screen.answered("read").inner_text()
    screen.drop("read", LOG.name, LOG.read_bytes())
    screen.until("before => document.getElementById('read-results').innerText !== before", first)
    assert screen.answered("read").inner_text() != first


@pytest.mark.parametrize("content", [b"", b"\x1f\x8b\x08broken", b"\x00\xff" * 4096])
def test_bad_files_are_refused_in_words(screen, content):
    page = screen.open("traffic")
    screen.drop("traffic", "holiday.jpg", content)
    page.locator("#trace-results .refusal").wait_for()
    text = page.locator("#trace-results .refusal").inner_text()
    assert "error:" in text
    assert "holiday.jpg" in text


def test_a_sample_is_replayed_and_searched(screen, ui):
    page = screen.open("traffic?sample=rag")
    expected = ui.work("trace-info", files=[{"sample": "rag"}])
    assert f"{expected['input_tokens']['sum']:,}" in screen.answered("trace").inner_text()
    page.get_by_role("button", name="Replay", exact=True).click()
    assert screen.big("replay").endswith("%")
    page.get_by_role("button", name="Surface", exact=True).click()
    page.locator("#surface-results .chart .main-svg").first.wait_for()
    assert page.locator("#surface-results .job").is_visible()
    before = page.locator("#surface-results").inner_text()
    screen.until("before => document.getElementById('surface-results').innerText !== before", before)
    page.locator("#surface-results").get_by_role("button", name="Cancel").click()
    screen.answered("surface")
    assert page.locator("#surface-results .chart .main-svg").first.is_visible()
    screen.charts(2)
    screen.photograph("traffic-light")


def test_a_cancelled_job_leaves_no_process(screen, ui):
    page = screen.open("traffic?sample=agent")
    screen.answered("trace")
    before = set(ui.children())
    page.get_by_role("button", name="Surface", exact=True).click()
    page.locator("#surface-results .job").get_by_text("replay").wait_for()
    assert set(ui.children()) - before
    page.locator("#surface-results").get_by_role("button", name="Cancel").click()
    page.locator("#surface-results .job").wait_for(state="hidden")
    page.wait_for_timeout(500)
    assert not set(ui.children()) - before


def test_a_link_reproduces_the_traffic_page(screen, browser, ui, tmp_path):
    from ui_browser import Screen

    page = screen.open("traffic?sample=chat")
    shown, address = screen.answered("trace").inner_text(), page.url
    with Screen(browser, ui, tmp_path) as other:
        other.page.goto(address)
        assert other.answered("trace").inner_text() == shown


def test_a_trace_of_200_mb(screen, big_trace):
    page = screen.open("traffic")
    screen.drop_file("traffic", big_trace)
    page.locator("#trace-results").get_by_text("mooncake").wait_for()
    assert f"{512 * 2500:,}" in screen.answered("trace").inner_text()


def test_a_big_upload_is_cancelled(screen, big_trace):
    page = screen.open("traffic")
    screen.answered("trace")
    network = {"offline": False, "latency": 0, "downloadThroughput": -1, "uploadThroughput": 1 << 22}
    screen.context.new_cdp_session(page).send("Network.emulateNetworkConditions", network)
    screen.drop_file("traffic", big_trace)
    page.locator("#trace-results").get_by_text("sending big.jsonl").wait_for()
    page.locator("#trace-results").get_by_role("button", name="Cancel").click()
    page.locator("#trace-results .job").wait_for(state="hidden")


def test_a_server_is_watched(screen):
    with serving(Engine()) as server:
        page = screen.open("live")
        screen.field("live", "targets").fill(server.url)
        screen.field("live", "interval").fill("1s")
        page.get_by_role("button", name="Watch").click()
        screen.page.locator("#live-results .usage").first.wait_for()
        screen.charts(1)
        text = page.locator("#live-results").inner_text()
        assert server.url in text
        screen.photograph("live-light")
        page.get_by_role("button", name="Cancel").click()
        page.locator("#live-results .job").wait_for(state="hidden")


def test_a_server_that_does_not_answer_is_said(screen):
    page = screen.open("live?targets=http%3A%2F%2F127.0.0.1%3A9")
    page.get_by_role("button", name="Watch").click()
    assert "127.0.0.1:9" in screen.refused("live")


def test_a_stopped_server_is_said(browser, tmp_path):
    from ui_browser import Screen
    from ui_server import running_ui

    with running_ui(cwd=tmp_path) as ui, Screen(browser, ui, tmp_path) as screen:
        screen.plan()
        ui.stop()
        screen.submit("plan")
        assert "poolsplit ui" in screen.refused("plan")


def test_a_page_of_another_host_carries_its_token(browser, tmp_path):
    from ui_browser import Screen
    from ui_server import UiServer, running_ui

    with running_ui("--host", "0.0.0.0", cwd=tmp_path) as ui:  # noqa: S104  what is tested
        here = UiServer(ui.process, ui.url.replace("0.0.0.0", "127.0.0.1"))  # noqa: S104
        with Screen(browser, here, tmp_path) as screen:
            screen.plan()
            screen.page.goto(f"{here.url}#traffic?sample=chat")
            assert "2,000" in screen.answered("trace").inner_text()
            screen.assert_clean()
