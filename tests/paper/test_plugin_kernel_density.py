import itertools

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.neighbors import KernelDensity

from mvset import mass_volume_curve, symmetric_difference
from mvset.paper import PluginKernelDensity
from mvset.paper.datasets import paper_mixture

PAPER_GRID = np.linspace(0.1, 10, 15)
MIXTURE = paper_mixture(2)
X = MIXTURE.sample(500, random_state=0)


@pytest.fixture(scope="module")
def automatic():
    return PluginKernelDensity(random_state=0).fit(X)


def test_scores_are_the_density_up_to_a_constant():
    model = PluginKernelDensity(sigma=0.7, random_state=0).fit(X)
    points = MIXTURE.sample(20, random_state=1)
    expected = [np.mean(multivariate_normal(point, 0.49).pdf(X)) for point in points]
    np.testing.assert_allclose(model.score_samples(points), 2 * np.pi * 0.49 * np.array(expected), rtol=1e-9)
    assert len(model.log_likelihoods_) == 0


@pytest.mark.parametrize("mass", [0.5, 0.95])
def test_the_threshold_is_the_empirical_quantile(mass):
    model = PluginKernelDensity(mass=mass, sigma=0.7, n_volume_points=500, random_state=0).fit(X)
    assert np.mean(model.predict(X) == 1) == mass
    np.testing.assert_array_equal(model.level(X) <= mass, model.predict(X) == 1)


def test_the_bandwidth_is_that_of_a_grid_search():
    rows = paper_mixture(4).sample(300, random_state=0)
    model = PluginKernelDensity(sigma=PAPER_GRID, random_state=3).fit(rows)
    folds = KFold(4, shuffle=True, random_state=np.random.RandomState(3).randint(2**31 - 1))
    search = GridSearchCV(KernelDensity(), {"bandwidth": PAPER_GRID}, cv=folds).fit(rows)
    assert model.sigma_ == search.best_params_["bandwidth"]
    np.testing.assert_allclose(model.log_likelihoods_ * 300 / 4, search.cv_results_["mean_test_score"])


def test_the_automatic_bandwidth_scales_with_the_rows(automatic):
    small, large = automatic, PluginKernelDensity(random_state=0).fit(1000.0 * X)
    assert large.sigma_ == pytest.approx(1000 * small.sigma_)
    assert small.sigmas_[0] < small.sigma_ < small.sigmas_[-1]


def test_sets_are_nested_and_their_volumes_true(automatic):
    model = automatic
    points = np.random.default_rng(0).uniform(-3, 13, size=(5000, 2))
    for smaller, larger in itertools.pairwise((0.1, 0.5, 0.9, 0.95, 0.99)):
        assert not ((model.predict(points, smaller) == 1) & (model.predict(points, larger) == -1)).any()
        assert model.volume(smaller).value < model.volume(larger).value
    by_points = 256 * np.mean(model.predict(np.random.default_rng(1).uniform(-3, 13, size=(100_000, 2))) == 1)
    assert model.volume_.value == pytest.approx(by_points, rel=0.02)


@pytest.mark.slow
def test_it_degrades_with_the_dimension():
    """What the paper shows it for: its set holds its own rows and less and less of new ones."""
    shares = []
    for d in (2, 5, 8):
        mixture = paper_mixture(d)
        rows = mixture.sample(500, random_state=0)
        model = PluginKernelDensity(n_volume_points=500, random_state=0).fit(rows)
        shares.append(np.mean(model.predict(mixture.sample(5000, random_state=1)) == 1))
    assert 0.96 > shares[0] > shares[1] + 0.05 > shares[2] + 0.1


def test_it_joins_the_comparisons(automatic):
    model = automatic
    difference = symmetric_difference(model, lambda rows: MIXTURE.contains(rows, 0.95), X, random_state=0)
    assert 0.02 < difference.value / MIXTURE.volume(0.95).value < 0.25
    curve = mass_volume_curve(model, MIXTURE.sample(2000, random_state=1), masses=[0.9, 0.95], random_state=0)
    truth = [MIXTURE.volume(mass).value for mass in (0.9, 0.95)]
    np.testing.assert_allclose(curve.volumes, truth, rtol=0.15)


def test_scores_of_training_rows_are_no_calibration():
    model = PluginKernelDensity(sigma=0.8, random_state=0).fit(X)
    for method, arguments in (("p_value", (X,)), ("detect", (X,)), ("check_drift", (X,)), ("mass_interval", ())):
        with pytest.raises(ValueError, match=r"keeps no calibration scores.* Use CalibratedSet"):
            getattr(model, method)(*arguments)
    with pytest.raises(ValueError, match="bands of the mass"):
        model.mass_band()
    assert not hasattr(model, "mass_interval_")
    monitor = model.drift_monitor(random_state=0)
    assert not any(monitor.update(MIXTURE.sample(100, random_state=seed)) for seed in range(1, 6))
    assert [monitor.update(MIXTURE.sample(100, random_state=seed) + 1.5) for seed in range(6, 10)][-1]


@pytest.mark.parametrize("n_jobs", [None, pytest.param(2, marks=pytest.mark.slow)])
def test_same_seed_same_set(n_jobs, automatic):
    again = PluginKernelDensity(random_state=0, n_jobs=n_jobs).fit(X)
    assert automatic.sigma_ == again.sigma_
    assert automatic.volume_ == again.volume_


def test_what_limits_it_is_said_here():
    with pytest.warns(UserWarning, match=r"20 rows cannot resolve mass=0.99: .* least 100 are needed") as caught:
        PluginKernelDensity(mass=0.99, sigma=1.0, random_state=0).fit(X[:20])
    assert caught[0].filename == __file__
    with pytest.raises(ValueError, match="sigma must be 'auto', a positive number"):
        PluginKernelDensity(sigma=[1.0, -1.0]).fit(X)
