from __future__ import annotations

import numpy as np
import pytest

import reference
from mvset.svm.compiled import expansion, fill_gram, kernel_row_at, scaled_columns


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


def test_chosen_rows_match_the_gram():
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
