"""The page in a real browser. Without Chromium these tests skip; with MVSET_NEEDS_CHROMIUM set they fail instead."""

import itertools
import os
import shutil
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

import numpy as np
import pytest
from playwright.sync_api import sync_playwright

from mvset.app.report.page import render_page
from mvset.app.report.write import report_scan
from mvset.inference.timeline import Times

EVIL = "<script>alert(1)</script>"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.fixture(scope="module")
def browser():
    if CHROMIUM is None:
        if os.environ.get("MVSET_NEEDS_CHROMIUM"):
            pytest.fail("Chromium is not installed, and MVSET_NEEDS_CHROMIUM is set.")
        pytest.skip("Chromium is not installed.")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def address(fitted, survey, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(render_page(fitted, survey, title="today"), encoding="utf-8")
    return path.as_uri()


def open_appendix(page):
    page.evaluate("document.getElementById('appendix').open = true")
    page.wait_for_selector("#bandwidths .main-svg")


@pytest.fixture(scope="module")
def opened(browser, address):
    """The page, with its console messages in `said` and its network requests in `asked`, both from the beginning."""
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.said, page.asked = [], []
    page.on("console", lambda message: page.said.append(message.text))
    page.on("pageerror", lambda error: page.said.append(str(error)))
    page.on("dialog", lambda dialog: page.said.append(dialog.message))
    page.on("request", lambda request: page.asked.append(request.url))
    page.goto(address)
    open_appendix(page)
    yield page
    page.close()


@pytest.fixture
def page(opened):
    """The page on a wide screen; where the slider stands is up to the test."""
    opened.set_viewport_size({"width": 1280, "height": 900})
    opened.emulate_media(media="screen")
    return opened


def slide_to(page, k):
    page.eval_on_selector("#mass", f"s => {{ s.value = {k}; s.dispatchEvent(new Event('input')); }}")
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => setTimeout(done, 0)))")


def test_no_error_and_no_network(page, address):
    assert page.said == []
    assert [url for url in page.asked if not url.startswith(("data:", "blob:"))] == [address]


def test_the_slider_moves_rows_sets_and_volume_together(page, fitted, survey, rows):
    prepared = fitted.prepared(rows)
    seen, sides = [], []
    for k in (0, 20, int(page.get_attribute("#mass", "max"))):
        slide_to(page, k)
        mass = survey.masses[k]
        outside = fitted.estimator.predict(prepared, mass=mass) == -1
        assert int(page.inner_text("#n-outside")) == outside.sum()
        assert str(fitted.sets.volume(mass)) in page.get_attribute("#volume", "title")
        sides.append(float(page.inner_text("#side").rstrip("%")))
        assert float(page.inner_text("#mass-value")) == mass
        assert page.evaluate("document.getElementById('sets-0').data[1].contours.start") == mass
        colours = page.evaluate("document.getElementById('sets-0').data[2].marker.color")
        np.testing.assert_array_equal(np.array(colours) == "#d94801", outside)
        pale = page.eval_on_selector_all("#unusual tbody tr", "rows => rows.map(r => r.classList.contains('inside'))")
        scores = np.array([row.score for row in survey.unusual])
        assert pale == (scores >= fitted.sets.offset(mass)).tolist()
        seen.append(outside.sum())
    assert seen[0] > seen[1] > seen[2]
    assert 10 < sides[0] < sides[1] < sides[2] < 150
    assert page.said == []


def test_the_arrow_keys_move_the_slider(page):
    slide_to(page, 20)
    before = float(page.inner_text("#mass-value"))
    page.focus("#mass")
    page.keyboard.press("ArrowLeft")
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => setTimeout(done, 0)))")
    assert float(page.inner_text("#mass-value")) < before


def test_a_name_with_tags_shows_as_text(page):
    assert EVIL in page.inner_text(".settings")
    titles = page.eval_on_selector_all("#sets-0 .xtitle, #sets-0 .ytitle", "all => all.map(t => t.textContent)")
    assert titles == [EVIL, "a & b"]
    other = page.eval_on_selector_all("#sets-1 .ytitle", "all => all.map(t => t.textContent)")
    assert other == ["cost in $, or $"]
    assert page.said == []


def becomes(page, expression, value):
    """Whether an expression has a value within ten seconds; the policy of the page forbids `wait_for_function`."""
    for _ in range(200):
        if page.evaluate(expression) == value:
            return True
        page.wait_for_timeout(50)
    return False


