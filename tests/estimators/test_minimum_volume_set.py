import warnings
from functools import partial

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GroupKFold, GroupShuffleSplit, KFold, TimeSeriesSplit

import mvset.bandwidth.shape
import mvset.svm.gram
import reference
from mvset import MinimumVolumeSet
from mvset.bandwidth.shape import TOLERANCE
from mvset.calibration.split_models import SplitModels
from mvset.calibration.splits import random_splits
from mvset.exceptions import DependenceWarning
from mvset.paper.datasets import paper_mixture, two_moons
from mvset.svm.dual import Solver, solve_duals
from mvset.svm.gram import gaussian_gram


@pytest.fixture(scope="module", params=[None, "standard", "whiten"])
def fitted(request):
    X = two_moons(400, random_state=0)
    return MinimumVolumeSet(scaling=request.param, splits=12, random_state=0).fit(X), X


# ---------------------------------------------------------------- the method


def test_mass_on_new_rows():
    """Mean over 20 samples of 500 rows: 0.95 within 0.005; the standard error of the mean is 0.0022."""
    mixture = paper_mixture()
    fresh = mixture.sample(20_000, random_state=999)
    masses = [
        np.mean(MinimumVolumeSet(sigma=0.8, random_state=seed).fit(mixture.sample(500, seed)).predict(fresh) == 1)
        for seed in range(20)
    ]
    assert np.mean(masses) == pytest.approx(0.95, abs=0.005)
    assert np.std(masses) < 0.016  # 0.0095 expected


def test_volume_is_close_to_the_truth():
    """Its standard deviation is 3.7 %: dV/dmass = 4 pi / 0.05 times that of the mass, 0.005, and 0.6 of Monte Carlo."""
    mixture = paper_mixture()
    model = MinimumVolumeSet(random_state=0).fit(mixture.sample(2000, random_state=1))
    assert model.volume_.value == pytest.approx(mixture.volume(0.95).value, rel=3 * 0.037)


# ---------------------------------------------------------------- the interface


def test_attributes(fitted):
    model, X = fitted
    splits = random_splits(400, 12, 0.2, np.random.RandomState(0))
    precisions = (
        [reference.precision(model.scaling, X[split.train]) for split in splits] if model.scaling else [np.eye(2)]
    )
    assert model.dual_coef_.shape == (len(precisions), len(model.support_vectors_))
    assert model.dual_coef_.sum() == pytest.approx(1.0)
    assert (model.scaling_, model.scaling_comparison_) == (model.scaling, {})
    units = [1 / np.sqrt(np.diag(precision)) for precision in precisions]
    np.testing.assert_allclose(model.column_scales_, np.mean(units, axis=0))
    assert model.sigma_ in [curve.sigma for curve in model.curves_]
    assert [curve.sigma for curve in model.curves_] == sorted(curve.sigma for curve in model.curves_)
    np.testing.assert_allclose(model.sets_.masses, np.linspace(0.91, 0.99, 10))
    scores = reference.scaled_expansion(X, model.support_vectors_, model.dual_coef_, model.sigma_, precisions)
    np.testing.assert_allclose(model.score_samples(X), np.log(scores), rtol=0, atol=1e-10)
    best = next(curve for curve in model.curves_ if curve.sigma == model.sigma_)
    np.testing.assert_allclose(best.offsets, [model.offset(mass) for mass in model.sets_.masses], rtol=0, atol=0.2)
    np.testing.assert_allclose(best.volumes, [model.volume(mass).value for mass in model.sets_.masses], rtol=0.1)
    assert model.nu_ == model.selection_.nus[model.selection_.sigmas == model.sigma_]
    assert model.n_iter_ >= 1


