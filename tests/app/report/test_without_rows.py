"""A page without rows: nothing in it belongs to a single row of the table, in texts or scripts."""

import base64
import json
import re

import numpy as np
import pytest

from mvset.app.report.numbers import _rounded
from mvset.app.report.page import render_page


@pytest.fixture(scope="module")
def pages(fitted, survey):
    return {rows: render_page(fitted, survey, rows=rows) for rows in (True, False)}


def text_of(page):
    """All that is on a page but the library that draws."""
    before, _, after = page.partition("<script>")
    return before + after.rpartition("<script>")[2]


def arrays_of(page):
    """All numbers of the charts."""

    def found(value):
        if isinstance(value, dict) and "bdata" in value:
            yield from np.frombuffer(base64.b64decode(value["bdata"]), value["dtype"]).astype(np.float64).tolist()
        elif isinstance(value, dict | list):
            for each in value.values() if isinstance(value, dict) else value:
                yield from found(each)
        elif isinstance(value, int | float):
            yield float(value)

    data = re.findall(r'<script type="application/json"[^>]*>(.*?)</script>', page, re.DOTALL)
    assert len(data) == 3
    return np.array([number for text in data for number in found(json.loads(text))])


def digits(values):
    """The digits of numbers, six and all of them, as they would be printed."""
    return {form for value in values for form in (repr(float(value)), f"{value:.6g}") if len(form.lstrip("-")) >= 6}


def test_no_value_of_a_row_is_on_the_page(pages, fitted, survey, rows):
    values, scores = rows.to_numpy().ravel(), fitted.estimator.score_samples(fitted.prepared(rows))
    shown = [f"{value:.4g}" for row in survey.unusual for value in row.values.values()]
    forms = [*digits([*values, *scores]), *(f" {form}," for form in shown)]
    leaked = {}
    for with_rows, page in pages.items():
        text = text_of(page)
        leaked[with_rows] = [form for form in forms if form in text]
    assert leaked[False] == []
    assert len(leaked[True]) > 300  # the search finds what is there
    for kind in (np.float64, np.float32):
        secret = np.concatenate([values, scores]).astype(kind)
        assert not np.isin(arrays_of(pages[False]).astype(kind), secret).any()
        assert np.isin(arrays_of(pages[True]).astype(kind), secret).sum() > 300
    assert "&lt;b&gt;299&lt;/b&gt;" in pages[True]  # of the columns kept
    assert "&lt;b&gt;" not in pages[False]


def test_what_remains(pages, survey):
    page = pages[False]
    assert f"<b>{survey.drift.n_outside}</b> of 300 rows outside" in page
    for heading in ("Over time", "Columns that explain the rows outside", "Levels of the rows", "How the set grows"):
        assert f"<h2>{heading}</h2>" in page
    assert "The most unusual rows" in pages[True]
    assert "The most unusual rows" not in page
    assert "This page contains no values of single rows" in page
    assert "This page contains values of up to 300 rows of the table" in pages[True]
    assert "100%" in page  # the share of rows outside that a column explains


def test_the_share_over_time_has_the_whole_chart(pages):
    layout = json.loads(pages[False].split('id="figures">')[1].split("</script>")[0])["time"]["layout"]
    assert not layout["yaxis"]["visible"]
    assert layout["yaxis2"]["domain"][1] < layout["yaxis"]["domain"][0]  # overlapping parts hide shapes below lines
    assert "interval. The curve is" in " ".join(pages[False].split())
    assert "interval. Above, the level" in " ".join(pages[True].split())


def test_ranges_are_rounded_to_wider_ones():
    assert _rounded((-1.23456, 2.34567)) == pytest.approx((-1.3, 2.4))
    assert _rounded((1234.5678, 1299.9876)) == pytest.approx((1234.0, 1300.0))
    assert _rounded((0.00123456, 0.00123999)) == pytest.approx((0.0012345, 0.00124))
    assert _rounded((5.0, 5.0)) == (5.0, 5.0)
    assert _rounded((-1.7e308, 1.7e308)) is None
    assert _rounded(None) is None
