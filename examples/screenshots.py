"""Screenshots of a report, wide and narrow, light and dark: `python examples/screenshots.py report.html FOLDER`."""

import shutil
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

report, folder = Path(sys.argv[1]).resolve(), Path(sys.argv[2])
with sync_playwright() as playwright:
    browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
    for width, height in ((1280, 1480), (390, 844)):
        for scheme in ("light", "dark"):
            page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
            page.goto(report.as_uri())
            page.wait_for_selector("#time .main-svg")
            name = f"report-{width}" + ("" if scheme == "light" else "-dark")
            page.screenshot(path=folder / f"{name}.png")
            page.screenshot(path=folder / f"{name}-whole.png", full_page=True)
    browser.close()
