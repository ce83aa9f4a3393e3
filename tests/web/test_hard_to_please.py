"""What people type, paste, drop and link that is not quite what a page expects."""

from urllib.parse import urlencode

import pytest


def drop_path(screen, part, path):
    """Drops a real file or folder of the disk, as a file manager does."""
    box = screen.page.locator(f"#page-{part} .drop").bounding_box()
    at = {"x": box["x"] + 20, "y": box["y"] + 20}
    data = {"items": [], "files": [str(path)], "dragOperationsMask": 1}
    session = screen.context.new_cdp_session(screen.page)
    for kind in ("dragEnter", "dragOver", "drop"):
        session.send("Input.dispatchDragEvent", {"type": kind, **at, "data": data})


def test_a_folder_is_refused_as_what_it_is(screen, tmp_path):
    folder = tmp_path / "logs"
    folder.mkdir()
    screen.open("read")
    drop_path(screen, "read", folder)
    assert "logs cannot be read" in screen.refused("read")
    assert "folder" in screen.refused("read")


@pytest.mark.parametrize("name", ["constructor", "__proto__", "nothing"])
def test_an_address_of_no_page_opens_the_plan(screen, name):
    screen.plan(name)
    assert screen.page.locator("nav [aria-current=page]").inner_text() == "Plan"


def test_a_card_that_is_not_offered_is_refused_and_not_replaced(screen):
    screen.open("plan?gpu=h2000")
    assert "h2000" in screen.refused("plan")
    assert "gpu=h2000" in screen.page.url


def test_a_choice_that_there_is_none_of_leaves_the_first(screen):
    shown = screen.plan("plan?by=nothing&traffic=nothing") and screen.big("plan")
    screen.plan()
    assert screen.big("plan") == shown


def test_what_an_address_says_is_not_folded_away(screen):
    screen.plan("plan?sessions=20&session_tokens=16k")
    assert screen.field("plan", "sessions").is_visible()
    assert not screen.field("plan", "free_before").is_visible()


@pytest.mark.parametrize(("length", "stop"), [("8k", "5"), ("9,216", "6"), ("9216", "6"), ("100k", "14")])
def test_the_slider_stands_where_the_length_is(screen, length, stop):
    screen.plan(f"plan?context={length}")
    assert screen.page.locator("#length-slider").input_value() == stop


@pytest.mark.parametrize(
    ("field", "value", "needle"),
    [("sessions", "many", "--sessions takes a whole number"), ("margin", "0,1", "--margin takes a number")],
)
def test_a_number_that_is_none_is_said_beside_its_field(screen, field, value, needle):
    screen.open("plan?" + urlencode({"sessions": "20", "session_tokens": "16k", field: value}))
    assert needle in screen.refused("plan")
    assert screen.field("plan", field).get_attribute("aria-invalid") == "true"
