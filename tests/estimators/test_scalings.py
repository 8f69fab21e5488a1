"""The scaling of MinimumVolumeSet: which one is chosen, and what it must leave alone."""

import warnings

import numpy as np
import pytest

import reference
from mvset import MinimumVolumeSet
from mvset.calibration.splits import random_splits
from mvset.exceptions import VolumeWarning
from mvset.paper.datasets import two_moons

SCALINGS = ("standard", "whiten")


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
    if rho:  # independent columns are not compared
        assert model.scaling_comparison_["standard"] == 0.0 > model.scaling_comparison_["whiten"]
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
    np.testing.assert_allclose(other.score_samples(new * unit), plain.score_samples(new), rtol=0, atol=2e-3)
    assert other.offset_ == pytest.approx(plain.offset_, abs=2e-3)
    np.testing.assert_allclose(other.explain(new * unit), plain.explain(new), atol=2e-3)
    error = np.hypot(*(model.volume_.standard_error / model.volume_.value for model in (plain, other)))
    assert other.volume_.log_value - plain.volume_.log_value == pytest.approx(np.log(1000), abs=0.01 + 4 * error)


def test_without_a_scaling_it_does():
    X, new = gaussian(250, 2, 0.8), gaussian(500, 2, 0.8, seed=1)
    plain, other = fitted(X, scaling=None), fitted(X * [1.0, 10.0], scaling=None)
    assert np.abs(other.score_samples(new * [1.0, 10.0]) - plain.score_samples(new)).max() > 0.1


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
    models = [fitted(rows, scaling=scaling, sigma=1.0) for rows in (X, moved)]
    assert models[0].views_[0].shrinkage == models[1].views_[0].shrinkage == (1e-6 if scaling == "whiten" else 0.0)
    before, after = (model.sets_.function.views[0].scalings for model in models)
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
    if model.scaling_ and model.scaling_ != "both":
        held_out = [17 in split.held_out for split in random_splits(200, 5, 0.2, np.random.RandomState(0))]
        scales = np.array([each.scales[2] for each in model.sets_.function.views[0].scalings])
        np.testing.assert_allclose(scales[held_out], X[:, 2].std())
        assert 0 < sum(held_out) < 5


@pytest.mark.filterwarnings("ignore::mvset.exceptions.ConstantColumnWarning")
@pytest.mark.parametrize("scaling", ["auto", *SCALINGS])
def test_a_column_that_never_changes_changes_nothing(scaling):
    X = gaussian(200, 2, 0.3)
    wider = np.insert(X, 1, 0.1, axis=1)
    without, with_it = fitted(X, scaling=scaling), fitted(wider, scaling=scaling)
    assert with_it.scaling_ == without.scaling_
    np.testing.assert_allclose(with_it.score_samples(wider), without.score_samples(X), rtol=0, atol=5e-3)
    assert with_it.volume_.log_value == pytest.approx(without.volume_.log_value, abs=0.05)
    wider[:, 1] = 0.2
    np.testing.assert_array_equal(with_it.predict(wider), -1)


@pytest.mark.parametrize("scaling", SCALINGS)
def test_extreme_rows_have_the_lowest_scores_and_are_explained(scaling):
    X = gaussian(200, 3, 0.9) * [1.0, 1e3, 1e-3]
    model = fitted(X, scaling=scaling, sigma=1.0)
    far = np.array([[1e300, 0.0, 0.0], [0.0, -1e300, 1e300], [1.7e308, 1.7e308, 1.7e308], [-1e200, 0.0, 1.0]])
    scores = model.score_samples(far)
    assert np.isfinite(scores).all()
    assert scores.max() < -1e190  # rows are moved to 1e100 deviations
    np.testing.assert_array_equal(model.predict(far), -1)
    np.testing.assert_array_equal(model.level(far), 1.0)
    assert np.isfinite(model.explain(far)).all()
    assert np.abs(model.explain(far[:1])).argmax() == 0


