import pickle

import numpy as np
import pytest
from scipy.spatial.distance import pdist

import reference
from mvset.svm.scaling import SCALINGS, Scaling


def correlated(n, d, rho, seed=0):
    """Gaussian rows of different scales, any two columns with the same correlation."""
    rng = np.random.default_rng(seed)
    rows = np.sqrt(rho) * rng.normal(size=(n, 1)) + np.sqrt(1 - rho) * rng.normal(size=(n, d))
    return rows * np.geomspace(1, 1000, d) + 50.0


def fitted(name, X):
    return Scaling.fitted(name, X, X.std(axis=0))


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


def test_few_rows_are_hardly_whitened():
    """Between columns that have nothing in common the correlations of few rows are chance, and mostly shrunk away."""
    X = np.random.default_rng(0).normal(size=(12, 50))
    scaling = fitted("whiten", X)
    assert (scaling.conditional_scales > 0.8 * scaling.scales).all()
    assert (scaling.conditional_scales <= scaling.scales).all()


def test_an_outlier_does_not_set_the_scale():
    X = np.random.default_rng(0).normal(size=(500, 2))
    spoiled = np.vstack([X, [[1e6, 1e6]]])
    assert (fitted("standard", spoiled).scales < 2.0).all()


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
    np.testing.assert_allclose(
        pdist(fitted("whiten", X)(X)), pdist(X, "mahalanobis", VI=reference.precision("whiten", X)), rtol=1e-8
    )


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
