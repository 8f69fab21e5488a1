from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import reference
from mvset import MinimumVolumeSet
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