@pytest.mark.parametrize("scaling", SCALINGS)
def test_rows_far_from_zero(scaling):
    X = gaussian(200, 3, 0.8)
    near, far = (fitted(X + shift, scaling=scaling, sigma=1.0) for shift in (0.0, 1e7))
    np.testing.assert_allclose(far.score_samples(X + 1e7), near.score_samples(X), rtol=0, atol=1e-3)


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
    np.testing.assert_allclose(model.score_samples(X), np.log(expected), rtol=0, atol=1e-9)
    assert model.scaling_ == "whiten"


# ---------------------------------------------------------------- two views


def test_two_views_are_one_set_the_intersection():
    X, new = gaussian(1000, 3, 0.9), gaussian(4000, 3, 0.9, seed=1)
    model = fitted(X, scaling="both")
    assert (model.scaling_, [view.scaling for view in model.views_]) == ("both", ["standard", "whiten"])
    function, offset = model.sets_.function, model.offset_
    logs = function.by_view(new - 0.0)
    inside = [view.shift + view.slope * each >= offset for view, each in zip(function.views, logs, strict=True)]
    np.testing.assert_array_equal(model.predict(new) == 1, inside[0] & inside[1])
    assert all((~each).any() for each in inside)
    assert np.mean(model.predict(new) == 1) == pytest.approx(0.95, abs=0.03)


@pytest.mark.parametrize("column", [0, 2])
def test_the_view_that_decides_explains(column):
    """Both columns are high, as they are together: the standardised view. Or only one is: the other view."""
    X = gaussian(400, 3, 0.98)
    model = fitted(X, scaling="both", sigma=1.0)
    together, alone = np.full((1, 3), 5.0), np.zeros((1, 3))
    alone[0, column] = 1.0
    deciding = model.sets_.function.deciding(np.vstack([together, alone]))
    np.testing.assert_array_equal(deciding, [0, 1])
    assert np.abs(model.explain(alone)).argmax() == column
    assert (model.predict(np.vstack([together, alone])) == -1).all()


def test_two_views_order_rows_wherever_they_are():
    model = fitted(gaussian(300, 3, 0.9), scaling="both")
    far = 10.0 ** np.arange(1.0, 90.0)[:, np.newaxis] * [1.0, 0.5, -1.0]
    assert (np.diff(model.score_samples(far)) < 0).all()
    assert (model.level(far[1:]) == 1.0).all()


@pytest.mark.parametrize("n_columns", [5, 30])
def test_a_fault_that_one_view_hides_is_found_by_both(n_columns):
    """A broken correlation is far away whitened; a common shift of all columns is far away standardised."""
    X, new = gaussian(500, n_columns, 0.99), gaussian(2000, n_columns, 0.99, seed=1)
    broken, shifted = new.copy(), new + 3.5
    broken[:, 0] = new[::-1, 0]
    found = {
        scaling: [np.mean(fitted(X, scaling=scaling).predict(rows) == -1) for rows in (broken, shifted)]
        for scaling in ("standard", "whiten", "both")
    }
    assert found["both"][0] > found["whiten"][0] - 0.1
    assert found["whiten"][0] > found["standard"][0] + 0.04
    assert found["both"][1] > min(found["standard"][1], found["whiten"][1])


def test_as_many_columns_as_rows_and_more():
    rng = np.random.default_rng(0)
    factors = rng.normal(size=(60, 4)) @ rng.normal(size=(4, 150)) + 0.1 * rng.normal(size=(60, 150))
    repeated = np.hstack([factors[:, :20], factors[:, :20], factors[:, :3].sum(axis=1, keepdims=True)])
    for X in (factors, factors.T, repeated, factors[:3, :5]):
        for scaling in ("auto", "both"):
            model = fitted(X, scaling=scaling)
            assert np.isfinite(model.score_samples(X)).all()
            assert np.isfinite(model.explain(X)).all()


def test_volumes_that_cannot_be_measured_are_not_printed():
    X = np.random.default_rng(0).normal(size=(100, 60))
    with pytest.warns(
        VolumeWarning, match=r"^With 60 columns volumes cannot be measured; the bandwidth was chosen by a"
    ):
        model = MinimumVolumeSet(random_state=0).fit(X)
    assert str(model.volume_) == "not measured"
    assert np.isnan(model.volume_.value)
    assert not model.volume_.is_measured
    assert model.selection_.criterion == "bound"
