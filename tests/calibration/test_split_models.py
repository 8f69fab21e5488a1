from dataclasses import replace

import numpy as np
import pytest

import reference
from mvset.calibration.offsets import order_statistics
from mvset.calibration.split_models import _NEGLIGIBLE_SCORE, SplitModels, pooled_logs, pooled_scores
from mvset.calibration.splits import Split, random_splits
from mvset.calibration.views import unscaled
from mvset.svm.dual import Solver, solve_duals, solve_in_scalings
from mvset.svm.gram import gaussian_gram
from mvset.svm.scaling import Scaling


def solved(X, sigma, n_splits):
    splits = random_splits(len(X), n_splits, 0.2, np.random.RandomState(0))
    duals = solve_duals(gaussian_gram(X, sigma), [split.train for split in splits], Solver(0.4, 1e-3))
    return splits, SplitModels(X, duals, sigma)


def score_of(models, splits):
    return unscaled([models], splits).score()


def naive_scores(models, rows, precisions):
    """The weighted function of each split at rows."""
    return [
        reference.scaled_expansion(rows, models.X, [weight * dual.coefficients], models.sigma, [precision])
        for weight, dual, precision in zip(models.weights, models.duals, precisions, strict=True)
    ]


def naive_logs(models, rows, precisions):
    return [
        reference.scaled_log_expansion(rows, models.X, [weight * dual.coefficients], models.sigma, [precision])
        for weight, dual, precision in zip(models.weights, models.duals, precisions, strict=True)
    ]


ROUNDING = {"rtol": 1e-9, "atol": 1e-9}


def test_the_score_is_the_log_of_the_weighted_mean_of_the_models(table):
    splits, models = solved(table, 0.8, 4)
    expected = naive_scores(models, table, [np.eye(table.shape[1])] * 4)
    assert np.ptp(models.weights) > 0
    np.testing.assert_allclose(score_of(models, splits)(table), np.log(np.mean(expected, axis=0)), **ROUNDING)
    found = zip(splits, models.held_out_scores(splits), models.held_out_logs(splits), expected, strict=True)
    for split, scores, logs, other in found:
        np.testing.assert_allclose(scores, other[split.held_out], rtol=1e-9)
        np.testing.assert_allclose(logs, np.log(other[split.held_out]), **ROUNDING)


