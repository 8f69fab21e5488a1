from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import reference
from mvset.calibration.aggregation import NEGLIGIBLE_SCORE, aggregate, held_out_scores, mean_offsets, split_weights
from mvset.calibration.offsets import offset_at, order_statistics
from mvset.calibration.splits import random_splits
from mvset.svm.dual import Solver, solve_duals, solve_in_metrics
from mvset.svm.expansion import kernel_expansion
from mvset.svm.gram import gaussian_gram
from mvset.svm.metric import Metric


def solved(X, sigma, n_splits):
    splits = random_splits(len(X), n_splits, 0.2, np.random.RandomState(0))
    trains = [split.train for split in splits]
    return splits, solve_duals(gaussian_gram(X, sigma), trains, Solver(0.4, 1e-3, -1))


def test_aggregate_is_the_mean_of_the_models(table):
    splits, duals = solved(table, 0.8, 4)
    models = [kernel_expansion(table, dual.coefficients, 0.8) for dual in duals]
    weights = np.array([0.5, 2.0, 1.0, 0.5])
    mean = np.mean([w * model(table) for w, model in zip(weights, models, strict=True)], axis=0)
    np.testing.assert_allclose(aggregate(table, duals, weights, 0.8)(table), mean, rtol=1e-12)
    for scores, model, split, weight in zip(
        held_out_scores(table, splits, duals, weights, 0.8), models, splits, weights, strict=True
    ):
        np.testing.assert_allclose(scores, weight * model(table[split.held_out]), rtol=1e-12)


@pytest.mark.parametrize("n_metrics", [1, 4])
@pytest.mark.parametrize("name", ["standard", "whiten"])
def test_aggregate_in_one_metric_for_all_splits_or_one_for_each(name, n_metrics, table):
    splits, _ = solved(table, 0.8, 4)
    rows = [split.train for split in splits] if n_metrics == 4 else [np.arange(len(table))]
    metrics = [Metric.fitted(name, table[each], table.std(axis=0)) for each in rows]
    each = metrics if n_metrics == 4 else metrics * 4
    duals = solve_in_metrics(table, [split.train for split in splits], each, 0.8, Solver(0.4, 1e-3, -1), [None] * 4)
    weights = np.array([0.5, 2.0, 1.0, 0.5])
    precisions = [reference.precision(name, table[each]) for each in rows] * (4 // n_metrics)
    expected = [
        reference.metric_expansion(table, table, [weight * dual.coefficients], 0.8, [precision])
        for weight, dual, precision in zip(weights, duals, precisions, strict=True)
    ]
    function = aggregate(table, duals, weights, 0.8, metrics)
    assert len(function.metrics) == n_metrics
    np.testing.assert_allclose(function(table), np.mean(expected, axis=0), rtol=1e-9)
    found = held_out_scores(table, splits, duals, weights, 0.8, metrics)
    single = held_out_scores(table, splits, duals, weights, 0.8, metrics, precision="single")
    for split, scores, other, scores_32 in zip(splits, found, expected, single, strict=True):
        np.testing.assert_allclose(scores, other[split.held_out], rtol=1e-9)
        np.testing.assert_allclose(scores_32, other[split.held_out], rtol=2e-5)


def test_the_offset_of_the_paper_is_the_mean_over_splits(table):
    splits, duals = solved(table, 0.8, 4)
    models = [kernel_expansion(table, dual.coefficients, 0.8) for dual in duals]
    offsets = [
        np.mean([reference.offset(m(table[s.held_out]), b) for m, s in zip(models, splits, strict=True)])
        for b in (0.5, 0.9, 0.95)
    ]
    ranked = mean_offsets(held_out_scores(table, splits, duals, np.ones(4), 0.8))
    np.testing.assert_allclose(offset_at(ranked, [0.5, 0.9, 0.95]), offsets, rtol=1e-11)


def test_splits_of_different_sizes_have_a_mean_offset_at_every_share():
    larger, smaller = np.arange(10.0), np.arange(5.0) * 2 + 0.5
    ranked = mean_offsets([larger, smaller])
    assert len(ranked) == 10
    expected = [(reference.offset(larger, b) + reference.offset(smaller, b)) / 2 for b in (0.2, 0.6, 0.9)]
    np.testing.assert_allclose(offset_at(ranked, [0.2, 0.6, 0.9]), expected)


@pytest.mark.parametrize("sigma", [0.1, 1.0])
def test_weights_bring_the_splits_to_one_height(sigma, table):
    _, duals = solved(table, sigma, 4)
    weights = split_weights(duals)
    assert weights.mean() == pytest.approx(1.0)
    models = [kernel_expansion(table, dual.coefficients, sigma) for dual in duals]
    heights = [np.median(weight * model(table)) for weight, model in zip(weights, models, strict=True)]
    np.testing.assert_allclose(heights, heights[0], rtol=1e-4)
    np.testing.assert_array_equal(split_weights(duals, equal=True), 1.0)


def test_splits_without_height_have_equal_weights():
    _, duals = solved(np.random.default_rng(0).normal(size=(200, 2)), 0.5, 3)
    flat = [replace(duals[0], height=0.0), *duals[1:]]
    np.testing.assert_array_equal(split_weights(flat), 1.0)


def test_scores_of_a_hopeless_bandwidth_are_zero_in_the_rule_of_the_paper():
    X = np.random.default_rng(0).normal(size=(200, 2))
    splits, duals = solved(X, 1e-4, 3)
    for settings in ({"precision": "single"}, {"drop_negligible": True}):
        assert not np.any(held_out_scores(X, splits, duals, np.ones(3), 1e-4, **settings))


def test_scores_are_zero_below_a_share_of_the_border_and_as_computed_above():
    X = np.vstack([np.random.default_rng(0).normal(size=(100, 1)), [[6.0], [20.0]]])
    splits, duals = solved(X, 1.0, 20)
    raw = [kernel_expansion(X, dual.coefficients, 1.0)(X[s.held_out]) for s, dual in zip(splits, duals, strict=True)]
    border = [dual.rho / dual.alpha.sum() for dual in duals]
    kept = np.array([scores > NEGLIGIBLE_SCORE * b for scores, b in zip(raw, border, strict=True)])
    found, dropped = (held_out_scores(X, splits, duals, np.ones(20), 1.0, drop_negligible=d) for d in (False, True))
    assert not kept.all()
    np.testing.assert_array_equal(found, raw)
    np.testing.assert_array_equal(dropped, np.where(kept, raw, 0.0))


@pytest.mark.parametrize("sigma", [0.1, 0.5, 3.0])
def test_float32_ranks_like_float64(sigma, table):
    splits, duals = solved(table, sigma, 3)
    weights = split_weights(duals)
    single, double = (aggregate(table, duals, weights, sigma, precision=each) for each in ("single", "double"))
    np.testing.assert_allclose(single(table), double(table), rtol=2e-5)
    offsets = [
        order_statistics(np.concatenate(held_out_scores(table, splits, duals, weights, sigma, precision=each)))
        for each in ("single", "double")
    ]
    np.testing.assert_allclose(*offsets, rtol=2e-5, atol=1e-12)
