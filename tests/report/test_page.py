from __future__ import annotations

import json
import re

import numpy as np
import pytest

from mvset.report.page import page_about

NAME = "&lt;script&gt;alert(1)&lt;/script&gt;"


@pytest.fixture(scope="module")
def page(fitted, survey):
    return page_about(fitted, survey, title="<b>today</b>", n_dropped=7)


def test_what_comes_from_the_data_is_escaped(page):
    assert "<title>What is normal: &lt;b&gt;today&lt;/b&gt;</title>" in page
    assert "<script>alert" not in page
    assert f"{NAME} " in page  # in the explanations
    assert "<b>299</b>" not in page
    assert "&lt;b&gt;299&lt;/b&gt;" in page  # of the columns kept
    assert "&lt;i&gt;id&lt;/i&gt;" in page


def test_the_headline(page, survey):
    text = re.sub(r"<[^>]*>|\s+", " ", page.split('<section class="headline')[1].split("</section>")[0])
    text = re.sub(r" +", " ", text)
    assert "These rows are not like those of the fit" in text
    assert f"{survey.drift.n_outside} of 300 rows outside" in text
    assert "5.00% expected of normal rows, 2." in text
    assert "7 rows were left out for missing values" in text


def test_what_was_done(page):
    for told in ("StandardScaler → MinimumVolumeSet", "random_state", "mvset 0.", "scikit-learn", "nu"):
        assert told in page


def test_it_needs_no_network(page):
    assert not re.findall(r'(?:src|href)="(?!data:)', page.split("<script>")[0])
    assert "default-src 'none'" in page


def test_what_the_slider_moves(page, fitted, survey, rows):
    moving = json.loads(page.split('id="moving">')[1].split("</script>")[0])
    prepared = fitted.prepared(rows)
    for mass, stop in zip(moving["masses"], moving["stops"], strict=True):
        assert stop["outside"] == str(np.sum(fitted.sets.predict(prepared, mass=mass) == -1))
    assert moving["scores"] == fitted.sets.score_samples(prepared).tolist()


def test_without_javascript_there_are_pictures_and_a_table(page):
    still = "".join(re.findall(r"<noscript>(.*?)</noscript>", page, re.DOTALL))
    assert still.count('src="data:image/png;base64,') == 4
    assert "<th>rows outside</th>" in still
    assert "<td>0.95</td>" in still