def test_results_do_not_depend_on_n_jobs():
    X = two_moons(1500, random_state=0)
    expected = MinimumVolumeSet(sigma=[0.1, 0.2, 0.4], splits=3, random_state=0).fit(X)
    for n_jobs in (1, 2, 3):
        model = MinimumVolumeSet(sigma=[0.1, 0.2, 0.4], splits=3, random_state=0, n_jobs=n_jobs).fit(X)
        np.testing.assert_array_equal(model.score_samples(X), expected.score_samples(X))
        np.testing.assert_array_equal([c.area for c in model.curves_], [c.area for c in expected.curves_])
        assert model.offset_ == expected.offset_


@pytest.mark.parametrize("grid", [[0.3, 0.25, 0.2], [6.0, 5.0, 4.0]], ids=["too narrow", "too wide"])
def test_automatic_grid_extends_beyond_its_edge(grid, monkeypatch):
    """The best bandwidth of the mixture is about 0.8: on neither grid, and not on the edge of the extended one."""
    monkeypatch.setattr(mvset.bandwidth.shape, "bandwidth_grid", lambda *_: np.array(grid))
    model = MinimumVolumeSet(scaling=None, nu=0.4, random_state=0).fit(paper_mixture().sample(1000, random_state=0))
    assert 0.4 < model.sigma_ < 2.0
    sigmas = [curve.sigma for curve in model.curves_]
    assert set(grid) < set(sigmas)
    assert sigmas[0] < model.sigma_ < sigmas[-1]


def test_automatic_grid_stops_where_the_condition_on_nu_fails():
    model = MinimumVolumeSet(random_state=0).fit(paper_mixture().sample(500, random_state=0))
    failing = [curve for curve in model.curves_ if curve.training_mass > model.sets_.masses[0]]
    assert len(failing) <= 1
    assert failing == model.curves_[: len(failing)]


def test_verbose_goes_to_stderr(capsys):
    MinimumVolumeSet(sigma=[0.3, 0.5], splits=2, random_state=0, verbose=True).fit(two_moons(200, random_state=0))
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "2 of 2" in captured.err


def test_tied_areas_keep_solution_and_bandwidth_together():
    """With four probe points most areas tie; the set is the one of its own bandwidth."""
    X = two_moons(200, random_state=0)
    sigmas = [0.4, 0.45, 0.5, 0.55]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in range(5):
            model = MinimumVolumeSet(sigma=sigmas, splits=2, n_volume_points=4, random_state=seed).fit(X)
            alone = MinimumVolumeSet(sigma=model.sigma_, splits=2, n_volume_points=4, random_state=seed).fit(X)
            np.testing.assert_allclose(model.score_samples(X), alone.score_samples(X), rtol=1e-3)


def test_without_a_gram_matrix(monkeypatch):
    X = two_moons(400, random_state=0)
    expected = MinimumVolumeSet(sigma=[0.2, 0.4], splits=3, random_state=0).fit(X)
    monkeypatch.setattr(mvset.svm.gram, "MAX_GRAM_BYTES", 0)
    model = MinimumVolumeSet(sigma=[0.2, 0.4], splits=3, random_state=0).fit(X)
    assert model.sigma_ == expected.sigma_
    np.testing.assert_allclose(model.score_samples(X), expected.score_samples(X), rtol=1e-3)


def test_all_bandwidths_are_tried_when_none_meets_the_condition():
    with pytest.warns(UserWarning, match="nu=0.02 is too small"):
        model = MinimumVolumeSet(nu=0.02, splits=2, random_state=0).fit(two_moons(300, random_state=0))
    assert len(model.curves_) >= 12


def test_everything_after_fit_uses_the_mass_that_was_fitted():
    X, new = two_moons(400, random_state=0), two_moons(200, random_state=1)
    model = MinimumVolumeSet(0.9, sigma=0.3, splits=3, random_state=0).fit(X)
    before = model.check_drift(new), model.predict(new), model.offset_, model.volume_, model.mass_interval_
    band = model.mass_band()
    model.set_params(mass=0.5, calibration="pac", nu=0.9)
    after = model.check_drift(new), model.predict(new), model.offset_, model.volume_, model.mass_interval_
    assert before[0] == after[0]
    np.testing.assert_array_equal(before[1], after[1])
    assert before[2:] == after[2:]
    assert model.mass_band() == band