@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_is_wider_than_the_screen(page, width):
    page.set_viewport_size({"width": width, "height": 844})
    # Figures follow the screen after a moment.
    fits = "[...document.querySelectorAll('.figure')].every(f => f.scrollWidth - f.clientWidth <= 1)"
    assert becomes(page, fits, True)
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_only_the_scripts_of_the_page_run(browser, address, tmp_path):
    html = Path(url2pathname(urlsplit(address).path)).read_text(encoding="utf-8")
    injected = "<script>window.injected = 1</script><img src='data:,' onerror='window.injected = 2'></body>"
    (tmp_path / "injected.html").write_text(html.replace("</body>", injected), encoding="utf-8")
    page = browser.new_page()
    said = []
    page.on("console", lambda message: said.append(message.text))
    page.goto((tmp_path / "injected.html").as_uri())
    open_appendix(page)
    assert page.evaluate("window.injected") is None
    assert len(said) == 2
    assert all("Content Security Policy" in text for text in said)
    page.close()


def test_a_page_without_rows(browser, fitted, survey, tmp_path):
    (tmp_path / "no-rows.html").write_text(render_page(fitted, survey, rows=False), encoding="utf-8")
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    said = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto((tmp_path / "no-rows.html").as_uri())
    open_appendix(page)
    slide_to(page, 5)
    assert float(page.inner_text("#mass-value")) == survey.masses[5]
    assert page.locator("#time .scatterlayer .js-line").count() == 1  # the running share
    assert page.locator("#time .points path, #sets-0 .points path").count() == 0
    assert said == []
    page.close()


def test_the_appendix_is_closed_at_first_and_its_figures_fit(browser, address):
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto(address)
    page.wait_for_selector("#time .main-svg")
    assert not page.locator("#levels").is_visible()
    page.click("#appendix > summary")
    assert becomes(page, "document.querySelector('#levels .main-svg').clientWidth > 200", True)
    fits = "[...document.querySelectorAll('.figure')].every(f => f.scrollWidth - f.clientWidth <= 1)"
    assert becomes(page, fits, True)
    page.close()


def test_without_javascript_there_are_the_verdict_and_a_table(browser, address, survey):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(address)
    assert page.locator("noscript td").count() > 20
    assert "need JavaScript" in page.inner_text("body")
    assert not page.locator("#mass").is_visible()
    assert f"{survey.drift.n_outside} of 300 rows outside" in " ".join(page.inner_text(".headline").split())
    context.close()


def test_it_prints(page):
    page.emulate_media(media="print")
    assert not page.locator("#mass").is_visible()
    assert page.locator("#sets-0 .main-svg").first.is_visible()
    assert page.pdf().startswith(b"%PDF")


def test_a_dark_page_and_light_paper(page):
    background = "getComputedStyle(document.querySelector('section')).backgroundColor"
    plotted = "document.getElementById('time').layout.plot_bgcolor"
    assert (page.evaluate(background), page.evaluate(plotted)) == ("rgb(255, 255, 255)", "#ffffff")
    page.emulate_media(color_scheme="dark")
    assert becomes(page, plotted, "#1a232c")
    assert page.evaluate(background) == "rgb(26, 35, 44)"
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert page.evaluate(plotted) == "#ffffff"
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert page.evaluate(plotted) == "#1a232c"
    page.emulate_media(color_scheme="light")
    assert becomes(page, plotted, "#ffffff")
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate(background) == "rgb(255, 255, 255)"
    assert page.said == []


@pytest.mark.slow
def test_labels_of_axes_do_not_collide(browser, fitted, rows, tmp_path):
    survey = report_scan(fitted, 0.95)
    minutes = Times(1.772e15 + 6e8 * np.arange(300.0), "date")
    kept = lambda selected: [{} for _ in selected]  # noqa: E731
    survey.add(rows.to_numpy(), survey.score(rows), np.arange(300), kept, times=minutes)
    (tmp_path / "dates.html").write_text(render_page(fitted, survey.result()), encoding="utf-8")
    extents = """all => all.map(f => [...f.querySelectorAll('.xtick text')].map(label => {
        const box = label.getBoundingClientRect(); return [box.left, box.right]; }))"""
    for width in (390, 1280):
        page = browser.new_page(viewport={"width": width, "height": 844})
        page.goto((tmp_path / "dates.html").as_uri())
        open_appendix(page)
        figures = page.eval_on_selector_all(".figure", extents)
        assert figures
        for labels in figures:
            assert len(labels) >= 2
            assert all(right < left for (_, right), (left, _) in itertools.pairwise(sorted(labels)))
        page.close()
