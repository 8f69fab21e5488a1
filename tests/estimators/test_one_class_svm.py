from __future__ import annotations

import numpy as np
import pytest
from sklearn import svm
from sklearn.exceptions import ConvergenceWarning

from mvset import OneClassSVM


@pytest.mark.parametrize("parameters", [{"gamma": "scale"}, {"gamma": "auto"}, {"gamma": 2.0}])
@pytest.mark.parametrize("nu", [0.05, 0.5])
def test_same_meaning_and_scale_as_scikit_learn(parameters, nu, table):
    ours = OneClassSVM(nu=nu, tol=1e-5, **parameters).fit(table)
    theirs = svm.OneClassSVM(nu=nu, tol=1e-5, **parameters).fit(table)
    X = 1.2 * table
    np.testing.assert_allclose(ours.score_samples(X), theirs.score_samples(X), atol=1e-3 * nu * len(table) ** 0.5)
    np.testing.assert_allclose(ours.offset_, theirs.offset_, rtol=2e-3)
    np.testing.assert_array_equal(ours.intercept_, [-ours.offset_])
    assert np.mean(ours.predict(X) == theirs.predict(X)) > 0.99
    assert ours.dual_coef_.shape == (1, len(ours.support_))
    assert ours.dual_coef_.sum() == pytest.approx(nu * len(table), rel=1e-6)
    np.testing.assert_array_equal(ours.support_vectors_, table[ours.support_])
    assert len(ours.support_) == pytest.approx(len(theirs.support_), abs=3)
    np.testing.assert_array_equal(ours.decision_function(X), ours.score_samples(X) - ours.offset_)


def test_sigma_is_gamma():
    X = np.random.default_rng(0).normal(size=(100, 2))
    a, b = OneClassSVM(sigma=0.5).fit(X), OneClassSVM(gamma=2.0).fit(X)
    np.testing.assert_array_equal(a.score_samples(X), b.score_samples(X))
    assert b.sigma_ == 0.5
    with pytest.raises(ValueError, match="not both"):
        OneClassSVM(sigma=0.5, gamma=2.0).fit(X)


def test_constant_data_like_scikit_learn():
    X = np.ones((10, 2))
    assert (OneClassSVM(nu=0.5).fit(X).predict(X) == 1).all()


def test_unconverged_solve_warns_with_the_gap():
    X = np.random.default_rng(0).normal(size=(200, 2))
    with pytest.warns(ConvergenceWarning, match=r"KKT gap up to .* with tol=0.001. max_iter reached: raise it"):
        OneClassSVM(nu=0.4, sigma=0.3, max_iter=2).fit(X)
