"""One or two views of the rows, in scalings of their own, against a naive computation."""

from dataclasses import replace

import numpy as np
import pytest

import reference
from mvset.bandwidth.bound import log_square_integral
from mvset.calibration.split_models import SplitModels, pooled_logs
from mvset.calibration.splits import Split, random_splits
from mvset.calibration.views import Views, common_scales, unscaled
from mvset.parallel import thread_map
from mvset.rows.encoding import RowEncoding
from mvset.rows.layout import ColumnLayout
from mvset.svm.dual import Solver, solve_in_scalings
from mvset.svm.scaling import Scaling

NAMES = ("standard", "whiten")
SIGMA = 0.8
SCALES = (0.5, 0.9), (2.8, 1.4)  # each decides about some rows


def correlated(n=300, seed=0, rho=0.95):
    rng = np.random.default_rng(seed)
    return rng.multivariate_normal(np.zeros(3), (1 - rho) * np.eye(3) + rho, n) * [1.0, 10.0, 0.1] + 5.0


def splits_of(X, n_splits=4):
    return random_splits(len(X), n_splits, 0.2, np.random.RandomState(0))


def models_of(X, splits, name, sigma=SIGMA):
    """Models of one view, each split in its own scaling; with the integral of their square."""
    trains = [split.train for split in splits]
    scalings = [Scaling.fitted(name, X[train], X.std(axis=0)) for train in trains]
    duals = solve_in_scalings(X, trains, scalings, sigma, Solver(0.4, 1e-3), [None] * len(splits))
    models = SplitModels(X, duals, sigma, scalings)
    scaling, function = unscaled([models], splits).score().parts[0][0]
    varying = np.flatnonzero(np.ptp(X, axis=0))
    return replace(
        models, log_square_integral=log_square_integral(function, scaling, ColumnLayout(X.shape[1]), varying)
    )


def views_of(X, names=NAMES, scales=None):
    splits = splits_of(X)
    models = [models_of(X, splits, name) for name in names]
    return unscaled(models, splits) if scales is None else Views(models, splits, scales)


@pytest.fixture(scope="module")
def rows():
    return correlated()


@pytest.fixture(scope="module")
def views(rows):
    return views_of(rows, scales=SCALES)


def naive_split_logs(models, splits, rows):
    """Logarithms of the weighted function of each split at rows."""
    found = []
    for split, weight, dual in zip(splits, models.weights, models.duals, strict=True):
        precision = reference.precision(NAMES[int(len(models.scalings[0].mixing) > 0)], models.X[split.train])
        weights = [weight * dual.coefficients]
        found.append(reference.scaled_log_expansion(rows, models.X, weights, models.sigma, [precision]))
    return np.array(found)


def log_mean(logs):
    """Over the splits."""
    return np.logaddexp.reduce(logs) - np.log(len(logs))


# ---------------------------------------------------------------- scores

ROUNDING = {"rtol": 1e-9, "atol": 1e-9}


@pytest.mark.parametrize("name", NAMES)
def test_the_score_of_one_view_is_the_plain_log(name, rows):
    views = views_of(rows, [name])
    new = np.vstack([rows, rows + 1e4])
    expected = log_mean(naive_split_logs(views.models[0], views.splits, new))
    assert expected.min() < -1e6
    np.testing.assert_allclose(views.score()(new), expected, **ROUNDING)
    np.testing.assert_array_equal(views.score().by_view(new)[0], views.score()(new))


def test_the_score_of_two_views_is_the_smaller_one_on_their_scales(views, rows):
    new = np.vstack([rows, rows + 1e4])
    first, second = (
        shift + slope * log_mean(naive_split_logs(models, views.splits, new))
        for models, (shift, slope) in zip(views.models, SCALES, strict=True)
    )
    assert 30 < np.sum(first < second) < len(new) - 30
    np.testing.assert_allclose(views.score()(new), np.minimum(first, second), **ROUNDING)


