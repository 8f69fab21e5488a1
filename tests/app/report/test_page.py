import base64
import json
import re

import numpy as np
import pytest

from mvset import MinimumVolumeSet
from mvset.app.report.page import render_page
from mvset.app.report.write import report_scan
from mvset.estimators.fitted_model import FittedModel
from mvset.plotting.numbers import BandwidthComparison

NAME = "&lt;script&gt;alert(1)&lt;/script&gt;"


@pytest.fixture(scope="module")
def page(fitted, survey):
    return render_page(fitted, survey, title="<b>today</b>", n_dropped=7)


def test_text_from_the_data_is_escaped(page):
    assert "<title>Anomaly report: &lt;b&gt;today&lt;/b&gt;</title>" in page
    assert "<script>alert" not in page
    assert f"{NAME} " in page  # in the explanations
    assert "<b>299</b>" not in page
    assert "&lt;b&gt;299&lt;/b&gt;" in page  # of the columns kept
    assert "&lt;i&gt;id&lt;/i&gt;" in page


def test_the_headline(page, survey):
    text = re.sub(r"<[^>]*>|\s+", " ", page.split('<section class="headline')[1].split("</section>")[0])
    text = re.sub(r" +", " ", text)
    assert "Unusual: chance does not explain these rows" in text
    assert "1 event that chance does not explain" in text
    (event,) = survey.findings.events
    assert f"What to look at first: row {event.peak.row}, and column " in text
    assert 'get the verdict "unusual" about once in 100.' in text
    assert f"{survey.drift.n_outside} of 300 rows outside" in text
    assert "4.80% normally lie outside, 2." in text
    assert "7 rows were left out for missing values" in text


def test_settings(page):
    for text in ("StandardScaler → MinimumVolumeSet", "random_state", "mvset 0.", "scikit-learn", "nu"):
        assert text in page


def test_it_needs_no_network(page):
    assert not re.findall(r'(?:src|href)="(?!data:)', page.split("<script>")[0])
    assert "default-src 'none'" in page


def test_slider_data(page, fitted, survey, rows):
    slider = json.loads(page.split('id="slider-data">')[1].split("</script>")[0])
    prepared = fitted.prepared(rows)
    for mass, stop in zip(slider["masses"], slider["stops"], strict=True):
        assert stop["outside"] == str(np.sum(fitted.estimator.predict(prepared, mass=mass) == -1))
    assert slider["scores"] == fitted.estimator.score_samples(prepared).tolist()


def test_without_javascript_there_is_a_table(page):
    static = "".join(re.findall(r"<noscript>(.*?)</noscript>", page, re.DOTALL))
    assert "need JavaScript" in static
    assert "<th>rows outside</th>" in static
    assert "<td>0.95</td>" in static


def test_texts_depend_on_the_calibration_mode(fitted, survey, rows):
    training = np.random.default_rng(0).normal(size=(500, 3))
    model = FittedModel.of(MinimumVolumeSet(sigma=1.0, calibration="conformal", random_state=0).fit(training))
    conformal = report_scan(model, 0.95)
    X = rows.to_numpy() / [1.0, 10.0, 100.0] + 1.0
    conformal.add(X, conformal.score(X), np.arange(len(X)), lambda selected: [{} for _ in selected])
    text = render_page(model, conformal.result())
    assert "rows reserved for calibration" in text
    assert "below a level of 0.5" not in text
    assert "below a level of 0.5" in render_page(fitted, survey)


def test_error_bars_of_the_bandwidths_are_standard_errors(page, fitted):
    figures = json.loads(page.split('id="figures">')[1].split("</script>")[0])
    compared = BandwidthComparison.of(fitted.estimator.selection_)
    drawn = figures["bandwidths"]["data"][0]["error_y"]["array"]
    np.testing.assert_allclose(_decoded(drawn), compared.errors)
    assert "Error bars are ± one standard error." in page


def _decoded(array):
    """A plotly array: a list, or base64 data."""
    return np.frombuffer(base64.b64decode(array["bdata"]), array["dtype"]) if isinstance(array, dict) else array
