"""A server that every test of the page may ask, and a real browser that looks at it."""

import os
import shutil
from pathlib import Path

import pytest

from live_server import Engine, serving
from ui_browser import Screen
from ui_server import running_ui

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
SCREENSHOTS = "POOLSPLIT_SCREENSHOTS"
"""Variable that names the folder which pictures of the page are kept in."""


@pytest.fixture(scope="session")
def ui(tmp_path_factory):
    """The page's server."""
    with running_ui(cwd=tmp_path_factory.mktemp("ui")) as server:
        yield server


@pytest.fixture(scope="session")
def endless():
    """Work that goes on until somebody ends it: its kind and arguments."""
    with serving(Engine()) as server:
        yield {"kind": "watch", "targets": [server.url], "interval": "1s"}


@pytest.fixture(scope="module")
def browser():
    """Headless Chromium, for one module: its driver holds the thread's event loop, which other tests have uses for."""
    if CHROMIUM is None:
        pytest.skip("needs chromium: scripts/install_test_services.sh installs it")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-dev-shm-usage"])
        yield opened
        opened.close()


@pytest.fixture
def screen(browser, ui, tmp_path):
    """A new page on the server, watched for anything that a page must not do."""
    folder = Path(os.environ.get(SCREENSHOTS) or tmp_path)
    with Screen(browser, ui, folder) as opened:
        yield opened
        opened.assert_clean()