# ---------------------------------------------------------------- rows that are not exchangeable


def series(n, rho, seed):
    rng = np.random.default_rng(seed)
    rows, now = np.empty((n, 2)), rng.normal(size=2)
    for i, noise in enumerate(np.sqrt(1 - rho**2) * rng.normal(size=(n, 2))):
        rows[i] = now = rho * now + noise
    return rows


def test_rows_in_time_order_warn_unless_they_are_said_to_be():
    X = series(800, 0.9, 0)
    with pytest.warns(
        DependenceWarning, match=r"800 calibration rows count for about \d+ .* time_order=True"
    ) as caught:
        unaware = MinimumVolumeSet(sigma=1.0, splits=5, random_state=0).fit(X)
    assert caught[0].filename == __file__
    told = MinimumVolumeSet(sigma=1.0, splits=5, time_order=True, random_state=0).fit(X)
    for model in (unaware, told):
        assert 20 < model.effective_sample_size_ < 400
        assert model.mass_interval_.effective_rows == model.effective_sample_size_
        assert model.mass_interval_.n_rows == 800
    shuffled = MinimumVolumeSet(sigma=1.0, splits=5, random_state=0).fit(np.random.default_rng(0).permutation(X))
    assert shuffled.effective_sample_size_ > 500


@pytest.fixture(scope="module")
def slow_series():
    return [series(2000, 0.95, seed) for seed in range(3)]


def test_blocks_of_a_slow_series_hold_the_mass_of_new_rows(slow_series):
    """Single fits vary by 0.02: two thousand rows count for a hundred."""
    shares = []
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # told of the order, it has nothing to say
        for seed, X in enumerate(slow_series):
            model = MinimumVolumeSet(sigma=1.0, splits=5, time_order=True, random_state=seed).fit(X)
            shares.append(np.mean(model.predict(series(40_000, 0.95, 100 + seed)) == 1))
            assert 20 < model.effective_sample_size_ < 400
            assert model.mass_interval_.low < 0.93
    assert np.mean(shares) == pytest.approx(0.95, abs=0.04)


@pytest.mark.parametrize("calibration", ["cross", "conformal"])
def test_a_slow_series_that_is_split_at_random_warns(slow_series, calibration):
    settings = {"sigma": 1.0, "splits": 3, "calibration": calibration, "random_state": 0}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        MinimumVolumeSet(**settings).fit(slow_series[0])
    assert [each.category for each in caught] == [DependenceWarning]


def test_the_monitor_of_a_slow_series_watches_every_so_manieth_row(slow_series):
    model = MinimumVolumeSet(sigma=1.0, splits=5, time_order=True, random_state=0).fit(slow_series[0])
    step = model.sets_.calibration.decorrelation
    assert step > 10
    new = series(20_000, 0.95, 50)
    monitor = model.drift_monitor(random_state=0)
    assert not any(monitor.update(batch) for batch in np.array_split(new, 137))
    assert monitor.n_rows_ == 20_000
    assert monitor._counts.sum() == np.ceil(20_000 / step)
    assert [monitor.update(batch + 2.5) for batch in np.array_split(series(20_000, 0.95, 51), 10)][-1]


@pytest.mark.parametrize("calibration", ["cross", "conformal"])
def test_groups_stay_on_one_side_and_count_for_less(calibration):
    rng = np.random.default_rng(0)
    machine = np.repeat(np.arange(60), 10)
    X = rng.normal(size=(60, 2))[machine] + 0.2 * rng.normal(size=(600, 2))
    order = rng.permutation(600)
    settings = {"sigma": 0.5, "splits": 5, "calibration": calibration, "random_state": 0}
    without = MinimumVolumeSet(0.9, **settings).fit(X[order])
    labels = np.array([f"machine {m}" for m in machine])[order]
    grouped = MinimumVolumeSet(0.9, **settings).fit(X[order], groups=labels)
    assert grouped.effective_sample_size_ < 0.4 * without.effective_sample_size_
    new_machines = np.repeat(rng.normal(size=(2000, 2)), 3, axis=0) + 0.2 * rng.normal(size=(6000, 2))
    shares = [np.mean(model.predict(new_machines) == 1) for model in (without, grouped)]
    assert shares[0] < shares[1]
    assert shares[1] == pytest.approx(0.9, abs=0.06)