@pytest.mark.parametrize("n_scalings", [1, 4])
@pytest.mark.parametrize("name", ["standard", "whiten"])
def test_one_scaling_for_all_splits_or_one_for_each(name, n_scalings, table):
    splits = random_splits(len(table), 4, 0.2, np.random.RandomState(0))
    trains = [split.train for split in splits]
    rows = trains if n_scalings == 4 else [np.arange(len(table))]
    scalings = [Scaling.fitted(name, table[each], table.std(axis=0)) for each in rows]
    each = scalings if n_scalings == 4 else scalings * 4
    duals = solve_in_scalings(table, trains, each, 0.8, Solver(0.4, 1e-3), [None] * 4)
    models = SplitModels(table, duals, 0.8, scalings)
    expected = naive_scores(models, table, [reference.precision(name, table[i]) for i in rows] * (4 // n_scalings))
    score = score_of(models, splits)
    assert score.views[0].scalings == scalings
    np.testing.assert_allclose(score(table), np.log(np.mean(expected, axis=0)), **ROUNDING)
    single = replace(models, precision="single").held_out_scores(splits)
    for split, scores, scores_32, other in zip(splits, models.held_out_scores(splits), single, expected, strict=True):
        np.testing.assert_allclose(scores, other[split.held_out], rtol=1e-9)
        np.testing.assert_allclose(scores_32, other[split.held_out], rtol=2e-5)
    single = replace(models, precision="single").held_out_logs(splits)
    for split, logs, logs_32, other in zip(splits, models.held_out_logs(splits), single, expected, strict=True):
        np.testing.assert_allclose(logs, np.log(other[split.held_out]), **ROUNDING)
        np.testing.assert_allclose(logs_32, np.log(other[split.held_out]), rtol=0.0, atol=2e-5)


def test_rows_of_a_table_are_scored_by_models_of_some_of_its_rows(moons):
    """The splits of a large table train on few rows, and hold out all others."""
    trained = np.arange(0, 400, 4)
    _, models = solved(moons[trained], 0.3, 2)
    splits = [Split(np.arange(2), np.arange(5, 395)), Split(np.arange(2), np.array([0, 399]))]
    expected = naive_scores(models, moons, [np.eye(2)] * 2)
    scores, logs = models.held_out_scores(splits, map, moons), models.held_out_logs(splits, map, moons)
    for split, some, some_logs, other in zip(splits, scores, logs, expected, strict=True):
        np.testing.assert_allclose(some, other[split.held_out], rtol=1e-9)
        np.testing.assert_allclose(some_logs, np.log(other[split.held_out]), **ROUNDING)


@pytest.mark.parametrize(("precision", "error"), [("double", 1e-9), ("mixed", 1e-5), ("single", 1e-4)])
def test_logs_of_rows_held_out_where_every_kernel_underflows(precision, error):
    """The last rows are outliers: the splits that hold them out know nothing near them.

    The mean of the rows is a hundred bandwidths off: the solver's float32 leaves 1e-5 of a coordinate.
    """
    X = np.vstack([np.random.default_rng(0).normal(size=(100, 2)), [[50.0, 0.0], [1e3, 1e3], [0.0, 1e4]]])
    splits = [Split(np.arange(80), np.arange(80, 103)), Split(np.arange(20, 100), np.append(np.arange(20), 102))]
    duals = solve_duals(gaussian_gram(X, 1.0), [split.train for split in splits], Solver(0.4, 1e-3))
    models = SplitModels(X, duals, 1.0, precision=precision)
    expected = naive_logs(models, X, [np.eye(2)] * 2)
    for split, logs, other in zip(splits, models.held_out_logs(splits), expected, strict=True):
        np.testing.assert_allclose(logs, other[split.held_out], rtol=1e-10, atol=error)
        far = np.isin(split.held_out, [100, 101, 102])
        assert (logs[far] < -700.0).all()
    assert not np.any(models.held_out_scores(splits)[0][-3:])


@pytest.mark.parametrize("sigma", [0.1, 1.0])
def test_weights_bring_the_splits_to_one_height(sigma, table):
    _, models = solved(table, sigma, 4)
    assert models.weights.mean() == pytest.approx(1.0)
    heights = np.median(naive_scores(models, table, [np.eye(table.shape[1])] * 4), axis=1)
    np.testing.assert_allclose(heights, heights[0], rtol=1e-4)


def test_splits_without_height_have_equal_weights(moons):
    _, models = solved(moons, 0.5, 3)
    flat = [replace(models.duals[0], height=0.0), *models.duals[1:]]
    np.testing.assert_array_equal(replace(models, duals=flat).weights, 1.0)


def test_float32_scores_of_a_hopeless_bandwidth_are_zero(moons):
    splits, models = solved(moons, 1e-6, 3)
    assert not np.any(replace(models, precision="single").held_out_scores(splits))


def test_float32_scores_are_zero_below_a_share_of_the_border_and_as_computed_above():
    X = np.vstack([np.random.default_rng(0).normal(size=(100, 1)), [[6.0], [20.0]]])
    splits, models = solved(X, 1.0, 20)
    border = [weight * dual.rho / dual.alpha.sum() for weight, dual in zip(models.weights, models.duals, strict=True)]
    double = np.array(models.held_out_scores(splits))
    kept = double > _NEGLIGIBLE_SCORE * np.array(border)[:, np.newaxis]
    single = np.array(replace(models, precision="single").held_out_scores(splits))
    assert not kept.all()
    assert (double > 0.0).all()
    np.testing.assert_array_equal(single[~kept], 0.0)
    np.testing.assert_allclose(single[kept], double[kept], rtol=2e-5)


@pytest.mark.parametrize("sigma", [0.1, 0.5, 3.0])
def test_float32_ranks_like_float64(sigma, table):
    splits, double = solved(table, sigma, 3)
    single = replace(double, precision="single")
    np.testing.assert_allclose(score_of(single, splits)(table), score_of(double, splits)(table), rtol=0.0, atol=2e-5)
    offsets = [order_statistics(np.concatenate(each.held_out_scores(splits))) for each in (single, double)]
    np.testing.assert_allclose(*offsets, rtol=2e-5, atol=1e-12)


def never(rows):
    raise AssertionError("the averaged score is for rows with many copies")


@pytest.mark.parametrize("seed", range(5))
def test_scores_are_pooled_as_by_hand(seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(3, size=(60, 2)).astype(float)  # many equal rows, some of them ten times and more
    splits = random_splits(60, 5, 0.17, np.random.RandomState(seed))  # some rows are never held out
    models = rng.uniform(0.1, 2.0, size=(5, 3, 3))

    def averaged(rows):
        return models.mean(axis=0)[tuple(rows.astype(int).T)]

    scores = [model[tuple(X[split.held_out].astype(int).T)] for model, split in zip(models, splits, strict=True)]
    rows, row_scores = pooled_scores(X, splits, scores, averaged)
    np.testing.assert_array_equal(rows, sorted({i for split in splits for i in split.held_out}))
    for row, score in zip(rows, row_scores, strict=True):
        unseen = [
            model[tuple(X[row].astype(int))]
            for model, split in zip(models, splits, strict=True)
            if (X[split.held_out] == X[row]).all(axis=1).any()
        ]
        copies = np.sum((X[rows] == X[row]).all(axis=1))
        assert score == pytest.approx(np.mean(unseen) if copies < 10 else averaged(X[[row]])[0])
    logs = pooled_logs(X, splits, [np.log(each) for each in scores], lambda rows: np.log(averaged(rows)))
    np.testing.assert_array_equal(logs[0], rows)
    np.testing.assert_allclose(logs[1], np.log(row_scores), rtol=0.0, atol=1e-14)


def test_logs_are_pooled_where_values_would_be_zero():
    X, split = np.arange(3.0)[:, np.newaxis], Split(np.arange(0), np.arange(3))
    logs = [np.array([-2000.0, -1e9, 0.0]), np.array([-2001.0, -1e290, -1e290])]
    found = pooled_logs(X, [split, split], logs, never)[1]
    expected = [-2000.0 + np.log1p(np.exp(-1.0)) - np.log(2.0), -1e9 - np.log(2.0), -np.log(2.0)]
    np.testing.assert_allclose(found, expected, rtol=1e-15)


def test_equal_rows_have_the_same_score():
    X = np.array([[1.0, 0.0], [2.0, 0.0], [1.0, 0.0], [3.0, 0.0], [-0.0, 0.0], [0.0, 0.0]])
    splits = [Split(np.array([3]), np.array([0, 1, 2, 4])), Split(np.array([3]), np.array([2, 5]))]
    rows, scores = pooled_scores(X, splits, [np.array([1.0, 5.0, 1.0, 0.2]), np.array([3.0, 0.4])], never)
    np.testing.assert_array_equal(rows, [0, 1, 2, 4, 5])
    np.testing.assert_allclose(scores, [2.0, 5.0, 2.0, 0.3, 0.3])


@pytest.mark.parametrize("copies", [9, 10])
def test_a_row_repeated_ten_times_has_the_averaged_score(copies):
    X = np.append(np.zeros(copies), [1.0, 2.0])[:, np.newaxis]
    split = Split(np.arange(0), np.arange(copies + 2))
    scores = np.append(np.full(copies, 0.5), [0.1, 0.2])
    found = pooled_scores(X, [split], [scores], lambda rows: rows[:, 0] + 7.0)[1]
    np.testing.assert_array_equal(found, np.append(np.full(copies, 0.5 if copies < 10 else 7.0), [0.1, 0.2]))
