"""The scaling of MinimumVolumeSet: which one is chosen, and what it must leave alone."""

import warnings

import numpy as np
import pytest

import reference
from mvset import MinimumVolumeSet
from mvset.bandwidth.race import RaceResult
from mvset.calibration.splits import random_splits
from mvset.paper.datasets import paper_mixture, two_moons
from mvset.svm.scaling import SCALINGS


def gaussian(n, d, rho, seed=0):
    rng = np.random.default_rng(seed)
    return np.sqrt(rho) * rng.normal(size=(n, 1)) + np.sqrt(1 - rho) * rng.normal(size=(n, d))


def fitted(X, **parameters):
    with warnings.catch_warnings(action="ignore"):  # advice on the bandwidth
        return MinimumVolumeSet(**{"splits": 5, "random_state": 0, **parameters}).fit(X)


# ---------------------------------------------------------------- which


@pytest.mark.parametrize(("rho", "scaling"), [(0.95, "whiten"), (0.0, "standard")])
@pytest.mark.parametrize("seed", [0, 1])
def test_correlated_columns_are_whitened_and_independent_ones_scaled(rho, scaling, seed):
    X = gaussian(300, 5, rho, seed) * [1.0, 10.0, 100.0, 1000.0, 1e4]
    model = fitted(X, random_state=seed)
    assert model.scaling_ == scaling
    assert model.scaling_comparison_["standard"] == 0.0
    assert min(model.scaling_comparison_, key=model.scaling_comparison_.get) == scaling
    unexplained = np.sqrt(0.05 * (1 + 4 * 0.95) / (1 + 3 * 0.95)) if rho else 1.0  # 0.25; somewhat more, if shrunk
    np.testing.assert_allclose(model.column_scales_, unexplained * X.std(axis=0), rtol=0.3)


def test_bandwidths_that_are_given_are_in_units_of_the_columns_unless_a_scaling_is_given_too():
    X = two_moons(200, random_state=0) * [1.0, 5.0]
    plain, auto = (fitted(X, sigma=0.5, **parameters) for parameters in ({"scaling": None}, {}))
    assert (auto.scaling_, auto.scaling_comparison_, auto.nu_) == (None, {}, 0.4)
    np.testing.assert_array_equal(auto.score_samples(X), plain.score_samples(X))
    np.testing.assert_array_equal(auto.column_scales_, 1.0)
    scaled = fitted(X, sigma=0.5, scaling="standard")
    assert (scaled.scaling_, scaled.sigma_) == ("standard", 0.5)
    np.testing.assert_allclose(scaled.column_scales_, X.std(axis=0), rtol=0.05)


def test_a_scaling_that_is_not_known_is_refused():
    for name in ("cosine", "robust"):
        with pytest.raises(ValueError, match="'scaling' parameter of MinimumVolumeSet must be"):
            MinimumVolumeSet(scaling=name).fit(gaussian(50, 2, 0.0))


# ---------------------------------------------------------------- units, threads, batches


@pytest.mark.parametrize("scaling", SCALINGS)
def test_the_unit_of_a_column_does_not_matter(scaling):
    X, unit = gaussian(250, 3, 0.8), np.array([1.0, 1000.0, 1.0])
    new = gaussian(500, 3, 0.8, seed=1)
    plain, other = fitted(X, scaling=scaling), fitted(X * unit, scaling=scaling)
    assert (other.scaling_, other.nu_) == (plain.scaling_, plain.nu_)
    assert other.sigma_ == pytest.approx(plain.sigma_, rel=1e-9)
    np.testing.assert_allclose(other.column_scales_, unit * plain.column_scales_, rtol=1e-9)
    np.testing.assert_allclose(other.score_samples(new * unit), plain.score_samples(new), rtol=2e-3)
    assert other.offset_ == pytest.approx(plain.offset_, rel=2e-3)
    np.testing.assert_allclose(other.explain(new * unit), plain.explain(new), atol=2e-3)
    error = np.hypot(*(model.volume_.standard_error / model.volume_.value for model in (plain, other)))
    assert other.volume_.log_value - plain.volume_.log_value == pytest.approx(np.log(1000), abs=0.01 + 4 * error)


