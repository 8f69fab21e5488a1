"""Every experiment at a tiny size: its rows, its findings and its figure."""

import numpy as np
import pytest
from matplotlib.figure import Figure
from sklearn import svm

from mvset.paper.datasets import two_moons
from mvset.paper.experiments import areas, dimension, moons, nested, nu, outliers, sigma
from mvset.paper.experiments.methods import ours, true_mixture
from mvset.paper.experiments.reproduce import EXPERIMENTS
from mvset.paper.experiments.rows import Plan, compute_missing
from mvset.paper.experiments.summary import column, distinct, where

TINY = {
    "nu": Plan([{}], 1),
    "sigma": Plan([{}], 1),
    "samples": Plan([{"n": 100}, {"n": 500}], 2),
    "outliers": Plan([{}], 2),
    "dimension": Plan([{"d": 2}, {"d": 5}], 1),
    "moons": Plan([{"noise": 0.2}], 1),
    "boston": Plan([{}], 2),
    "nested": Plan([{}], 1),
}
WITH_NUMBERS = {"samples", "dimension", "moons", "nested"}
LONG = {"boston", "samples", "dimension", "moons", "nested", "sigma"}


@pytest.fixture(scope="module", autouse=True)
def fewer_rows_and_bandwidths():
    """What takes long at the size of the paper: every second bandwidth, and fewer points for nested sets."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(moons, "SIGMAS", moons.SIGMAS[::2])
        patch.setattr(sigma, "SIGMAS", sigma.SIGMAS[::2])
        patch.setattr(outliers, "SIGMAS", outliers.SIGMAS[1::2])
        patch.setattr(nested, "SIGMAS", nested.SIGMAS[::2])
        patch.setattr(nested, "N_POINTS", 2**14)
        yield


@pytest.fixture(scope="module")
def rows_of(tmp_path_factory):
    found = {}

    def rows(name):
        if name not in found:
            path = tmp_path_factory.mktemp(name) / "rows.csv"
            found[name] = compute_missing(EXPERIMENTS[name].study.compute, TINY[name], path, n_jobs=1).rows(TINY[name])
        return found[name]

    return rows


def test_all_are_there():
    assert list(EXPERIMENTS) == ["nu", "sigma", "samples", "outliers", "dimension", "moons", "boston", "nested"]
    assert set(TINY) == set(EXPERIMENTS)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_quick_tasks_are_some_of_the_full_ones(name):
    full, quick = EXPERIMENTS[name].full.tasks(), EXPERIMENTS[name].quick.tasks()
    assert all(task in full for task in quick)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (name in LONG)) for name in EXPERIMENTS]
)
def test_rows_findings_and_figure(name, rows_of):
    rows, experiment = rows_of(name), EXPERIMENTS[name]
    tasks = {tuple(row[key] for key in TINY[name].tasks()[0]) for row in rows}
    assert len(tasks) == len(TINY[name].tasks())
    findings = experiment.study.findings(rows)
    assert any(finding.holds is not None for finding in findings)
    assert all(finding.what and finding.ours for finding in findings)
    assert hasattr(experiment.study, "numbers") == (name in WITH_NUMBERS)
    if name in WITH_NUMBERS:
        assert len({len(line) for line in experiment.study.numbers(rows)}) == 1
    assert isinstance(experiment.study.plot(rows), Figure)


def test_nu_is_the_one_class_svm(rows_of):
    rows = rows_of("nu")
    X, weights = np.column_stack([column(rows, "x"), column(rows, "y")]), column(rows, "weight")
    theirs = svm.OneClassSVM(nu=nu.NU, gamma=0.5 / nu.SIGMA**2).fit(X)
    assert weights.sum() == pytest.approx(nu.NU * len(X), rel=1e-4)
    assert rows[0]["offset"] == pytest.approx(theirs.offset_[0], rel=2e-3)
    assert np.count_nonzero(weights) == pytest.approx(len(theirs.support_), abs=3)


@pytest.mark.slow
def test_sigma_shows_ours_below(rows_of):
    rows = rows_of("sigma")
    best = column(rows, "difference", method="ocsvm").min()
    better = [row["sigma"] for row in where(rows, method="ours") if row["difference"] < best]
    assert min(better) < 0.6
    assert max(better) > 1.1


@pytest.mark.slow
def test_samples_has_every_method_at_every_size(rows_of):
    rows = rows_of("samples")
    for n in (100, 500):
        methods = [row["method"] for row in where(rows, n=n, repetition=0)]
        assert methods == ["ocsvm", "ours B=1", "ours B=3", "shipped"]
    assert column(rows, "difference", n=500).mean() < column(rows, "difference", n=100).mean()


def test_outliers_mislead_the_one_class_svm(rows_of):
    rows = rows_of("outliers")
    assert column(rows, "difference", method="ours").max() < 0.5 * column(rows, "difference", method="ocsvm").min()


@pytest.mark.slow
def test_dimension_has_the_error_of_the_cube(rows_of):
    rows = rows_of("dimension")
    assert distinct(rows, "d") == [2.0, 5.0]
    assert (
        column(rows, "difference", method="plug-in", d=5).min() > column(rows, "difference", method="ours", d=5).max()
    )
    mixture = true_mixture(5)
    X = mixture.sample(dimension.N_ROWS, random_state=0)
    row = where(rows, d=5, repetition=0, method="ours")[0]
    share = row["difference"] * mixture.volume(0.95).value / np.prod(np.ptp(X, axis=0))
    spread = np.random.default_rng(0).binomial(10_000, share, size=20_000).std() / 10_000
    assert row["cube_error"] == pytest.approx(row["difference"] * spread / share, rel=0.03)
    assert row["standard_error"] < 0.5 * row["cube_error"]


@pytest.mark.slow
def test_moons_choice_is_the_least_area(rows_of):
    rows = rows_of("moons")
    least = where(rows, choice=areas.LEAST_AREA)[0]
    assert least["area"] == min(row["area"] for row in where(rows, choice=areas.CURVE))
    assert 0.1 < least["sigma"] < 0.2
    X = two_moons(moons.N_ROWS, noise=0.2, random_state=0)
    model = ours(X, least["sigma"], areas.N_SPLITS, 0)
    assert least["mass_95"] == pytest.approx(np.mean(model.predict(X) == 1), abs=1e-3)


def test_boston_gives_the_known_answers(rows_of):
    rows = rows_of("boston")
    assert set(np.round(column(rows, "sigma", choice=areas.LEAST_AREA), 3)) <= {0.285, 0.423}
    np.testing.assert_allclose(column(rows, "sigma", choice=areas.LIBRARY), 0.42276, atol=1e-5)
    assert np.all(np.abs(column(rows, "mass_90", choice=areas.AT_PAPER) - 0.91) < 0.008)
    assert np.all(np.abs(column(rows, "mass_95", choice=areas.AT_PAPER) - 0.95) < 0.012)
    assert np.all(column(rows, "stray_points", choice=areas.AT_PAPER) == 0)


@pytest.mark.slow
def test_nested_sets_are_ours_alone(rows_of):
    rows = rows_of("nested")
    assert column(rows, "share_outside", method="ours").max() == 0
    assert column(rows, "share_outside", method="ocsvm").max() > 0.03
    assert len(where(rows, method=nested.TUNED)) == 1
