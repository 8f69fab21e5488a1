import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.impute import SimpleImputer
from sklearn.mixture import GaussianMixture
from sklearn.pipeline import make_pipeline

from mvset import CalibratedSet, MinimumVolumeSet, write_report
from mvset.app.report.numbers import report_numbers
from mvset.app.report.write import report_scan
from mvset.estimators.fitted_model import FittedModel
from mvset.paper import PluginKernelDensity
from mvset.paper.datasets import two_moons


@pytest.mark.slow
def test_a_hundred_thousand_rows_make_a_small_file(tmp_path):
    model = MinimumVolumeSet(sigma=0.3, random_state=0).fit(two_moons(500, random_state=0))
    write_report(model, two_moons(100_000, random_state=1), tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert (tmp_path / "report.html").stat().st_size < 8e6
    assert "The panels show a random sample of 1\u2009500 of 100\u2009000 rows" in page


def test_frames_are_checked_by_name(model, rows, tmp_path):
    with pytest.raises(ValueError, match="feature names"):
        write_report(model, rows[rows.columns[::-1]], tmp_path / "other.html")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("mass", [0.0, 1.0, "a"])
def test_an_invalid_mass(model, rows, tmp_path, mass):
    with pytest.raises(ValueError, match="mass must be a number strictly between 0 and 1"):
        write_report(model, rows, tmp_path / "report.html", mass=mass)


def test_missing_values_are_named(model, rows, tmp_path):
    holed = rows.copy()
    holed.iloc[3, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        write_report(model, holed, tmp_path / "report.html")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_the_same_report_twice(model, rows, tmp_path):
    for name in ("a.html", "b.html"):
        write_report(model, rows, tmp_path / name)
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()


def test_steps_that_cannot_be_undone(tmp_path):
    X = two_moons(300, random_state=0)
    model = make_pipeline(SimpleImputer(), MinimumVolumeSet(sigma=0.3, random_state=0)).fit(X)
    write_report(model, two_moons(100, random_state=1), tmp_path / "report.html")
    assert "the normal range nearby" in (tmp_path / "report.html").read_text()


def test_names_with_dollar_signs(tmp_path):
    X = pd.DataFrame(two_moons(300, random_state=0), columns=["$_$", r"cost ($) of \\x ($)"])
    model = MinimumVolumeSet(sigma=0.3, random_state=0).fit(X)
    write_report(model, X, tmp_path / "report.html")
    assert "$_$" in (tmp_path / "report.html").read_text()


def test_another_estimator_is_refused_by_name(tmp_path):
    X = two_moons(200, random_state=0)
    with pytest.raises(TypeError, match=r"A MinimumVolumeSet is needed.*got PluginKernelDensity"):
        write_report(PluginKernelDensity(sigma=0.5).fit(X), X, tmp_path / "report.html")


@pytest.mark.parametrize("d", [1, 2, 12])
def test_the_report_of_another_detector_has_no_bandwidth(tmp_path, d):
    """Its most unusual row is explained by the column that was moved."""
    rng = np.random.default_rng(0)
    X, new = rng.normal(size=(300, d)), rng.normal(size=(80, d))
    new[5, d - 1] += 9.0
    gaussian = CalibratedSet(GaussianMixture(random_state=0), splits=2, random_state=0).fit(X)
    write_report(gaussian, new, tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert "<h2>Selection of the bandwidth</h2>" not in page
    assert "A detector was trained on random parts" in page
    assert "GaussianMixture(random_state=0)" in page
    first = re.search(r'<tr><td data-name="row">(\d+)</td>.*?<span class="why">(x\d+)', page)
    assert first.groups() == ("5", f"x{d - 1}")


@pytest.mark.parametrize("calibration", ["cross", "conformal"])
def test_normal_rows_fill_bars_within_the_band(calibration):
    # Many rows but few calibration rows: the sampling error of the latter dominates.
    model = MinimumVolumeSet(sigma=0.4, calibration=calibration, random_state=0).fit(two_moons(600, random_state=0))
    fitted = FittedModel.of(model)
    survey = report_scan(fitted, 0.95)
    rows = two_moons(50_000, random_state=1)
    survey.add(rows, survey.score(rows), np.arange(len(rows)), lambda selected: [{} for _ in selected])
    numbers = report_numbers(fitted, survey.result())
    low, high = numbers.level_chance
    within = (numbers.level_shares >= low) & (numbers.level_shares <= high)
    assert within[16:].all() if calibration == "cross" else within.sum() >= 17


def test_a_missing_package_is_named(tmp_path):
    """In a process that has imported neither; each is missing alone."""
    code = (
        "import sys\n"
        "from mvset import MinimumVolumeSet, write_report\n"
        "for missing in ('jinja2', 'plotly'):\n"
        "    sys.modules[missing] = None\n"
        "    try:\n        write_report(MinimumVolumeSet(), [[0.0]], 'report.html')\n"
        "    except ImportError as error:\n        print(error)\n"
        "    del sys.modules[missing]\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout == "The report needs more packages: pip install 'mvset[report]'\n" * 2


def test_the_onset_by_dates(tmp_path):
    model = MinimumVolumeSet(sigma=0.3, random_state=0).fit(two_moons(500, random_state=0))
    X = two_moons(400, random_state=1)
    X[300:] += 1.0
    dates = np.datetime64("2026-01-01T00:00") + 60 * np.arange(400)[::-1]  # the newest row comes first
    write_report(model, X[::-1], tmp_path / "report.html", times=dates)
    page = (tmp_path / "report.html").read_text()
    found = re.search(r"unlike the training rows since (\S+ \S+), row (\d+)", page)
    assert abs(np.datetime64(found[1].replace(" ", "T")) - np.datetime64("2026-01-13T12:00")) <= np.timedelta64(
        180, "m"
    )
    assert abs(int(found[2]) - 99) <= 3


@pytest.mark.parametrize(
    ("times", "said"),
    [
        (["soon"] * 300, "times must be dates"),
        ([1.0, 2.0], "one for each of 300 rows; got float64 of shape"),
        ([np.nan] * 300, "times has missing or infinite values"),
        (np.full(300, np.datetime64("NaT"), dtype="datetime64[s]"), "times has missing or infinite values"),
    ],
)
def test_unusable_times(model, rows, tmp_path, times, said):
    with pytest.raises(ValueError, match=said):
        write_report(model, rows, tmp_path / "report.html", times=times)