def test_without_a_scaling_it_does():
    X, new = gaussian(250, 2, 0.8), gaussian(500, 2, 0.8, seed=1)
    plain, other = fitted(X, scaling=None), fitted(X * [1.0, 10.0], scaling=None)
    assert np.abs(other.score_samples(new * [1.0, 10.0]) / plain.score_samples(new) - 1).max() > 0.1


def test_results_do_not_depend_on_n_jobs():
    X, new = gaussian(300, 4, 0.7), gaussian(1000, 4, 0.7, seed=1)
    first, *others = (fitted(X, n_jobs=n_jobs) for n_jobs in (None, 2, 3))
    for model in others:
        assert model.scaling_comparison_ == first.scaling_comparison_
        assert (model.sigma_, model.nu_, model.offset_) == (first.sigma_, first.nu_, first.offset_)
        assert model.sets_ == first.sets_
        np.testing.assert_array_equal(model.score_samples(new), first.score_samples(new))
        np.testing.assert_array_equal(model.explain(new), first.explain(new))


# ---------------------------------------------------------------- training rows only


@pytest.mark.parametrize("scaling", SCALINGS)
def test_each_split_has_the_scaling_of_its_training_rows(scaling):
    X = gaussian(200, 3, 0.8) * [1.0, 10.0, 100.0]
    moved, row = X.copy(), 17
    moved[row] *= -3.0
    before, after = (fitted(rows, scaling=scaling, sigma=1.0).sets_.function.scalings for rows in (X, moved))
    splits = random_splits(200, 5, 0.2, np.random.RandomState(0))
    assert {row in split.held_out for split in splits} == {True, False}
    for split, was, became in zip(splits, before, after, strict=True):
        assert (was == became) == (row in split.held_out)
        map_ = (was.mixing if len(was.mixing) else np.eye(3)) / was.scales[:, np.newaxis]
        np.testing.assert_allclose(map_ @ map_.T, reference.precision(scaling, X[split.train]), rtol=1e-9, atol=1e-12)


def test_the_mass_is_true_where_a_scaling_has_many_parameters():
    """Fitted to the rows that calibrate, too, it would be 0.91."""
    mixing, masses = np.random.default_rng(99).normal(size=(20, 20)), []
    for seed in range(8):
        train, fresh = np.split(np.random.default_rng(seed).normal(size=(4200, 20)) @ mixing, [200])
        model = fitted(train, scaling="whiten", sigma=6.0, splits=10, n_volume_points=200, random_state=seed)
        masses.append(np.mean(model.predict(fresh) == 1))
    error = np.sqrt(0.95 * 0.05 * (1 / 200 + 1 / 4000) / len(masses))
    assert np.mean(masses) == pytest.approx(0.95, abs=3 * error)


# ---------------------------------------------------------------- columns and rows that are hard to scale


@pytest.mark.parametrize("scaling", ["auto", *SCALINGS])
@pytest.mark.parametrize("sigma", ["auto", 0.8])
def test_a_column_in_which_one_row_differs(scaling, sigma):
    """It is constant in the training rows of the splits that hold that row out."""
    X = np.column_stack([gaussian(200, 2, 0.5), np.full(200, 0.1)])
    X[17, 2] = 0.7
    model = fitted(X, scaling=scaling, sigma=sigma)
    scores = model.score_samples(gaussian(300, 3, 0.0, seed=1))
    assert np.isfinite(scores).all()
    new = np.column_stack([gaussian(2000, 2, 0.5, seed=1), np.full(2000, 0.1)])
    assert np.mean(model.predict(new) == 1) == pytest.approx(0.95, abs=0.06)
    if model.scaling_:
        held_out = [17 in split.held_out for split in random_splits(200, 5, 0.2, np.random.RandomState(0))]
        scales = np.array([each.scales[2] for each in model.sets_.function.scalings])
        np.testing.assert_allclose(scales[held_out], X[:, 2].std())
        assert 0 < sum(held_out) < 5


