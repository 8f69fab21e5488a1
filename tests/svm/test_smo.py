from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reference
from mvset.svm.compiled import MAX_BLOCK, add_rows, fill_gram, scaled_columns, solve

EMPTY = np.empty((0, 0), np.float32), np.empty(0, np.bool_)


def make_source(X, sigma, kind):
    columns = scaled_columns(X, X.mean(axis=0), sigma, np.float32)
    if kind == "none":
        return (columns, *EMPTY)
    gram = np.empty((len(X), len(X)), np.float32)
    if kind == "full":
        fill_gram(columns, 0, len(X), gram)
    return columns, gram, np.full(len(X), kind == "full")


def run(source, nu, upper=None, block=MAX_BLOCK, tol=1e-3, max_iter=10**7):
    n = source[0].shape[1]
    upper = np.ones(n) if upper is None else upper
    alpha = nu * upper
    gradient = np.zeros(n)
    add_rows(source, np.arange(n), alpha, gradient)
    iterations, gap = solve(source, upper, alpha, gradient, np.empty(min(n, block) ** 2, np.float32), tol, max_iter)
    return alpha, gradient, iterations, gap


def kkt_gap(alpha, upper, gradient):
    return gradient[alpha > 0].max() - gradient[alpha < upper].min()


@pytest.mark.parametrize("kind", ["full", "lazy", "none"])
@pytest.mark.parametrize("block", [8, 64, MAX_BLOCK])
@pytest.mark.parametrize("sigma", [0.03, 0.3, 3.0])
def test_optimality_conditions(kind, block, sigma, table):
    X = table[:200]
    alpha, gradient, _, gap = run(make_source(X, sigma, kind), 0.4, block=block)
    exact = reference.kernel(X, X, sigma) @ alpha
    assert gap < 1e-3
    assert ((alpha >= 0) & (alpha <= 1)).all()
    assert alpha.sum() == pytest.approx(0.4 * len(X), rel=1e-6)
    np.testing.assert_allclose(gradient, exact, rtol=1e-6, atol=1e-5)
    assert kkt_gap(alpha, np.ones(len(X)), exact) < 1.1e-3


def test_rows_with_an_empty_box_stay_at_zero():
    X = np.random.default_rng(0).normal(size=(100, 2))
    upper = np.ones(100)
    upper[::5] = 0.0
    alpha, gradient, _, _ = run(make_source(X, 0.5, "full"), 0.3, upper)
    np.testing.assert_array_equal(alpha[::5], 0.0)
    assert kkt_gap(alpha, upper, gradient) < 1e-3


@given(
    n=st.integers(2, 60),
    d=st.integers(1, 4),
    nu=st.floats(0.01, 1.0),
    log_sigma=st.floats(-3, 3),
    copies=st.integers(1, 4),
    seed=st.integers(0, 2**16),
)
@settings(max_examples=60, deadline=None)
def test_any_problem_converges(n, d, nu, log_sigma, copies, seed):
    """Duplicates included: their curvature is zero."""
    X = np.repeat(np.random.default_rng(seed).normal(size=(n, d)), copies, axis=0)
    alpha, _, _, gap = run(make_source(X, np.exp(log_sigma), "full"), nu)
    assert gap < 1e-3
    assert alpha.sum() == pytest.approx(nu * len(X), rel=1e-5)


def test_iteration_limit():
    X = np.random.default_rng(0).normal(size=(300, 2))
    _, _, iterations, gap = run(make_source(X, 0.3, "full"), 0.4, max_iter=5)
    assert iterations == 5
    assert gap > 1e-3


def test_a_tolerance_below_float32_ends():
    X = np.random.default_rng(0).normal(size=(300, 2))
    _, _, _, gap = run(make_source(X, 0.5, "full"), 0.4, tol=1e-14)
    assert 0 < gap < 1e-4


def test_problems_larger_than_any_block():
    """5000 rows: no whole-problem pass, the large block, and more free variables than it holds."""
    X = np.random.default_rng(0).normal(size=(5000, 2))
    alpha, gradient, _, gap = run(make_source(X, 0.03, "full"), 0.4)
    assert gap < 1e-3
    exact = reference.kernel(X, X, 0.03) @ alpha
    np.testing.assert_allclose(gradient, exact, rtol=1e-6, atol=1e-5)
