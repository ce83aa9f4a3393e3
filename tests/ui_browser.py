"""A page in a real browser: opened at any size and theme, watched for faults, and photographed."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser, ConsoleMessage, Locator, Page, Route

    from ui_server import UiServer

WIDE = {"width": 1440, "height": 1000}
NARROW = {"width": 380, "height": 800}
PATIENCE_MS = 60_000
SERIOUS = ("serious", "critical")


class Screen:
    """One page of its own: nothing that it keeps is seen by another."""

    def __init__(self, browser: Browser, ui: UiServer, folder: Path) -> None:
        self._browser = browser
        self._ui = ui
        self._folder = folder
        self.faults: list[str] = []
        """What the console complained of, and requests that went elsewhere."""
        self.page: Page

    def __enter__(self) -> Self:
        self.context = self._browser.new_context(viewport=WIDE, reduced_motion="reduce")
        self.context.set_default_timeout(PATIENCE_MS)
        self.context.route("**/*", self._only_here)
        self.page = self.context.new_page()
        self.page.on("console", self._heard)
        self.page.on("pageerror", lambda error: self.faults.append(str(error)))
        return self

    def __exit__(self, *raised: object) -> None:
        self.context.close()

    def open(self, fragment: str = "") -> Page:
        """The page at one state, with its answer there."""
        self.page.goto(f"{self._ui.url}#{fragment}")
        self.page.wait_for_selector("#form-plan select[name=gpu] option", state="attached")
        return self.page

    def plan(self, fragment: str = "plan") -> Page:
        """The Plan page with its answer."""
        self.open(fragment)
        self.answered("plan")
        return self.page

    def answered(self, part: str) -> Locator:
        """The finished answer of one part of the page."""
        place = self.page.locator(f"#{part}-results")
        place.locator(".answer, .part").first.wait_for()
        self.until(
            "part => { const place = document.getElementById(`${part}-results`);"
            " return !place.matches('[aria-busy]') && !place.querySelector('[aria-busy]'); }",
            part,
        )
        return place

    def until(self, holds: str, argument: object = None) -> None:
        """Waits for a condition of the page; asked from outside, for the policy lets nothing inside evaluate text."""
        end_s = time.monotonic() + PATIENCE_MS / 1000
        while not self.page.evaluate(holds, argument):
            assert time.monotonic() < end_s, holds
            self.page.wait_for_timeout(50)

    def changed(self, part: str, before: str) -> None:
        """Waits for an answer with another number."""
        self.until(
            "([part, before]) => ![before, undefined].includes("
            "document.querySelector(`#${part}-results .big`)?.textContent)",
            [part, before],
        )

    def refused(self, part: str) -> str:
        """The words of a refusal."""
        note = self.page.locator(f"#page-{part} .refusal").first
        note.wait_for()
        return note.inner_text()

    def big(self, part: str) -> str:
        """The number that answers."""
        return self.answered(part).locator(".big").first.inner_text()

    def field(self, part: str, name: str) -> Locator:
        """A field of one page's form."""
        return self.page.locator(f"#form-{part} [name={name}]")

    def submit(self, part: str) -> None:
        """Asks what a form says."""
        self.page.locator(f"#form-{part} button[type=submit]").first.click()

    def drop(self, part: str, name: str, content: bytes) -> None:
        """Chooses a file as a person would."""
        files = [{"name": name, "mimeType": "application/octet-stream", "buffer": content}]
        self.page.locator(f"#page-{part} input[type=file]").set_input_files(files)

    def drop_file(self, part: str, path: Path) -> None:
        """The same with a file of any size."""
        self.page.locator(f"#page-{part} input[type=file]").set_input_files(path)

    def photograph(self, name: str) -> None:
        """Keeps the whole page as a picture."""
        self._folder.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=self._folder / f"{name}.png", full_page=True)

    def theme(self, name: str) -> None:
        """The system's colours: light or dark."""
        self.page.emulate_media(color_scheme=name)  # type: ignore[arg-type]

    def charts(self, count: int) -> None:
        """Waits until so many charts are drawn."""
        self.until("count => document.querySelectorAll('.chart .main-svg').length >= count", count)

    def assert_accessible(self) -> None:
        """No serious finding of axe."""
        from axe_playwright_python.sync_playwright import Axe

        found: Any = Axe().run(self.page).response
        serious = [
            (rule["id"], node["target"], node["failureSummary"])
            for rule in found["violations"]
            if rule["impact"] in SERIOUS
            for node in rule["nodes"]
        ]
        assert not serious, serious

    def assert_no_sideways_scroll(self) -> None:
        """Everything fits the width."""
        beyond = self.page.evaluate(
            "() => { const width = document.documentElement.clientWidth; const root = document.documentElement;"
            " return root.scrollWidth <= width ? [] : [...document.querySelectorAll('body *')]"
            ".filter((node) => node.getBoundingClientRect().right > width + 1)"
            ".map((node) => `${node.tagName}.${node.getAttribute('class')}`); }"
        )
        assert not beyond, beyond

    def assert_clean(self) -> None:
        """Nothing was complained of, and nothing was asked of anybody else."""
        assert not self.faults, self.faults

    def _only_here(self, route: Route) -> None:
        asked = urlsplit(route.request.url)
        if asked.netloc == self._ui.netloc or asked.scheme in ("data", "blob"):
            route.continue_()
        else:
            self.faults.append(f"asked elsewhere: {route.request.url}")
            route.abort()

    def _heard(self, message: ConsoleMessage) -> None:
        where = message.location.get("url", "")
        refused = "Failed to load resource" in message.text and "/api/" in where
        unwanted = "inline style violates" in message.text and where.endswith("/plotly.min.js")  # a sheet for its maps
        if message.type in ("error", "warning") and not refused and not unwanted:
            self.faults.append(message.text)