def test_the_views_share_the_centres_of_all(views, rows):
    score = views.score()
    used = np.array([np.any([dual.coefficients for dual in models.duals], axis=0) for models in views.models])
    np.testing.assert_array_equal(score.centres, rows[used.any(axis=0)])
    assert not np.array_equal(*used)
    for view, models in zip(score.views, views.models, strict=True):
        expected = [w * dual.coefficients / 4 for w, dual in zip(models.weights, models.duals, strict=True)]
        np.testing.assert_array_equal(view.weights, np.array(expected)[:, used.any(axis=0)])
        assert view.weights.sum() == pytest.approx(1.0, abs=1e-12)
    np.testing.assert_array_equal(score.origin, rows.mean(axis=0))


def test_the_score_takes_rows_as_they_are_encoded(views):
    encoding = RowEncoding(3)
    assert views.score(encoding).encoding is encoding
    assert views.score() == views.score(encoding)


def test_rows_held_out_are_scored_by_the_models_that_have_not_seen_them(views, rows):
    found = views.held_out(views.score())
    numbers = np.unique(np.concatenate([split.held_out for split in views.splits]))
    np.testing.assert_array_equal(found.rows, numbers)
    logs = [naive_split_logs(models, views.splits, rows) for models in views.models]
    on_scale = [shift + slope * each for each, (shift, slope) in zip(logs, SCALES, strict=True)]
    for scores, split, *both in zip(found.split_scores, views.splits, *on_scale, strict=True):
        np.testing.assert_allclose(scores, np.min(both, axis=0)[split.held_out], **ROUNDING)
    for row, score in zip(found.rows, found.scores, strict=True):
        unseen = [row in split.held_out for split in views.splits]
        by_view = [
            shift + slope * log_mean(each[unseen, row]) for each, (shift, slope) in zip(logs, SCALES, strict=True)
        ]
        assert score == pytest.approx(min(by_view), abs=1e-9)
    with thread_map(2) as run:
        np.testing.assert_array_equal(views.held_out(views.score(), run).scores, found.scores)


def test_rows_held_out_of_one_view_are_pooled_as_they_are(rows):
    views = views_of(rows, ["whiten"])
    found, logs = views.held_out(views.score()), views.models[0].held_out_logs(views.splits)
    numbers, pooled = pooled_logs(rows, views.splits, logs, views.score())
    np.testing.assert_array_equal(found.rows, numbers)
    np.testing.assert_array_equal(found.scores, pooled)
    for scores, expected in zip(found.split_scores, logs, strict=True):
        np.testing.assert_array_equal(scores, expected)


def test_rows_that_many_copies_repeat_have_the_score_of_new_rows(views, rows):
    table = np.vstack([rows[:20], np.repeat(rows[:3], 9, axis=0), np.repeat(rows[3:5], 8, axis=0)])
    split = Split(np.arange(1), np.arange(len(table)))
    found = views.held_out(views.score(), splits=[split] * 4, table=table)
    copies = np.append([10] * 3 + [9] * 2 + [1] * 15, [10] * 27 + [9] * 16)
    expected = views.score()(table)
    np.testing.assert_allclose(found.scores[copies == 10], expected[copies == 10], **ROUNDING)
    # All splits hold all rows out, so that every score is the mean of all models.
    np.testing.assert_allclose(found.scores, expected, **ROUNDING)
    one = views.held_out(views.score(), splits=[split, *[Split(np.arange(1), np.array([19]))] * 3], table=table)
    np.testing.assert_array_equal(one.scores[copies == 10], found.scores[copies == 10])
    assert (one.scores[copies == 9] != found.scores[copies == 9]).all()


# ---------------------------------------------------------------- common scales


def pooled_by_view(views):
    """Logarithms of rows held out, in each view."""
    score, found = unscaled(views.models, views.splits).score(), []
    for number, models in enumerate(views.models):
        logs = models.held_out_logs(views.splits)
        found.append(pooled_logs(models.X, views.splits, logs, lambda X, j=number: score.by_view(X)[j])[1])
    return found


