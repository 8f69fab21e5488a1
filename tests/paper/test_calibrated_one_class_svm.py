"""Figs. 2 and 3 of the paper against a loop of scikit-learn's OneClassSVM with a real bisection for every offset."""

import itertools
import subprocess
import sys
import warnings

import numpy as np
import pytest
from sklearn import svm
from sklearn.metrics import auc
from sklearn.utils.estimator_checks import parametrize_with_checks

from mvset import load, save
from mvset.calibration.splits import random_splits
from mvset.exceptions import BandwidthWarning, CalibrationWarning, MvsetWarning
from mvset.paper import CalibratedOneClassSVM
from mvset.paper.datasets import boston, paper_mixture, two_moons
from mvset.volume.box import draw_box_sample

NU, ALPHA, C, N_MASSES, N_POINTS = 0.4, 0.95, 0.04, 10, 4000
BETAS = np.linspace(ALPHA - C, ALPHA + C, N_MASSES)


def bisection(f, beta):
    """The largest offset whose set contains a share beta of the test scores f."""
    low, high = f.min(), f.max() * (1 + 1e-9)
    while (middle := 0.5 * (low + high)) not in (low, high):
        low, high = (middle, high) if np.mean(f >= middle) >= beta - 1e-12 else (low, middle)
    return low


def rho_hat(f, beta):
    """The middle of all offsets that are right: from where the next test row is inside, to where the set lacks one."""
    n_inside = np.ceil(beta * len(f) - 1e-9)
    return np.mean([bisection(f, beta), bisection(f, min(n_inside + 1, len(f)) / len(f))])


class Literal:
    """Fig. 3, as it is printed; Fig. 2 is B = 1."""

    def __init__(self, X, sigmas, B, seed, points):
        rng = np.random.RandomState(seed)
        splits, sample = random_splits(len(X), B, 0.2, rng), draw_box_sample(X, N_POINTS, rng)
        V_c = np.prod(np.ptp(X, axis=0))
        areas, decisions = {}, {}
        for sigma in sigmas:
            F_Z, decisions[sigma] = 0.0, 0.0
            for split in splits:
                f = svm.OneClassSVM(nu=NU, gamma=0.5 / sigma**2, tol=1e-6).fit(X[split.train]).score_samples
                rho = np.array([rho_hat(f(X[split.held_out]), beta) for beta in (*BETAS, ALPHA)])
                F_Z = F_Z + (f(sample.points)[:, np.newaxis] - rho[:-1]) / B
                decisions[sigma] = decisions[sigma] + (f(points) - rho[-1]) / B
            areas[sigma] = auc(BETAS, V_c * np.mean(F_Z >= 0, axis=0))
        self.areas = [areas[sigma] for sigma in sorted(areas)]
        self.sigma = min(areas, key=areas.get)
        self.labels = np.where(decisions[self.sigma] >= 0, 1, -1)


def moons(seed):
    return two_moons(300, noise=0.2, random_state=seed), np.linspace(0.08, 0.6, 7)


def mixture(seed):
    return paper_mixture().sample(300, random_state=seed), np.geomspace(0.4, 4.0, 7)


def housing(seed):
    return boston()[::2], np.linspace(0.2, 2.0, 7)


@pytest.mark.parametrize("table", [moons, mixture, housing])
@pytest.mark.parametrize(("B", "seed"), [(1, 0), (1, 1), (3, 0)])
def test_it_is_the_algorithm_of_the_paper(table, B, seed):
    X, sigmas = table(seed)
    low, high = X.min(axis=0), X.max(axis=0)
    points = np.random.RandomState(9).uniform(low, high, size=(2000, 2))
    literal = Literal(X, sigmas, B, seed, points)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MvsetWarning)
        model = CalibratedOneClassSVM(sigmas=sigmas, n_splits=B, n_volume_points=N_POINTS, random_state=seed).fit(X)
    # Candidates are solved to a tolerance that moves volumes by a thousandth. Sets also differ by single sample points.
    areas, one_point = [curve.area for curve in model.curves_], 2 * C * np.prod(high - low) / N_POINTS
    np.testing.assert_allclose(areas, literal.areas, rtol=2e-3, atol=2 * one_point)
    assert model.sigma_ == literal.sigma
    assert np.sum(model.predict(points) != literal.labels) <= 2


def test_a_single_split_has_the_mass_on_its_test_rows():
    X = two_moons(400, random_state=0)
    model = CalibratedOneClassSVM(sigmas=0.3, n_splits=1, random_state=2).fit(X)
    [split] = random_splits(400, 1, 0.2, np.random.RandomState(2))
    for mass in (0.5, 0.9, 0.95, 0.99):
        assert np.sum(model.predict(X[split.held_out], mass=mass) == 1) == np.ceil(mass * 80)


