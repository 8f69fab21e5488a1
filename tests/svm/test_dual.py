from __future__ import annotations

import numpy as np
import pytest
from sklearn import svm

import mvset.svm.gram
import reference
from mvset.calibration.splits import random_splits
from mvset.parallel import thread_map
from mvset.svm.dual import DualStatus, solve_dual, solve_duals
from mvset.svm.gram import gaussian_gram, lazy_gram


def objective(X, alpha, sigma):
    return 0.5 * alpha @ reference.kernel(X, X, sigma) @ alpha


def libsvm(X, train, sigma, nu):
    model = svm.OneClassSVM(nu=nu, gamma=0.5 / sigma**2).fit(X[train])
    alpha = np.zeros(len(X))
    alpha[train[model.support_]] = model.dual_coef_[0]
    return alpha, model.offset_


@pytest.mark.parametrize("nu", [0.01, 0.05, 0.4, 0.8])
@pytest.mark.parametrize("sigma", [0.01, 0.05, 0.2, 0.6, 1.0, 2.0, 10.0])
def test_objective_is_not_above_libsvm(sigma, nu, table):
    """From a cold start and from a warm one; relative, at LIBSVM's default tolerance."""
    split = random_splits(len(table), 1, 0.2, np.random.RandomState(0))[0]
    theirs, offset = libsvm(table, split.train, sigma, nu)
    wider = solve_dual(gaussian_gram(table, 1.3 * sigma), split.train, nu, 1e-3, -1)
    gram = gaussian_gram(table, sigma)
    for start in (None, wider):
        dual = solve_dual(gram, split.train, nu, 1e-3, -1, start)
        assert dual.status is DualStatus.CONVERGED
        assert objective(table, dual.alpha, sigma) <= (1 + 1e-6) * objective(table, theirs, sigma)
        assert dual.rho == pytest.approx(offset, rel=1e-3, abs=2e-3)
        np.testing.assert_array_equal(dual.alpha[split.held_out], 0.0)


@pytest.mark.parametrize("nu", [0.1, 0.4])
def test_share_of_outliers_and_support_vectors(nu, table):
    """Proposition 1 of the paper: outliers <= nu <= support vectors."""
    dual = solve_dual(gaussian_gram(table, 0.5), np.arange(len(table)), nu, 1e-3, -1)
    assert 1 - dual.training_mass <= nu + 1e-9
    assert np.mean(dual.alpha > 0) >= nu - 1e-9
    assert dual.coefficients.sum() == pytest.approx(1.0)


def test_nu_one_is_kernel_smoothing():
    X = np.random.default_rng(0).normal(size=(40, 2))
    dual = solve_dual(gaussian_gram(X, 0.5), np.arange(40), 1.0, 1e-3, -1)
    np.testing.assert_allclose(dual.coefficients, 1 / 40)
    assert np.isfinite(dual.rho)


def test_gram_or_not_makes_no_difference(monkeypatch):
    X = np.random.default_rng(0).normal(size=(300, 3))
    train = np.arange(0, 300, 2)
    expected = solve_dual(gaussian_gram(X, 0.8), train, 0.4, 1e-3, -1)
    lazy = solve_dual(lazy_gram(X, 0.8), train, 0.4, 1e-3, -1)
    monkeypatch.setattr(mvset.svm.gram, "MAX_GRAM_BYTES", 0)
    without = solve_dual(gaussian_gram(X, 0.8), train, 0.4, 1e-3, -1)
    for other in (lazy, without):
        np.testing.assert_allclose(other.coefficients, expected.coefficients, atol=1e-4)
        assert other.rho == pytest.approx(expected.rho, abs=1e-3)


def test_threads_give_the_same_duals():
    X = np.random.default_rng(0).normal(size=(400, 2))
    splits = random_splits(400, 6, 0.2, np.random.RandomState(0))
    gram = gaussian_gram(X, 0.3)
    settings = {"nu": 0.4, "tol": 1e-3, "max_iter": -1}
    alone = solve_duals(gram, splits, **settings)
    with thread_map(3) as run:
        together = solve_duals(gram, splits, run=run, **settings)
    for a, b in zip(alone, together, strict=True):
        np.testing.assert_array_equal(a.alpha, b.alpha)


def test_status_is_advice():
    X = np.random.default_rng(0).normal(size=(300, 2))
    gram = gaussian_gram(X, 0.3)
    capped = solve_dual(gram, np.arange(300), 0.4, 1e-3, 3)
    assert capped.status is DualStatus.MAX_ITER
    assert "raise it" in capped.status.value
    exhausted = solve_dual(gram, np.arange(300), 0.4, 1e-13, -1)
    assert exhausted.status is DualStatus.PRECISION
    assert 0 < exhausted.gap < 1e-4
