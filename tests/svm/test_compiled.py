"""Compiled kernels against the naive float64 versions in reference.py."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reference
from mvset.svm.compiled import (
    INDEX_MASK,
    MAX_BLOCK,
    add_rows,
    exp_minus,
    expansion,
    fill_gram,
    float_max,
    float_min,
    int_max,
    kernel,
    kernel_row_at,
    log_expansion,
    mean_shift,
    scaled_columns,
    solve,
    tagged,
)

# Reductions


@kernel
def tagged_argmax(values):
    best = np.int32(-(2**31))
    for p in range(values.shape[0]):
        best = int_max(best, tagged(values[p], p))
    return best & INDEX_MASK


@kernel
def minimum_and_maximum(values):
    low, high = values[0], values[0]
    for p in range(values.shape[0]):
        low, high = float_min(low, values[p]), float_max(high, values[p])
    return low, high


def test_minimum_and_maximum():
    values = np.random.default_rng(0).normal(size=1001).astype(np.float32)
    assert minimum_and_maximum(values) == (values.min(), values.max())


def test_tagged_argmax_is_within_its_precision():
    rng = np.random.default_rng(0)
    for _ in range(100):
        values = rng.exponential(size=MAX_BLOCK).astype(np.float32)
        assert values[tagged_argmax(values)] >= values.max() * (1 - 2.0**-12)


def test_non_negative_values_win_against_negative_ones():
    values = np.full(100, -5.0, dtype=np.float32)
    values[17] = 0.0
    assert tagged_argmax(values) == 17


# exp(-t)


@kernel
def exp_minus_each(t, out):
    for i in range(t.shape[0]):
        out[i] = exp_minus(t[i])


def compiled_exp(t):
    out = np.empty_like(t)
    exp_minus_each(t, out)
    return out


@pytest.mark.parametrize(
    ("dtype", "last", "tolerance"), [(np.float32, 87.0, 2e-7), (np.float64, 700.0, 1e-15)], ids=["float32", "float64"]
)
def test_exp_relative_accuracy(dtype, last, tolerance):
    t = np.concatenate([np.linspace(0, last, 100_001), np.geomspace(1e-30, last, 1001)]).astype(dtype)
    np.testing.assert_allclose(compiled_exp(t), np.exp(-t.astype(np.float64)), rtol=tolerance)


def test_exp_in_float64_passes_through_the_denormals_to_zero():
    t = np.linspace(700.0, 800.0, 10_001)
    np.testing.assert_allclose(compiled_exp(t), np.exp(-t), rtol=1e-15, atol=1e-323)
    np.testing.assert_array_equal(compiled_exp(np.array([746.0, 1e4, 1e300])), 0.0)


def test_exp_in_float32_underflows_to_zero_and_is_never_clipped():
    np.testing.assert_array_equal(compiled_exp(np.array([87.4, 100.0, 1e30], dtype=np.float32)), 0.0)


def test_exp_is_monotone():
    values = compiled_exp(np.linspace(0, 760, 1_000_001))
    assert (np.diff(values) <= 0).all()


# The Gaussian kernel and its expansions


@pytest.mark.parametrize("d", [1, 2, 7, 30])
@pytest.mark.parametrize("sigma", [0.05, 1.0, 40.0])
def test_gram(d, sigma):
    X = np.random.default_rng(d).normal(size=(131, d))
    gram = np.empty((131, 131), np.float32)
    fill_gram(scaled_columns(X, X.mean(axis=0), sigma, np.float32), 0, 131, gram)
    np.testing.assert_allclose(gram, reference.kernel(X, X, sigma), atol=5e-6)
    np.testing.assert_array_equal(gram, gram.T)
    np.testing.assert_array_equal(np.diag(gram), 1.0)


def test_gram_is_accurate_far_from_the_origin():
    X = np.random.default_rng(0).normal(size=(50, 3)) + 1e6
    gram = np.empty((50, 50), np.float32)
    fill_gram(scaled_columns(X, X.mean(axis=0), 1.0, np.float32), 0, 50, gram)
    differences = X[:, None] - X
    np.testing.assert_allclose(gram, np.exp(-0.5 * (differences**2).sum(axis=-1)), atol=1e-6)


def test_coordinates_whose_square_would_overflow_are_clipped():
    X = np.array([[0.0], [1e30], [-1e30]])
    columns = scaled_columns(X, np.zeros(1), 1e-3, np.float32)
    gram = np.empty((3, 3), np.float32)
    fill_gram(columns, 0, 3, gram)
    np.testing.assert_array_equal(gram, np.eye(3))


def test_kernel_row_of_chosen_columns():
    X = np.random.default_rng(0).normal(size=(60, 4))
    columns = scaled_columns(X, X.mean(axis=0), 1.3, np.float32)
    chosen = np.array([3, 59, 7, 20])
    out = np.empty(4, np.float32)
    kernel_row_at(columns, chosen, 1, out)
    np.testing.assert_allclose(out, reference.kernel(X[chosen], X[chosen], 1.3)[1], atol=1e-6)


@pytest.mark.parametrize("n", [1, 255, 256, 257, 1000])
def test_expansion(n):
    rng = np.random.default_rng(n)
    X, centres, weights = rng.normal(size=(n, 3)), rng.normal(size=(77, 3)), rng.uniform(size=77)
    out = np.empty(n)
    origin = centres.mean(axis=0)
    points = scaled_columns(X, origin, 0.8)
    expansion(points, np.ascontiguousarray(scaled_columns(centres, origin, 0.8).T), weights, out)
    np.testing.assert_allclose(out, reference.expansion(X, centres, weights, 0.8), rtol=1e-12)


@pytest.mark.parametrize("n", [1, 255, 256, 257, 1000])
def test_log_expansion(n):
    """In the last rows no kernel value is a number of float64."""
    rng = np.random.default_rng(n)
    X, centres, weights = rng.normal(size=(n, 3)), rng.normal(size=(77, 3)), rng.uniform(size=77)
    X[n // 2 :] *= 100.0
    out = np.empty(n)
    origin = centres.mean(axis=0)
    points = scaled_columns(X, origin, 0.8)
    log_expansion(points, np.ascontiguousarray(scaled_columns(centres, origin, 0.8).T), weights, out)
    np.testing.assert_allclose(out, reference.log_expansion(X, centres, weights, 0.8), rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("n", [1, 256, 300])
def test_mean_shift(n):
    rng = np.random.default_rng(n)
    X, centres, weights = rng.normal(size=(n, 3)), rng.normal(size=(40, 3)), rng.uniform(size=40)
    out = np.empty((3, n))
    mean_shift(np.ascontiguousarray(X.T), centres, weights, out)
    np.testing.assert_allclose(out.T, reference.mean_shift(X, centres, weights, np.sqrt(0.5)), rtol=1e-10)


def test_mean_shift_where_every_kernel_value_underflows_is_the_nearest_centre():
    centres = np.array([[0.0, 0.0], [10.0, 5.0]])
    out = np.empty((2, 1))
    mean_shift(np.array([[1000.0], [0.0]]), centres, np.ones(2), out)
    np.testing.assert_allclose(out[:, 0], centres[1])


# The solver of the dual

NO_GRAM = np.empty((0, 0), np.float32), np.empty(0, np.bool_)


def make_source(X, sigma, kind):
    columns = scaled_columns(X, X.mean(axis=0), sigma, np.float32)
    if kind == "none":
        return (columns, *NO_GRAM)
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
