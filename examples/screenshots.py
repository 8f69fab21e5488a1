"""Screenshots of a report at desktop and phone width: `python examples/screenshots.py report.html FOLDER`."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

report, folder = Path(sys.argv[1]).resolve(), Path(sys.argv[2])
with sync_playwright() as playwright:
    browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
    for width, height in ((1280, 1480), (390, 844)):
        page = browser.new_page(viewport={"width": width, "height": height})
        page.goto(report.as_uri())
        page.wait_for_selector("#bandwidths .main-svg")
        page.screenshot(path=folder / f"report-{width}.png")
        page.screenshot(path=folder / f"report-{width}-whole.png", full_page=True)
    browser.close()
