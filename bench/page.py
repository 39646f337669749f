"""How heavy the page is, and how long a visitor waits for it and for the first result, in a real browser.

    python bench/page.py [--clip CLIP.mp4] [--repeats 3]

The service is started on an empty catalogue. The first view is opened in a new browser context, so nothing is
cached: bytes as sent and unpacked, and the time until its heading stands there. Then "Try with a sample" is
pressed: the wait until the answer is shown with both dancers playing; the first time the sample is rendered,
so its wait stands apart from the later ones. With a clip, the same for that file, dropped on the page. The
least of the repeats and their median; load average beside them, since everything here is wall-clock time.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright

PATIENCE = 180_000  # milliseconds
BROWSERS = ("chromium-headless-shell", "chromium", "google-chrome")
WEIGHT = """() => {
  const all = [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")];
  const sum = (kind) => all.reduce((total, one) => total + one[kind], 0);
  return { files: all.length, bytes: sum("encodedBodySize"), bytes_unpacked: sum("decodedBodySize") };
}"""


def start_service(folder: Path) -> tuple[subprocess.Popen[str], str]:
    """The service on an empty catalogue, and its address."""
    command = [sys.executable, "-m", "dancematch", "serve", str(folder / "dances.db"), "--port", "0"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    said = process.stderr.readline() if process.stderr else ""
    found = re.search(r"http://\S+", said)
    if found is None:
        sys.exit(f"the service did not start: {said}")
    return process, found[0]


def first_view(browser: Browser, address: str) -> tuple[float, dict[str, Any]]:
    """Seconds until the first view of a new visitor stands there, and its weight."""
    context = browser.new_context()
    page = context.new_page()
    began = time.perf_counter()
    page.goto(address)
    page.locator("main h1").wait_for(timeout=PATIENCE)
    waited = time.perf_counter() - began
    weight = page.evaluate(WEIGHT)
    context.close()
    return waited, weight


def first_result(browser: Browser, address: str, ask: Callable[[Page], None]) -> float:
    """Seconds from what a visitor does to the answer with both dancers."""
    context = browser.new_context()
    page = context.new_page()
    page.goto(address)
    page.locator("main h1").wait_for(timeout=PATIENCE)
    began = time.perf_counter()
    ask(page)
    page.locator(".stages, .match").first.wait_for(timeout=PATIENCE)
    waited = time.perf_counter() - began
    context.close()
    return waited


def row(what: str, waits: list[float], **facts: object) -> None:
    seconds = {"seconds": round(min(waits), 2), "median_seconds": round(median(waits), 2)}
    load = round(os.getloadavg()[0], 1)
    print(json.dumps({"bench": "page", "what": what, **seconds, "load": load, **facts}), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--clip", type=Path)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    if program is None:
        sys.exit("needs Chromium (Debian: apt-get install chromium-headless-shell)")

    def sample(page: Page) -> None:
        page.get_by_role("button", name="Try with a sample").click()

    def drop(page: Page) -> None:
        page.locator("input[type=file]").first.set_input_files(options.clip)

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        process, address = start_service(Path(folder))
        browser = driver.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        try:
            views = [first_view(browser, address) for _ in range(options.repeats)]
            row("first view", [waited for waited, _ in views], **views[0][1])
            row("sample, rendered for it", [first_result(browser, address, sample)])
            waits = [first_result(browser, address, sample) for _ in range(options.repeats)]
            row("sample: a rendered clip of 6 s, 360x480", waits)
            if options.clip:
                waits = [first_result(browser, address, drop) for _ in range(options.repeats)]
                row("a clip", waits, clip=options.clip.name)
        finally:
            browser.close()
            process.terminate()
            process.wait()


if __name__ == "__main__":
    main()
