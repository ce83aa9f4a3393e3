"""The plan that the other pages go by, and the addresses that carry it."""

import pytest

from ui_server import PLAN


@pytest.fixture
def split(ui):
    """The recommended split of a plan on so many cards, as the pages write it."""

    def find(cards):
        best = ui.ask("POST", "/api/plan", {**PLAN, "flags": f"--tp {cards}"}).document["recommended"]
        return f"{best['state_slots']:,} state slots, {best['kv_tokens']:,} KV tokens"

    return find


def taken(screen, split):
    """Waits until the Traffic page says that it goes by this split."""
    screen.page.locator("#plan-taken").get_by_text(split).wait_for()


def test_traffic_goes_by_the_plan_of_now(screen, split):
    page = screen.open("traffic?sample=chat")
    taken(screen, split(4))
    page.get_by_role("link", name="Plan", exact=True).click()
    screen.answered("plan")
    screen.field("plan", "flags").fill("--tp 8")
    screen.submit("plan")
    page.get_by_role("link", name="Traffic", exact=True).click()
    taken(screen, split(8))
    assert "tp%2B8" in page.url


def test_an_address_carries_its_plan_to_another_browser(screen, split):
    page = screen.open("traffic?sample=chat&plan=flags%3D--tp%2B8")
    taken(screen, split(8))
    page.get_by_role("link", name="Plan", exact=True).click()
    screen.answered("plan")
    assert screen.field("plan", "flags").input_value() == "--tp 8"


def test_live_carries_a_plan_only_where_it_is_held_against_one(screen):
    page = screen.open("live?targets=http%3A%2F%2Fh%3A1&plan=flags%3D--tp%2B8")
    page.wait_for_function("() => !location.hash.includes('plan=')")
    screen.field("live", "from_plan").check()
    assert "plan=flags" in page.url