def naive_shares(views, n_columns):
    """Share of alarms of each of two views: the odds are the ratio of the sides of their sets, squared."""
    pooled = pooled_by_view(views)
    first, second = (
        (models.log_square_integral - 2 * np.quantile(each, 0.05)) / n_columns
        for models, each in zip(views.models, pooled, strict=True)
    )
    odds = np.exp(first - second) ** 2
    shares = np.array([0.1 / (1 + odds), 0.1 * odds / (1 + odds)])
    return np.clip(shares, min(0.25, 5 / len(pooled[0])), 0.25)


def on_scales(pooled, scales):
    return [shift + slope * each for each, (shift, slope) in zip(pooled, scales, strict=True)]


def assert_common(views, scales, shares):
    """Both views agree at the median of rows held out, and where each has its share of alarms."""
    first, second = on_scales(pooled_by_view(views), scales)
    assert scales[0] == (pytest.approx(0.0, abs=1e-12), 1.0)
    assert np.median(second) == pytest.approx(np.median(first), abs=1e-9)
    assert np.quantile(second, shares[1]) == pytest.approx(np.quantile(first, shares[0]), abs=1e-9)


@pytest.mark.parametrize("rho", [0.0, 0.5, 0.95])
def test_views_agree_at_the_median_and_where_alarms_begin(rho):
    views = views_of(correlated(rho=rho))
    shares = naive_shares(views, 3)
    assert shares.sum() == pytest.approx(0.1)
    assert_common(views, common_scales(views, ColumnLayout(3)), shares)


def test_the_sides_of_sets_in_one_column():
    X = correlated()[:, :1]
    splits = splits_of(X)
    views = unscaled([models_of(X, splits, "standard", sigma) for sigma in (0.3, 3.0)], splits)
    shares = naive_shares(views, 1)
    assert shares[0] > 0.055
    assert_common(views, common_scales(views, ColumnLayout(1)), shares)


def test_columns_that_never_change_have_no_sides_and_codes_have_one():
    rng = np.random.default_rng(0)
    X = np.column_stack([correlated()[:, :2], np.full(300, 3.0), np.eye(2)[rng.integers(2, size=300)]])
    views = views_of(X)
    first, second = (
        replace(each, log_square_integral=value) for each, value in zip(views.models, (1.0, 0.5), strict=True)
    )
    views = replace(views, models=[first, second])
    assert_common(views, common_scales(views, ColumnLayout(3, (2,))), naive_shares(views, 3))


@pytest.mark.parametrize("rho", [0.95, 0.99])
def test_the_view_with_smaller_sets_has_more_of_the_alarms(rho):
    views = views_of(correlated(600, rho=rho))
    pooled = pooled_by_view(views)
    shares = naive_shares(views, 3)
    assert shares[0] < 0.04 < 0.06 < shares[1]  # columns are correlated: whitened, sets are smaller
    first, second = on_scales(pooled, common_scales(views, ColumnLayout(3)))
    border = np.quantile(first, shares[0])
    alarms = np.array([np.mean(each < border) for each in (first, second)])
    np.testing.assert_allclose(alarms, shares, rtol=0.0, atol=1.5 / len(first))


def test_the_smaller_the_sets_of_a_view_the_more_it_decides(rows):
    """By hand, so that nothing else changes."""
    views, last = views_of(rows), -np.inf
    first, second = views.models
    pooled = pooled_by_view(views)
    for log_volume in (20.0, 3.0, 0.0, -3.0, -20.0):
        changed = replace(second, log_square_integral=first.log_square_integral + log_volume)
        scales = common_scales(replace(views, models=[first, changed]), ColumnLayout(3))
        scores = on_scales(pooled, scales)
        decides = np.mean((scores[1] < scores[0])[np.min(scores, axis=0) < np.quantile(scores[0], 0.05)])
        assert decides >= last
        last = decides
    assert last > 0.5


def test_two_equal_views_stay_as_they_are(rows):
    views = views_of(rows, ["whiten", "whiten"])
    for shift, slope in common_scales(views, ColumnLayout(3)):
        assert shift == pytest.approx(0.0, abs=1e-12)
        assert slope == pytest.approx(1.0, abs=1e-12)


