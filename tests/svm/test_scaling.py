import pickle

import numpy as np
import pytest
from scipy.spatial.distance import pdist

import reference
from mvset.rows.layout import ColumnLayout
from mvset.svm.scaling import LEAST_SHRINKAGE, Scaling

SCALINGS = ("standard", "whiten")


def correlated(n, d, rho, seed=0):
    """Gaussian rows of different scales, any two columns with the same correlation."""
    rng = np.random.default_rng(seed)
    rows = np.sqrt(rho) * rng.normal(size=(n, 1)) + np.sqrt(1 - rho) * rng.normal(size=(n, d))
    return rows * np.geomspace(1, 1000, d) + 50.0


def fitted(name, X, shrinkage=LEAST_SHRINKAGE):
    return Scaling.fitted(name, X, X.std(axis=0), shrinkage=shrinkage)


@pytest.mark.parametrize("name", SCALINGS)
def test_distances_are_those_of_the_naive_scaling(name, table):
    expected = pdist(table, "mahalanobis", VI=reference.precision(name, table))
    np.testing.assert_allclose(pdist(fitted(name, table)(table)), expected, rtol=1e-9)


@pytest.mark.parametrize("name", SCALINGS)
def test_units_and_origins_of_columns_do_not_matter(name):
    X = correlated(200, 4, 0.8)
    other = X * [1e-3, 1.0, 1e6, 7.0] + [0.0, 5.0, 1e7, -3.0]
    np.testing.assert_allclose(pdist(fitted(name, other)(other)), pdist(fitted(name, X)(X)), rtol=1e-7)


def test_whitened_rows_have_no_correlation_left():
    X = correlated(20_000, 4, 0.9)
    np.testing.assert_allclose(np.cov(fitted("whiten", X)(X).T), np.eye(4), atol=0.05)
    scaled = np.cov(fitted("standard", X)(X).T)
    np.testing.assert_allclose(np.diag(scaled), 1.0, rtol=1e-3)
    assert scaled[0, 1] > 0.88


@pytest.mark.parametrize("shrinkage", [1e-6, 0.03, 0.5, 1.0])
def test_correlations_are_shrunk_as_asked(shrinkage):
    X = correlated(60, 3, 0.9)
    scaling = fitted("whiten", X, shrinkage)
    expected = pdist(X, "mahalanobis", VI=reference.precision("whiten", X, shrinkage))
    np.testing.assert_allclose(pdist(scaling(X)), expected, rtol=1e-9)
    assert (scaling.conditional_scales <= scaling.scales).all()
    assert fitted("standard", X, shrinkage) == fitted("standard", X)


def test_without_correlations_left_whitening_is_standardising():
    X = correlated(60, 3, 0.9)
    np.testing.assert_array_equal(fitted("whiten", X, 1.0).mixing, np.eye(3))
    np.testing.assert_array_equal(fitted("whiten", X, 1.0).conditional_scales, fitted("standard", X).scales)


@pytest.mark.parametrize("name", SCALINGS)
def test_the_log_determinant_is_the_volume_of_a_unit_of_mapped_volume(name):
    X = correlated(100, 4, 0.8)
    scaling = fitted(name, X)
    slopes = scaling(np.eye(4)) - scaling(np.zeros((1, 4)))  # a linear map by what it does to unit vectors
    assert scaling.log_determinant(np.arange(4)) == pytest.approx(-np.linalg.slogdet(slopes)[1], abs=1e-9)


@pytest.mark.parametrize("name", SCALINGS)
def test_columns_that_never_change_and_codes_have_no_volume(name):
    X, codes = correlated(100, 3, 0.8), np.eye(2)[np.arange(100) % 2]
    others = fitted(name, X)
    X = np.column_stack([X[:, :1], np.full(100, 7.0), X[:, 1:], codes])
    scaling = Scaling.fitted(name, X, X.std(axis=0), ColumnLayout(4, (2,)))
    varying = np.array([0, 2, 3])
    assert scaling.log_determinant(varying) == pytest.approx(others.log_determinant(np.arange(3)), abs=1e-9)


def test_an_outlier_does_not_set_the_scale():
    X = np.random.default_rng(0).normal(size=(500, 2))
    spoiled = np.vstack([X, [[1e6, 1e6]]])
    assert (fitted("standard", spoiled).scales < 2.0).all()


@pytest.mark.parametrize("n", [30, 300])
@pytest.mark.parametrize("share", [0.0, 0.04])
def test_few_outliers_of_a_column_do_not_set_its_scale(n, share):
    X = np.random.default_rng(0).normal(size=(n, 2))
    X[: max(1, int(share * n)), 0] = 1e4
    assert fitted("standard", X).scales[0] < 4.0


def test_a_valve_that_is_closed_most_of_the_time_keeps_its_correlations():
    """Its quartiles are next to each other, but its openings are no outliers: the flow follows them."""
    rng = np.random.default_rng(0)
    opening = np.where(rng.uniform(size=2000) < 0.8, 0.0, rng.uniform(0.0, 1.0, 2000)) + 0.001 * rng.normal(size=2000)
    rows = np.column_stack([opening, 5.0 * opening + 0.01 * rng.normal(size=2000)])
    scaling = fitted("whiten", rows)
    np.testing.assert_allclose(scaling.scales, rows.std(axis=0), rtol=1e-9)
    assert scaling.conditional_scales[1] == pytest.approx(np.hypot(0.01, 5 * 0.001), rel=0.1)