def test_bandwidths_that_fail_the_condition_on_nu_compete_and_that_is_said():
    X = paper_mixture().sample(100, random_state=0)
    sigmas = np.geomspace(0.2, 4.0, 10)
    with pytest.warns(BandwidthWarning, match=r"nu=0.4 is too small for sigma=0.2: .* at most 0.910") as caught:
        model = CalibratedOneClassSVM(sigmas=sigmas, n_splits=3, random_state=0).fit(X)
    assert caught[0].filename == __file__
    least = min(model.curves_, key=lambda curve: curve.area)
    assert least.training_mass > least.masses[0]
    assert model.sigma_ == least.sigma == 0.2
    with warnings.catch_warnings():
        warnings.simplefilter("error", BandwidthWarning)
        CalibratedOneClassSVM(sigmas=sigmas[4:], n_splits=3, random_state=0).fit(X)


def test_sets_are_nested():
    X = two_moons(300, random_state=0)
    model = CalibratedOneClassSVM(sigmas=[0.2, 0.3], n_splits=4, random_state=0).fit(X)
    points = np.random.default_rng(0).uniform(-2, 3, size=(5000, 2))
    for smaller, larger in itertools.pairwise((0.1, 0.5, 0.9, 0.95, 0.99)):
        assert not ((model.predict(points, smaller) == 1) & (model.predict(points, larger) == -1)).any()
        assert model.volume(smaller).value < model.volume(larger).value


def test_the_score_is_the_mean_over_splits():
    X = two_moons(300, random_state=0)
    model = CalibratedOneClassSVM(sigmas=0.3, n_splits=4, random_state=0).fit(X)
    splits = random_splits(300, 4, 0.2, np.random.RandomState(0))
    each = [svm.OneClassSVM(nu=NU, gamma=0.5 / 0.09, tol=1e-6).fit(X[split.train]) for split in splits]
    expected = np.mean([ocsvm.score_samples(X) for ocsvm in each], axis=0) / (NU * 240)
    np.testing.assert_allclose(model.score_samples(X), expected, rtol=2e-3)


@pytest.mark.parametrize("d", [3, 6])
def test_volumes_in_more_columns_are_true(d):
    """Uniform points would hardly hit the set at d = 6: it takes about a thousandth of the box."""
    true = paper_mixture(d)
    model = CalibratedOneClassSVM(n_splits=5, random_state=0).fit(true.sample(800, random_state=0))
    assert model.volume_.standard_error < 0.05 * model.volume_.value
    points = true.sample(20_000, random_state=1)
    assert np.mean(model.predict(points) == 1) == pytest.approx(0.95, abs=0.025)
    # Of all sets with its mass the true one is the smallest.
    mass = float(np.mean(model.predict(points) == 1))
    assert 0.95 < model.volume_.value / true.volume(mass).value < 1.25


def test_threads_change_nothing():
    X = two_moons(300, random_state=0)
    one, two = (CalibratedOneClassSVM(sigmas=[0.2, 0.3], random_state=0, n_jobs=n).fit(X) for n in (1, 2))
    assert one.sets_ == two.sets_
    assert one.curves_ == two.curves_


def test_it_can_be_saved(tmp_path):
    X = two_moons(200, random_state=0)
    model = CalibratedOneClassSVM(sigmas=[0.2, 0.3], n_splits=2, random_state=0).fit(X)
    save(model, tmp_path / "model.mvset")
    again = load(tmp_path / "model.mvset")
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    assert again.curves_ == model.curves_


def test_too_few_test_rows_for_the_mass():
    with pytest.warns(CalibrationWarning, match="8 held-out rows cannot resolve mass=0.95"):
        CalibratedOneClassSVM(sigmas=0.5, random_state=0).fit(two_moons(40, random_state=0))


@pytest.mark.parametrize("sigmas", [[0.1, -1.0], [], "wide", 0.0])
def test_wrong_bandwidths_are_refused(sigmas):
    with pytest.raises(ValueError, match="sigma"):
        CalibratedOneClassSVM(sigmas=sigmas).fit(two_moons(50, random_state=0))


def test_the_library_does_not_import_the_paper():
    code = "import mvset, sys; mvset.MinimumVolumeSet; print([name for name in sys.modules if 'mvset.paper' in name])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.filterwarnings("ignore::UserWarning")  # about the few rows of the checks
@parametrize_with_checks([CalibratedOneClassSVM(n_splits=2, n_volume_points=500, random_state=0)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)