def test_units_of_columns_do_not_matter(rows):
    scales = common_scales(views_of(rows), ColumnLayout(3))
    others = common_scales(views_of(rows * [1e-3, 1e5, 7.0] - [0.0, 1e4, 3.0]), ColumnLayout(3))
    np.testing.assert_allclose(others, scales, rtol=1e-5, atol=1e-6)  # solved in float32


def test_threads_do_not_matter(rows):
    with thread_map(2) as run:
        assert common_scales(views_of(rows), ColumnLayout(3), run) == common_scales(views_of(rows), ColumnLayout(3))


@pytest.mark.parametrize("n_rows", [10, 40])
def test_few_rows_have_five_alarms_each_but_no_more_than_a_quarter(n_rows):
    views = views_of(correlated(n_rows))
    n_held_out = len(pooled_by_view(views)[0])
    shares = naive_shares(views, 3)
    assert shares[0] == min(0.25, 5 / n_held_out)
    assert_common(views, common_scales(views, ColumnLayout(3)), shares)


def usable(views, layout):
    scales = common_scales(views, layout)
    assert all(np.isfinite(scale).all() and scale[1] > 0 for scale in scales)
    scaled = replace(views, scales=scales)
    found = scaled.held_out(scaled.score())
    assert np.isfinite(found.scores).all()
    return scales, found


@pytest.mark.parametrize("copies", [2, 9, 10, 100])
def test_copies_of_rows_break_nothing(copies):
    X = np.repeat(correlated(30), copies, axis=0)
    _, found = usable(views_of(X), ColumnLayout(3))
    values = X[found.rows][:, 0]
    for value in np.unique(values):  # copies have one score
        assert np.ptp(found.scores[values == value]) == 0.0


def test_one_row_repeated_over_and_over_breaks_nothing():
    """Nine tenths of the rows are equal: their scores are those of the median, and where alarms begin."""
    X = np.vstack([np.zeros((180, 3)), correlated(20)])
    scales, _ = usable(views_of(X), ColumnLayout(3))
    assert scales[0] == (0.0, 1.0)


@pytest.mark.parametrize("name", NAMES)
def test_constant_scores_have_no_slope(name):
    """Two values, ten times each and more, are alike in every view: neither view has a reach to compare."""
    X = np.repeat([[0.0, 0.0, 0.0], [1.0, 2.0, 3.0]], 100, axis=0)
    splits = [Split(np.arange(0, 200, 2), np.arange(1, 200, 2)), Split(np.arange(1, 200, 2), np.arange(0, 200, 2))]
    duals = [models_of(X, splits, each, sigma) for each, sigma in ((name, 0.5), (name, 5.0))]
    scales, found = usable(unscaled(duals, splits), ColumnLayout(3))
    assert [slope for _, slope in scales] == [1.0, 1.0]
    assert np.ptp(found.scores) == 0.0


class ConstantModels(SplitModels):
    """Models that score all rows held out alike."""

    def held_out_logs(self, splits, run=map, table=None):
        return [np.full(len(split.held_out), -3.0) for split in splits]


@pytest.mark.parametrize("order", [1, -1])
def test_a_view_of_constant_scores_is_moved_but_not_stretched(order, rows):
    first, second = views_of(rows).models
    models = [first, ConstantModels(rows, second.duals, SIGMA, second.scalings)][::order]
    views = unscaled(models, splits_of(rows))
    expected = [np.median(each) for each in pooled_by_view(views)]
    np.testing.assert_allclose(common_scales(views, ColumnLayout(3)), [(0.0, 1.0), (expected[0] - expected[1], 1.0)])


def test_an_outlier_does_not_move_the_scales():
    """It is one row of three hundred, however far it is."""
    far = [views_of(np.vstack([correlated(), np.full((1, 3), distance)])) for distance in (1e3, 1e4)]
    scales = [usable(views, ColumnLayout(3))[0] for views in far]
    np.testing.assert_allclose(scales[1], scales[0], rtol=2e-3, atol=2e-3)  # solved to 1e-3
