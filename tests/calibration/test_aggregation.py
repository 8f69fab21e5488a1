from __future__ import annotations

import numpy as np
import pytest

import reference
from mvset.calibration.aggregation import NEGLIGIBLE_SCORE, aggregate, held_out_scores
from mvset.calibration.offsets import offset_at, offsets_by_rank
from mvset.calibration.splits import random_splits
from mvset.svm.dual import solve_duals
from mvset.svm.expansion import kernel_expansion
from mvset.svm.gram import gaussian_gram


def solved(X, sigma, n_splits):
    splits = random_splits(len(X), n_splits, 0.2, np.random.RandomState(0))
    trains = [split.train for split in splits]
    return splits, solve_duals(gaussian_gram(X, sigma), trains, nu=0.4, tol=1e-3, max_iter=-1)


def test_aggregate_is_the_mean_of_the_models(table):
    splits, duals = solved(table, 0.8, 4)
    models = [kernel_expansion(table, dual.coefficients, 0.8) for dual in duals]
    mean = np.mean([model(table) for model in models], axis=0)
    np.testing.assert_allclose(aggregate(table, duals, 0.8)(table), mean, rtol=1e-12)
    offsets = [
        np.mean([reference.offset(m(table[s.held_out]), b) for m, s in zip(models, splits, strict=True)])
        for b in (0.5, 0.9, 0.95)
    ]
    ranked = offsets_by_rank(held_out_scores(table, splits, duals, 0.8)).mean(axis=0)
    np.testing.assert_allclose(offset_at(ranked, [0.5, 0.9, 0.95]), offsets, rtol=1e-11)


def test_hopeless_bandwidth_has_offset_zero_and_holds_the_whole_space():
    X = np.random.default_rng(0).normal(size=(200, 2))
    splits, duals = solved(X, 1e-4, 3)
    for single in (True, False):
        assert (held_out_scores(X, splits, duals, 1e-4, single_precision=single) == 0).all()


def test_scores_are_zero_below_a_share_of_the_border_and_as_computed_above():
    X = np.vstack([np.random.default_rng(0).normal(size=(100, 1)), [[6.0], [20.0]]])
    splits, duals = solved(X, 1.0, 20)
    raw = [kernel_expansion(X, dual.coefficients, 1.0)(X[s.held_out]) for s, dual in zip(splits, duals, strict=True)]
    border = [dual.rho / dual.alpha.sum() for dual in duals]
    kept = np.array([scores > NEGLIGIBLE_SCORE * b for scores, b in zip(raw, border, strict=True)])
    found = held_out_scores(X, splits, duals, 1.0)
    assert not kept.all()
    np.testing.assert_array_equal(found, np.where(kept, raw, 0.0))


@pytest.mark.parametrize("sigma", [0.1, 0.5, 3.0])
def test_float32_ranks_like_float64(sigma, table):
    splits, duals = solved(table, sigma, 3)
    single, double = (aggregate(table, duals, sigma, single_precision=each) for each in (True, False))
    np.testing.assert_allclose(single(table), double(table), rtol=2e-5)
    offsets = [
        offsets_by_rank(held_out_scores(table, splits, duals, sigma, single_precision=each)) for each in (True, False)
    ]
    np.testing.assert_allclose(*offsets, rtol=2e-5, atol=1e-12)