@pytest.mark.parametrize(
    "splitter", [KFold(5), GroupKFold(5), GroupShuffleSplit(4, test_size=0.3), TimeSeriesSplit(4)], ids=str
)
@pytest.mark.parametrize("calibration", ["cross", "conformal"])
def test_any_splitter_of_scikit_learn(splitter, calibration):
    X = two_moons(400, random_state=1)
    groups = np.arange(400) % 20 if "Group" in type(splitter).__name__ else None
    settings = {"sigma": 0.3, "splits": splitter, "calibration": calibration, "random_state": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # advice about few rows
        first, second = (MinimumVolumeSet(0.9, **settings).fit(X, groups=groups) for _ in range(2))
    assert first.offset_ == second.offset_
    assert np.mean(first.predict(two_moons(5000, random_state=2)) == 1) == pytest.approx(0.9, abs=0.08)


def test_the_first_ten_of_the_automatic_splits_choose_the_bandwidth_and_all_calibrate():
    X = two_moons(200, random_state=1)
    model = MinimumVolumeSet(sigma=[0.2, 0.3], scaling="standard", random_state=0).fit(X)
    assert len(model.dual_coef_) == 50
    model = MinimumVolumeSet(sigma=[0.2, 0.3], random_state=0).fit(X)
    splits = random_splits(200, 50, 0.2, np.random.RandomState(0))[:10]
    for curve in model.curves_:
        duals = solve_duals(gaussian_gram(X, curve.sigma), [split.train for split in splits], Solver(0.4, TOLERANCE))
        scores = SplitModels(X, duals, curve.sigma).held_out_scores(splits)
        by_split = [[np.log(reference.offset(each, mass)) for mass in curve.masses] for each in scores]
        np.testing.assert_allclose(curve.offsets, np.median(by_split, axis=0), rtol=0, atol=2e-3)
        assert len(curve.split_log_volumes) == 10
    assert len(model.sets_.calibration.scores) == 200


def test_iterations_and_failures_of_all_splits_count(monkeypatch):
    X = two_moons(200, random_state=1)
    few, all_of_them = (MinimumVolumeSet(sigma=0.3, splits=b, random_state=0).fit(X).n_iter_ for b in (10, "auto"))
    assert all_of_them > 3 * few
    monkeypatch.setattr("mvset.bandwidth.shape.Solver", partial(Solver, max_iter=1))
    with pytest.warns(ConvergenceWarning, match=r"^50 solves did not converge"):
        MinimumVolumeSet(sigma=0.3, random_state=0, nu=0.6).fit(X)


def test_groups_that_do_not_fit_are_refused():
    X = two_moons(50, random_state=0)
    with pytest.raises(ValueError, match="groups has shape"):
        MinimumVolumeSet(sigma=0.5).fit(X, groups=np.zeros(49))
    with pytest.raises(ValueError, match="groups has 1 distinct value"):
        MinimumVolumeSet(sigma=0.5).fit(X, groups=np.zeros(50))
    with pytest.raises(ValueError, match="time_order=True makes its own splits"):
        MinimumVolumeSet(sigma=0.5, time_order=True).fit(X, groups=np.arange(50))


def test_a_mass_in_float32(moons):
    settings = {"sigma": 0.3, "splits": 3, "n_volume_points": 200, "random_state": 0}
    single, double = (MinimumVolumeSet(mass, **settings).fit(moons) for mass in (np.float32(0.75), 0.75))
    assert single.offset_ == double.offset_