@pytest.mark.filterwarnings("ignore::mvset.exceptions.ConstantColumnWarning")
@pytest.mark.parametrize("scaling", ["auto", *SCALINGS])
def test_a_column_that_never_changes_changes_nothing(scaling):
    X = gaussian(200, 2, 0.3)
    wider = np.insert(X, 1, 0.1, axis=1)
    without, with_it = fitted(X, scaling=scaling), fitted(wider, scaling=scaling)
    assert with_it.scaling_ == without.scaling_
    np.testing.assert_allclose(with_it.score_samples(wider), without.score_samples(X), rtol=1e-3)
    assert with_it.volume_.log_value == pytest.approx(without.volume_.log_value, abs=0.05)
    wider[:, 1] = 0.2
    np.testing.assert_array_equal(with_it.predict(wider), -1)


@pytest.mark.parametrize("scaling", SCALINGS)
def test_extreme_rows_have_score_zero_and_are_explained(scaling):
    X = gaussian(200, 3, 0.9) * [1.0, 1e3, 1e-3]
    model = fitted(X, scaling=scaling, sigma=1.0)
    far = np.array([[1e300, 0.0, 0.0], [0.0, -1e300, 1e300], [1.7e308, 1.7e308, 1.7e308], [-1e200, 0.0, 1.0]])
    np.testing.assert_array_equal(model.score_samples(far), 0.0)
    np.testing.assert_array_equal(model.predict(far), -1)
    np.testing.assert_array_equal(model.level(far), 1.0)
    assert np.isfinite(model.explain(far)).all()
    assert np.abs(model.explain(far[:1])).argmax() == 0


@pytest.mark.parametrize("scaling", SCALINGS)
def test_rows_far_from_zero(scaling):
    X = gaussian(200, 3, 0.8)
    near, far = (fitted(X + shift, scaling=scaling, sigma=1.0) for shift in (0.0, 1e7))
    np.testing.assert_allclose(far.score_samples(X + 1e7), near.score_samples(X), rtol=1e-3)


@pytest.mark.parametrize("calibration", ["cross", "conformal", "pac"])
@pytest.mark.parametrize("scaling", ["standard", "whiten"])
def test_every_calibration(scaling, calibration):
    X, new = gaussian(400, 3, 0.8), gaussian(5000, 3, 0.8, seed=1)
    model = fitted(X, mass=0.9, scaling=scaling, sigma=1.0, calibration=calibration)
    share = np.mean(model.predict(new) == 1)
    assert (0.88 if calibration == "pac" else 0.84) < share < 0.97
    assert all(model.offset(a) >= model.offset(b) for a, b in ((0.5, 0.8), (0.8, 0.9)))


@pytest.mark.parametrize(("name", "n_enough"), [("standard", 1000), ("whiten", 1500)])
def test_one_scaling_serves_all_splits_where_rows_are_many(name, n_enough):
    """500 rows for each parameter: two scales, and a correlation."""
    X = two_moons(n_enough, random_state=0)
    many, fewer = (MinimumVolumeSet(scaling=name, random_state=0).fit(rows) for rows in (X, X[1:]))
    assert len(many.dual_coef_) == 1 < 10 <= len(fewer.dual_coef_)
    fresh = two_moons(5000, random_state=1)
    assert np.mean(many.predict(fresh) == 1) == pytest.approx(np.mean(fewer.predict(fresh) == 1), abs=0.01)


def test_a_single_split_has_a_scaling_of_its_own():
    X = two_moons(300, random_state=0)
    model = MinimumVolumeSet(scaling="whiten", splits=1, random_state=0).fit(X)
    (split,) = random_splits(300, 1, 0.2, np.random.RandomState(0))
    precision = reference.precision("whiten", X[split.train])
    expected = reference.scaled_expansion(X, model.support_vectors_, model.dual_coef_, model.sigma_, [precision])
    np.testing.assert_allclose(model.score_samples(X), expected, rtol=1e-9)
    assert model.scaling_ == "whiten"


@pytest.mark.parametrize(("rows", "expected"), [("mixture", "standard"), ("correlated", "whiten")])
def test_the_winner_of_a_race_on_some_columns_must_win_in_all_of_them(monkeypatch, rows, expected):
    X = paper_mixture(12).sample(400, random_state=0) if rows == "mixture" else gaussian(400, 12, 0.9)
    won = {"standard": RaceResult(0.0, 3.0), "whiten": RaceResult(-1.0, 3.0)}
    monkeypatch.setattr("mvset.bandwidth.shape.race", lambda *_: won)
    assert MinimumVolumeSet(random_state=0).fit(X).scaling_ == expected
