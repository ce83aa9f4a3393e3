"""How fast the page answers, in a real browser: its first paint, a slider's redraw, and the server's share of it.

    .venv/bin/python bench/ui.py [--rounds 15]

Bounds on two idle cores: first paint 1 s after the address is opened; a redraw, chart included, 100 ms after the slider
moves. Exit 1 above them. Needs chromium.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import sysconfig
import time
import urllib.request
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Page

COMMAND = str(Path(sysconfig.get_path("scripts")) / "poolsplit")
PLAN = b'{"model":"Qwen/Qwen3-Next-80B-A3B-Instruct","gpu":"h200","flags":"--tp 4","workload":{"context":"%d"}%s}'
WITHOUT_LEVERS = b',"levers":false'
FIRST_PAINT_MS = 1000
REDRAW_MS = 100
REDRAW = """async (step) => {
  const slider = document.getElementById("length-slider");
  const results = document.getElementById("plan-results");
  const chart = results.querySelector(".chart");
  const began = performance.now();
  const drawn = new Promise((resolve) => chart.once("plotly_afterplot", resolve));
  const changed = new Promise((resolve) => new MutationObserver(resolve).observe(results, { childList: true }));
  slider.value = String(step);
  slider.dispatchEvent(new Event("input", { bubbles: true }));
  await Promise.all([drawn, changed]);
  await new Promise(requestAnimationFrame);
  return performance.now() - began;
}"""


@contextmanager
def served() -> Iterator[str]:
    """The page's address, while it is served."""
    process = subprocess.Popen(
        [COMMAND, "ui", "--port", "0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip()
    finally:
        process.kill()
        process.communicate()


def server_ms(url: str, rounds: int, more: bytes) -> float:
    """Median time of one plan over HTTP, each of another length."""
    times = []
    for number in range(rounds):
        body = PLAN % (8192 + 64 * number, more)
        request = urllib.request.Request(f"{url}api/plan", body, {"Content-Type": "application/json"})  # noqa: S310
        start = time.perf_counter()
        with urllib.request.urlopen(request) as answer:  # noqa: S310  our own server
            answer.read()
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1000


def first_paint_ms(browser: Browser, url: str) -> float:
    """From the opened address to the first content, in a fresh profile."""
    page = browser.new_page()
    page.goto(url)
    page.wait_for_selector("#plan-results .big")
    painted = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
    page.close()
    return float(painted)


def redraw_ms(page: Page, rounds: int) -> float:
    """Median from a moved slider to the drawn answer, chart included."""
    return statistics.median(float(page.evaluate(REDRAW, 2 + number % 8)) for number in range(rounds))


def main() -> int:
    """Prints one line a figure and fails when a bound is passed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15)
    rounds = parser.parse_args().rounds
    chromium = shutil.which("chromium")
    if chromium is None:
        sys.exit("chromium is not installed")
    from playwright.sync_api import sync_playwright

    print(f"load before: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    with served() as url, sync_playwright() as driver:
        server_ms(url, 2, b"")
        print(f"server, plan with levers: {server_ms(url, rounds, b''):.0f} ms")
        print(f"server, plan of a sliding slider: {server_ms(url, rounds, WITHOUT_LEVERS):.0f} ms")
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        paint = statistics.median(first_paint_ms(browser, url) for _ in range(5))
        page = browser.new_page()
        page.goto(url)
        page.wait_for_selector("#plan-results .chart .main-svg")
        redraw_ms(page, 3)
        redraw = redraw_ms(page, rounds)
        browser.close()
    print(f"first paint: {paint:.0f} ms, bound {FIRST_PAINT_MS}")
    print(f"redraw of a moved slider: {redraw:.0f} ms, bound {REDRAW_MS}")
    return 0 if paint <= FIRST_PAINT_MS and redraw <= REDRAW_MS else 1


if __name__ == "__main__":
    sys.exit(main())