def test_units_of_distance_are_the_scales_given_the_other_columns():
    X = correlated(5000, 3, 0.9)
    for name in SCALINGS:
        expected = 1 / np.sqrt(np.diag(reference.precision(name, X)))
        np.testing.assert_allclose(fitted(name, X).conditional_scales, expected, rtol=1e-9)
    others = np.column_stack([np.ones(5000), X[:, 1:]])
    unexplained = X[:, 0] - others @ np.linalg.lstsq(others, X[:, 0], rcond=None)[0]
    assert fitted("whiten", X).conditional_scales[0] == pytest.approx(unexplained.std(), rel=0.02)


@pytest.mark.parametrize("name", SCALINGS)
def test_gradients_of_mapped_columns_become_those_of_the_columns(name):
    X = correlated(100, 3, 0.7)
    scaling, direction = fitted(name, X), np.array([0.3, -2.0, 1.0])
    step = 1e-4 * scaling.scales
    slopes = [(scaling(X[:1] + step * unit) - scaling(X[:1] - step * unit)) @ direction for unit in np.eye(3)]
    np.testing.assert_allclose(scaling.gradient(direction[np.newaxis])[0], np.ravel(slopes) / (2 * step), rtol=1e-6)


@pytest.mark.parametrize("name", SCALINGS)
@pytest.mark.parametrize("d", [2, 7, 40])
def test_no_row_depends_on_the_others(name, d):
    X = correlated(700, d, 0.5)
    scaling = fitted(name, X)
    together = scaling(X)
    for n in (1, 3, 64, 257):
        np.testing.assert_array_equal(scaling(X[:n]), together[:n])
    np.testing.assert_array_equal(scaling(X[::-1])[::-1], together)
    assert scaling(X[:0]).shape == (0, d)


# ---------------------------------------------------------------- columns that are hard to scale


@pytest.mark.parametrize("name", SCALINGS)
@pytest.mark.parametrize("value", [0.0, 0.1, 1e9])
def test_a_column_that_these_rows_do_not_change_has_the_deviation_of_all_rows(name, value):
    X = np.insert(correlated(70, 2, 0.8), 1, value, axis=1)
    scaling = Scaling.fitted(name, X, np.array([9.0, 0.25, 9.0]))
    assert scaling.scales[1] == scaling.conditional_scales[1] == 0.25
    nowhere = Scaling.fitted(name, X, np.zeros(3))
    assert nowhere.scales[1] == 1.0
    assert np.isfinite(nowhere(X)).all()


@pytest.mark.parametrize("name", SCALINGS)
def test_a_column_that_these_rows_do_not_change_leaves_the_others_alone(name):
    X = np.insert(correlated(70, 2, 0.3), 1, 0.1, axis=1)
    others = X[:, [0, 2]]
    np.testing.assert_allclose(pdist(fitted(name, X)(X)), pdist(fitted(name, others)(others)), rtol=1e-9)


def test_columns_that_determine_each_other_are_whitened_all_the_same():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    X = np.column_stack([X, X[:, 0], X @ [1.0, 2.0, 3.0], 1e6 * X[:, 1]])
    scaling = fitted("whiten", X)
    assert np.isfinite(scaling(X)).all()
    assert pdist(scaling(X)).min() > 0
    assert (scaling.conditional_scales > 0).all()


def test_more_columns_than_rows():
    X = correlated(10, 40, 0.5)
    expected = pdist(X, "mahalanobis", VI=reference.precision("whiten", X, 0.1))
    np.testing.assert_allclose(pdist(fitted("whiten", X, 0.1)(X)), expected, rtol=1e-8)
    assert np.isfinite(fitted("whiten", X)(X)).all()


def test_a_single_column_is_only_scaled():
    X = np.random.default_rng(0).normal(size=(50, 1)) * 30
    assert fitted("whiten", X) == fitted("standard", X)


@pytest.mark.parametrize("name", SCALINGS)
def test_extreme_values_are_mapped_to_finite_ones_with_finite_squares(name):
    scaling = fitted(name, 1e-200 * correlated(100, 3, 0.9))
    far = np.array([[1e300, 0.0, 0.0], [-1.7e308, 1.7e308, -1.7e308]])
    with np.errstate(all="raise"):
        mapped = scaling(far)
    assert np.isfinite((mapped**2).sum(axis=1)).all()
    assert (np.abs(mapped).max(axis=1) > 1e90).all()


# ---------------------------------------------------------------- a value


@pytest.mark.parametrize(
    "changes",
    [
        {"scales": np.array([1.0, 0.0])},
        {"scales": np.array([1.0, -1.0])},
        {"scales": np.array([1.0, np.nan])},
        {"scales": np.array([1, 2])},
        {"scales": np.ones((2, 1))},
        {"mixing": np.eye(3)},
        {"mixing": np.ones((1, 2))},
        {"mixing": np.ones((0, 2))},
        {"mixing": np.full((2, 2), np.inf)},
    ],
)
def test_damaged_parts_are_refused_also_when_unpickled(changes):
    good = {"scales": np.ones(2), "mixing": np.eye(2)}
    part = rf"^Scaling\.{next(iter(changes))} must"
    with pytest.raises(ValueError, match=part):
        Scaling(**{**good, **changes})
    with pytest.raises(ValueError, match=part):
        object.__new__(Scaling).__setstate__({**good, **changes})


def test_equal_by_content_and_read_only():
    X = correlated(50, 2, 0.5)
    scaling = fitted("whiten", X)
    assert scaling == pickle.loads(pickle.dumps(scaling)) == fitted("whiten", X)
    assert scaling != fitted("standard", X)
    with pytest.raises(ValueError, match="read-only"):
        scaling.scales[0] = 2.0
