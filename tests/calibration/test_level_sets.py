from __future__ import annotations

import numpy as np
import pytest

import reference
from mvset.calibration.level_sets import KernelExpansion, aggregate, held_out_scores, kernel_expansion
from mvset.calibration.splits import random_splits
from mvset.parallel import thread_map
from mvset.svm.dual import solve_duals
from mvset.svm.gram import gaussian_gram


def solved(X, sigma, n_splits):
    splits = random_splits(len(X), n_splits, 0.2, np.random.RandomState(0))
    return splits, solve_duals(gaussian_gram(X, sigma), splits, nu=0.4, tol=1e-3, max_iter=-1)


def test_expansion_against_float64_reference(table):
    rng = np.random.default_rng(0)
    coefficients = rng.uniform(size=len(table)) * (rng.uniform(size=len(table)) < 0.5)
    function = kernel_expansion(table, coefficients, 0.7)
    np.testing.assert_allclose(function(table), reference.expansion(table, table, coefficients, 0.7), rtol=1e-10)
    assert len(function.centres) == np.count_nonzero(coefficients)


def test_no_row_depends_on_the_others_or_on_threads():
    rng = np.random.default_rng(0)
    function = KernelExpansion(rng.normal(size=(300, 3)), rng.uniform(size=300), 0.6, np.zeros(3))
    X = rng.normal(size=(3000, 3))
    together = function(X)
    with thread_map(3) as run:
        np.testing.assert_array_equal(function(X, run), together)
    np.testing.assert_array_equal(function(X[::-1])[::-1], together)
    np.testing.assert_array_equal([function(row[np.newaxis])[0] for row in X[:50]], together[:50])


def test_far_points_keep_their_order():
    """Below the range of float32 scores still tell near from far."""
    function = KernelExpansion(np.zeros((1, 1)), np.ones(1), 1.0, np.zeros(1))
    scores = function(np.array([[14.0], [20.0], [30.0], [50.0]]))
    assert (np.diff(scores) < 0).all()
    assert scores[-1] == 0.0


def test_aggregate_is_the_mean_of_the_models(table):
    splits, duals = solved(table, 0.8, 4)
    sets = aggregate(table, duals, held_out_scores(table, splits, duals, 0.8), 0.8)
    models = [kernel_expansion(table, dual.coefficients, 0.8) for dual in duals]
    np.testing.assert_allclose(sets.function(table), np.mean([model(table) for model in models], axis=0), rtol=1e-12)
    offsets = [
        np.mean([reference.offset(m(table[s.held_out]), b) for m, s in zip(models, splits, strict=True)])
        for b in (0.5, 0.9, 0.95)
    ]
    np.testing.assert_allclose(sets.offset([0.5, 0.9, 0.95]), offsets, rtol=1e-11)


def test_hopeless_bandwidth_has_offset_zero_and_holds_the_whole_space():
    X = np.random.default_rng(0).normal(size=(200, 2))
    splits, duals = solved(X, 1e-4, 3)
    for dtype in (np.float32, np.float64):
        assert (aggregate(X, duals, held_out_scores(X, splits, duals, 1e-4, dtype), 1e-4, dtype).offsets == 0).all()


@pytest.mark.parametrize("sigma", [0.1, 0.5, 3.0])
def test_float32_ranks_like_float64(sigma, table):
    splits, duals = solved(table, sigma, 3)
    single, double = (
        aggregate(table, duals, held_out_scores(table, splits, duals, sigma, dtype), sigma, dtype)
        for dtype in (np.float32, np.float64)
    )
    np.testing.assert_allclose(single.function(table), double.function(table), rtol=2e-5)
    np.testing.assert_allclose(single.offsets, double.offsets, rtol=2e-5)
