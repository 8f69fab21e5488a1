from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import reference
from mvset import MinimumVolumeSet
from mvset.calibration.splits import random_splits
from mvset.datasets import paper_mixture


@pytest.fixture(scope="module")
def model():
    return MinimumVolumeSet(sigma=1.2, random_state=0).fit(paper_mixture(4).sample(500, random_state=0))


@pytest.mark.parametrize("feature", range(4))
@pytest.mark.parametrize("sign", [1, -1])
def test_a_row_moved_along_one_feature_is_explained_by_it(model, feature, sign):
    # From the centres of both clusters, by more than their radius and away from the other cluster.
    moved = np.where(sign > 0, 7.5, 2.5) * np.ones((5, 4))
    moved[:, feature] += sign * np.array([4.0, 6.0, 10.0, 100.0, 1e6])
    contributions = model.explain(moved)
    assert (np.abs(contributions).argmax(axis=1) == feature).all()
    assert (np.sign(contributions[:, feature]) == sign).all()
    # The further it is moved the more, one for one in units of the bandwidth; the others stay where they were.
    np.testing.assert_allclose(np.diff(contributions[2:, feature]), sign * np.array([90.0, 1e6 - 100]) / 1.2, rtol=0.01)
    assert (np.abs(np.delete(contributions, feature, axis=1)) < 2.5).all()


def test_many_moved_rows_are_told_apart(model):
    rng = np.random.default_rng(1)
    rows = paper_mixture(4).sample(2000, random_state=1)
    feature = rng.integers(4, size=len(rows))
    rows[np.arange(len(rows)), feature] += np.where(rows.mean(axis=1) > 5, 6.0, -6.0)
    assert np.mean(np.abs(model.explain(rows)).argmax(axis=1) == feature) > 0.99


def test_it_is_minus_sigma_times_the_gradient_of_the_log_score(model):
    rows = paper_mixture(4).sample(20, random_state=2)
    step = 1e-5
    for j in range(4):
        shift = step * np.eye(4)[j]
        slope = np.log(model.score_samples(rows + shift) / model.score_samples(rows - shift)) / (2 * step)
        np.testing.assert_allclose(model.explain(rows)[:, j], -1.2 * slope, atol=1e-6)


def test_it_matches_the_naive_mean_shift(model):
    rows = paper_mixture(4).sample(300, random_state=2)
    expected = reference.mean_shift(rows, model.support_vectors_, model.dual_coef_[0], model.sigma_)
    np.testing.assert_allclose(rows - model.sigma_ * model.explain(rows), expected, rtol=1e-10)


def naive_log_slopes(rows, function, metric):
    """Of the part of one metric, with respect to each column, by differences of a float64 score."""
    part, map_ = function.parts[metric], function.metrics[metric]
    matrix = (map_.mixing if len(map_.mixing) else np.eye(4)) / map_.scales[:, np.newaxis]
    centres, weights = function.centres, function.weights[[metric]]

    def log_scores(rows):
        return np.log(reference.metric_expansion(rows, centres, weights, part.sigma, [matrix @ matrix.T]))

    steps = 1e-5 * map_.scales * np.eye(4)
    return np.column_stack([(log_scores(rows + step) - log_scores(rows - step)) / (2 * step.max()) for step in steps])


@pytest.mark.parametrize("metric", ["standard", "robust", "whiten"])
@pytest.mark.parametrize("n_splits", [1, 3])
def test_in_a_metric_it_is_the_gradient_of_the_log_score_in_units_of_the_columns(metric, n_splits):
    mixing = np.array([[1.0, 0.9, 0.0, 0.0], [0.0, 0.3, 0.0, 0.0], [0.0, 0.0, 100.0, 0.0], [0.5, 0.0, 0.0, 1e-3]])
    X, rows = (paper_mixture(4).sample(n, random_state=n) @ mixing for n in (300, 20))
    model = MinimumVolumeSet(sigma=0.8, metric=metric, splits=n_splits, random_state=0).fit(X)
    function = model.sets_.score
    assert len(function.metrics) == n_splits
    expected = np.mean(
        [
            -0.8 * naive_log_slopes(rows, function, b) / np.sqrt(np.diag(reference.precision(metric, X[split.train])))
            for b, split in enumerate(random_splits(300, n_splits, 0.2, np.random.RandomState(0)))
        ],
        axis=0,
    )
    np.testing.assert_allclose(model.explain(rows), expected, atol=1e-5)


def test_in_a_metric_a_moved_row_is_explained_in_the_units_of_the_column_given_the_others():
    """Whitened, Gaussian and wide: a value that the others let expect to be zero, and that is ten deviations off."""
    X = np.random.default_rng(0).normal(size=(500, 3)) @ [[1.0, 0.9, 0.0], [0.0, 0.3, 0.0], [0.0, 0.0, 100.0]]
    model = MinimumVolumeSet(sigma=8.0, metric="whiten", random_state=0).fit(X)
    row = model.support_vectors_.mean(axis=0) + 10 * model.column_scales_ * np.array([[0.0, 0.0, 1.0]])
    assert np.abs(model.explain(row)).argmax() == 2
    assert model.explain(row)[0, 2] == pytest.approx(10 / 8, rel=0.3)
    expected = row - model.sigma_ * model.column_scales_ * model.explain(row)
    assert abs(expected[0, 2] - X[:, 2].mean()) < 3 * X[:, 2].std()
    off_the_line = X.mean(axis=0) + 10 * model.column_scales_ * np.array([[1.0, 0.0, 0.0]])
    contributions = model.explain(off_the_line)[0]
    assert contributions[0] > 0.5 > abs(contributions[2])
    assert contributions[1] < -0.5


def test_rows_are_explained_one_by_one_whatever_the_threads(model):
    rows = paper_mixture(4).sample(3000, random_state=3)
    whole = model.explain(rows)
    np.testing.assert_array_equal(np.vstack([model.explain(rows[:7]), model.explain(rows[7:])]), whole)
    np.testing.assert_array_equal(model.set_params(n_jobs=2).explain(rows), whole)


def test_rows_far_away_and_far_from_the_origin():
    X = np.random.default_rng(0).normal(size=(300, 2)) + 1e6
    model = MinimumVolumeSet(sigma=1.0, random_state=0).fit(X)
    assert np.isfinite(model.explain([[1e200, -1e200], [1e6, 1e6 + 50]])).all()
    assert abs(model.explain([[1e6, 1e6 + 50]])[0, 0]) < 3 < 45 < model.explain([[1e6, 1e6 + 50]])[0, 1]


def test_unfitted():
    with pytest.raises(NotFittedError):
        MinimumVolumeSet().explain([[0.0]])
