from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import spearmanr

from mvset.bandwidth.candidates import SearchTask
from mvset.bandwidth.curves import mass_grid
from mvset.bandwidth.shape import ShapeOptions, _distinguished, _scalings, best_shape
from mvset.bandwidth.shrinkage import least_shrinkage
from mvset.calibration.plan import CalibrationPlan, TableRows
from mvset.calibration.views import common_scales
from mvset.paper.datasets import two_moons
from mvset.parallel import thread_map
from mvset.rows.encoding import RowEncoding
from mvset.rows.layout import ColumnLayout
from mvset.svm.dual import Solver
from mvset.volume.measure import measure
from mvset.volume.sampler import effective_sample_size

X = two_moons(300, random_state=0) * [1.0, 100.0]
OPTIONS = ShapeOptions("auto", "auto", "auto", mass_grid(0.9), 1000)


def shape(options=OPTIONS, splits=4, rows=X, layout=None, time_order=False, run=map):
    rng = np.random.RandomState(0)
    table = TableRows(RowEncoding(rows.shape[1]), rows, rows, rows.min(axis=0), rows.max(axis=0))
    division = CalibrationPlan(0.9, "cross", 0.95, splits, None, time_order).divided(table, rng)
    return division, best_shape(division, layout or ColumnLayout(rows.shape[1]), options, rng, run)


def scalings_of(found):
    return [search.scaling for search in found.searches]


def normal(n, d, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def correlated(n, d, noise=0.1, seed=0):
    """Rows near a line: of all columns but one whitening makes the sets narrower by a factor of about the noise."""
    return normal(n, 1, seed + 100) + noise * normal(n, d, seed)


@pytest.mark.parametrize(
    ("nu", "sigma", "expected"),
    [
        ("auto", "auto", (0.4, 0.7, 0.9, 1.0)),
        ("auto", [0.3, 0.5], (0.4,)),
        (0.2, "auto", (0.2,)),
        (0.2, 0.3, (0.2,)),
    ],
)
def test_larger_nus_are_tried_for_automatic_bandwidths(nu, sigma, expected):
    assert replace(OPTIONS, nu=nu, sigma=sigma).nus == expected


def test_bandwidths_that_are_given_are_in_the_units_of_the_columns():
    division, found = shape(replace(OPTIONS, sigma=[3.0, 10.0]))
    (search,), (models,) = found.searches, found.views.models
    assert [candidate.sigma for candidate in search.candidates] == [3.0, 10.0]
    assert search.scaling is None
    assert models.scalings == []
    assert found.scaling_comparison == {}
    assert len(models.duals) == len(division.splits) == 4


def test_the_first_splits_choose_the_bandwidth_and_all_have_models():
    division, found = shape(splits="auto")
    assert len(division.splits) == 50
    for search, models in zip(found.searches, found.views.models, strict=True):
        assert len(search.splits) == 10
        assert len(models.duals) == 50
        for split, dual in zip(division.splits, models.duals, strict=True):
            np.testing.assert_array_equal(dual.alpha[split.held_out], 0.0)
            assert dual.alpha.sum(dtype=np.float64) == pytest.approx(search.best.nu * len(split.train), rel=1e-5)


# ---------------------------------------------------------------- which scalings are searched


def searched_scalings(rows, scaling="auto", sigma="auto", n_categories=0):
    layout = ColumnLayout(rows.shape[1] - n_categories, (n_categories,) if n_categories else ())
    task = SearchTask(rows, layout, [], OPTIONS.masses, Solver(0.4, 1e-3), 1000, np.random.RandomState(0))
    return _scalings(replace(OPTIONS, scaling=scaling, sigma=sigma), task)


@pytest.mark.parametrize("scaling", ["standard", "whiten", None])
def test_a_scaling_that_is_given_is_the_only_one(scaling):
    assert searched_scalings(X, scaling) == searched_scalings(X, scaling, [1.0, 2.0]) == [scaling]
    _, found = shape(replace(OPTIONS, scaling=scaling))
    assert scalings_of(found) == [scaling]
    assert found.scaling_comparison == {}
    assert found.views.scales == [(0.0, 1.0)]
    assert len(found.views.models[0].scalings) == (0 if scaling is None else 4)


@pytest.mark.parametrize("n", [30, 100, 1000])
def test_whitening_is_left_out_where_a_correlation_is_no_larger_than_chance_makes_it(n):
    """Of two columns the criterion is the rank correlation: -log(1 - r²) / 2 against log(n) / (2 n)."""
    x, y = normal(n, 2).T
    found = {}
    for rho in np.linspace(-0.9, 0.9, 61):
        rows = np.column_stack([x, rho * x + np.sqrt(1.0 - rho**2) * y])
        excess = spearmanr(*rows.T).statistic ** 2 - (1.0 - n ** (-1.0 / n))
        assert searched_scalings(rows) == (["standard", "whiten"] if excess > 0 else ["standard"])
        found[excess > 0] = True
    assert len(found) == 2


@pytest.mark.parametrize("d", [2, 5, 30])
def test_independent_columns_are_not_whitened(d):
    """An outlier in two columns, which makes them correlated, counts as one row of many."""
    for seed in range(10):
        rows = normal(300, d, seed)
        rows[0, :2] = 1e6
        assert searched_scalings(rows) == ["standard"]
        assert searched_scalings(rows, "both") == ["standard", "whiten"]


def test_columns_that_are_combinations_of_others_are_correlated():
    rows = normal(300, 3)
    assert searched_scalings(np.column_stack([rows, rows.sum(axis=1)])) == ["standard", "whiten"]
    assert searched_scalings(np.column_stack([rows, -rows[:, 1]])) == ["standard", "whiten"]


def test_columns_that_do_not_vary_and_categories_are_not_correlated():
    constants, codes = np.full((300, 2), 0.1), np.eye(3)[np.arange(300) % 3]
    for rows, expected in ((normal(300, 2), ["standard"]), (correlated(300, 2), ["standard", "whiten"])):
        assert searched_scalings(np.hstack([constants, rows])) == expected
        assert searched_scalings(np.hstack([rows, codes]), n_categories=3) == expected


@pytest.mark.parametrize("scaling", ["auto", "both"])
def test_a_single_column_has_no_correlations(scaling):
    assert searched_scalings(normal(300, 1), scaling) == ["standard"]
    assert searched_scalings(np.hstack([normal(300, 1), np.ones((300, 3))]), scaling) == ["standard"]
    assert searched_scalings(np.eye(2)[np.arange(300) % 2], scaling, n_categories=2) == ["standard"]


def test_no_more_rows_than_columns_do_not_tell_of_correlations():
    assert searched_scalings(correlated(20, 20)) == ["standard"]
    assert searched_scalings(correlated(20, 20), "both") == ["standard", "whiten"]
    assert searched_scalings(correlated(21, 20)) == ["standard", "whiten"]


def test_bandwidths_that_are_given_need_no_scaling_unless_one_is_asked_for():
    assert searched_scalings(correlated(100, 3), sigma=0.3) == [None]
    assert searched_scalings(correlated(100, 3), "both", 0.3) == ["standard", "whiten"]


# ---------------------------------------------------------------- which of two are kept


def test_strongly_correlated_columns_are_whitened():
    """The volumes tell: of six columns five have a twentieth of the deviation, given the others."""
    _, found = shape(rows=correlated(400, 6, 0.05))
    assert scalings_of(found) == ["whiten"]
    assert found.scaling_comparison["standard"] == 0.0
    assert found.scaling_comparison["whiten"] < 0.0
    assert found.views.scales == [(0.0, 1.0)]


def test_correlated_columns_whose_sets_are_smaller_without_it_are_not():
    """Two far clusters of which each is a square: whitened, they are long and flat."""
    corners = np.repeat([[0.0, 0.0], [20.0, 20.0]], 200, axis=0)
    rows = corners + np.random.default_rng(0).uniform(size=(400, 2))
    _, found = shape(rows=rows[np.random.default_rng(1).permutation(400)])
    assert scalings_of(found) == ["standard"]
    assert found.scaling_comparison["whiten"] > 0.0


def test_independent_columns_are_searched_without_whitening_only():
    _, found = shape(rows=normal(300, 3))
    assert scalings_of(found) == ["standard"]
    assert found.scaling_comparison == {}


def test_both_are_kept_where_volumes_do_not_tell():
    """Correlations that are larger than chance makes them, but change no volume by more than the error."""
    x, y = normal(300, 2).T
    _, found = shape(rows=np.column_stack([x, 0.25 * x + y]))
    assert scalings_of(found) == ["standard", "whiten"]
    assert set(found.scaling_comparison) == {"standard", "whiten"}
    assert abs(found.scaling_comparison["whiten"]) < 0.2


def test_both_are_kept_where_volumes_cannot_be_measured():
    _, found = shape(rows=correlated(200, 12))
    assert scalings_of(found) == ["standard", "whiten"]
    assert found.scaling_comparison == {}
    assert found.sample is None


def test_both_are_kept_where_they_are_asked_for():
    for rows in (correlated(300, 3), normal(300, 3)):
        _, found = shape(replace(OPTIONS, scaling="both"), rows=rows)
        assert scalings_of(found) == ["standard", "whiten"]
        assert found.scaling_comparison == {}


def search_of(mean, by_split=None, n_parameters=0, is_bounded=False, scaling="standard", n_train=100):
    by_split = np.full(4, mean) if by_split is None else mean + np.array(by_split)
    curve = SimpleNamespace(mean_log_volume=mean, split_log_volumes=by_split)
    splits = [SimpleNamespace(train=np.arange(n_train))] * len(by_split)
    fields = {"is_bounded": is_bounded, "best_curve": curve, "splits": splits, "scaling": scaling}
    return SimpleNamespace(**fields, n_parameters=n_parameters, n_independent_splits=4.0)


PENALTY = 3 * np.log(100) / 200  # of three parameters more, with a hundred rows to train


@pytest.mark.parametrize(
    ("difference", "by_split", "expected"),
    [
        (PENALTY - 0.01, None, 2),
        (0.01 - PENALTY, None, 2),
        (PENALTY + 0.01, None, "standard"),
        (-0.01 - PENALTY, None, "whiten"),
        (PENALTY + 0.09, [-0.2, -0.2, 0.2, 0.2], 2),
        (-0.09 - PENALTY, [-0.2, -0.2, 0.2, 0.2], 2),
        (PENALTY + 0.13, [-0.2, -0.2, 0.2, 0.2], "standard"),
        (-0.13 - PENALTY, [-0.2, -0.2, 0.2, 0.2], "whiten"),
        (-9.0, [0.0], 2),
    ],
)
def test_the_smaller_one_is_kept_if_the_difference_exceeds_its_error_and_the_penalty(difference, by_split, expected):
    """The standard error of four independent splits is here 0.1155; a single split knows none."""
    first = search_of(5.0, None if by_split is None else np.zeros(len(by_split)), n_parameters=3)
    second = search_of(5.0 + difference, by_split, n_parameters=6, scaling="whiten")
    found, comparison = _distinguished(first, second)
    assert comparison == {"standard": 0.0, "whiten": pytest.approx(difference + PENALTY)}
    if expected == 2:
        assert found == [first, second]
    else:
        assert [each.scaling for each in found] == [expected]


@pytest.mark.parametrize("bounded", [(True, True), (True, False), (False, True)])
def test_bounds_do_not_tell(bounded):
    first, second = (search_of(5.0 * number, is_bounded=each) for number, each in enumerate(bounded))
    assert _distinguished(first, second) == ([first, second], {})


# ---------------------------------------------------------------- how the scalings are fitted and brought together


def test_correlations_are_shrunk_where_they_are_removed():
    rows = normal(60, 3, 1) @ normal(3, 40, 2) + 0.1 * normal(60, 40)
    division, found = shape(replace(OPTIONS, scaling="both"), rows=rows)
    expected = least_shrinkage(rows, division.splits, OPTIONS.masses)
    assert [search.shrinkage for search in found.searches] == [0.0, expected]
    assert expected > 1e-6


@pytest.mark.parametrize("time_order", [False, True])
def test_two_views_are_brought_to_one_scale_on_blocks_of_rows_unless_they_are_split_otherwise(time_order, monkeypatch):
    aligned = []
    monkeypatch.setattr(
        "mvset.bandwidth.shape.common_scales", lambda views, *rest: aligned.append(views) or common_scales(views, *rest)
    )
    splits = 5 if time_order else 4
    division, found = shape(replace(OPTIONS, scaling="both"), splits, time_order=time_order)
    assert len(aligned) == 1
    assert [models.sigma for models in aligned[0].models] == [search.best.sigma for search in found.searches]
    assert found.views.splits == division.splits
    assert found.views.scales == common_scales(aligned[0], ColumnLayout(2))
    if time_order:
        assert aligned[0].splits == division.splits
        return
    held_out = np.sort(np.concatenate([split.held_out for split in aligned[0].splits]))
    np.testing.assert_array_equal(held_out, np.arange(300))  # every row once
    for split in aligned[0].splits:
        assert np.count_nonzero(np.diff(split.held_out) > 1) <= 1  # two blocks at most
        assert len(np.intersect1d(split.train, split.held_out)) == 0
    for models in aligned[0].models:
        for split, dual in zip(aligned[0].splits, models.duals, strict=True):
            np.testing.assert_array_equal(dual.alpha[split.held_out], 0.0)


def test_the_same_seed_has_the_same_shape_whatever_the_threads():
    rows = correlated(150, 12)
    _, alone = shape(rows=rows)
    with thread_map(3) as run:
        _, together = shape(rows=rows, run=run)
    assert alone.views.score() == together.views.score()


@pytest.mark.parametrize("d", [4, 12])
def test_units_of_the_columns_and_columns_that_do_not_vary_do_not_matter(d):
    rows, units = correlated(200, d, 0.05), 10.0 ** (np.arange(d) % 7 - 3)
    _, plain = shape(rows=rows)
    _, other = shape(rows=np.insert(rows * units, [0, 2], 0.1, axis=1))
    assert scalings_of(plain) == scalings_of(other)
    for one, another in zip(plain.searches, other.searches, strict=True):
        assert another.shrinkage == one.shrinkage
        if d == 12:
            assert another.best.sigma == pytest.approx(one.best.sigma, rel=0.01)
        else:  # sets of a normal distribution are as small with every wide bandwidth
            larger = another.best_curve.mean_log_volume - one.best_curve.mean_log_volume
            assert larger == pytest.approx(np.log(units).sum(), abs=0.1)


def test_a_category_column_is_no_column_of_numbers():
    rows = np.hstack([correlated(300, 3), np.eye(2)[np.arange(300) % 2]])
    _, found = shape(rows=rows, layout=ColumnLayout(3, (2,)))
    assert scalings_of(found) == ["whiten"]
    for scaling in found.views.models[0].scalings:
        np.testing.assert_array_equal(scaling.mixing[3:, :3], 0.0)
        np.testing.assert_array_equal(scaling.mixing[:3, 3:], 0.0)


@pytest.mark.parametrize(("n", "d"), [(8, 2), (30, 1), (40, 60), (12, 12)])
@pytest.mark.parametrize("scaling", ["auto", "both"])
def test_few_rows_and_any_number_of_columns(n, d, scaling):
    for rows in (normal(n, d), correlated(n, d)):
        _, found = shape(replace(OPTIONS, scaling=scaling), rows=rows)
        assert all(0.0 < search.best.sigma < np.inf for search in found.searches)
        assert np.isfinite(found.views.score()(rows)).all()


# ---------------------------------------------------------------- the points that measure the volume of the set


def log_offset(found, rows, mass=0.9):
    score = found.views.score()
    return score, float(np.quantile(score(rows), 1.0 - mass))


@pytest.mark.parametrize(("d", "noise"), [(3, 0.1), (6, 0.02)])
def test_one_view_has_the_points_on_which_its_bandwidths_were_compared(d, noise):
    """In six columns the points of the first scaling are too far apart for the sets of the second."""
    rows = correlated(400, d, noise)
    _, found = shape(rows=rows)
    assert scalings_of(found) == ["whiten"]
    score, offset = log_offset(found, rows)
    sample = found.volume_sample(score, np.array([offset]), map)
    assert sample is found.searches[0].sample
    assert effective_sample_size(sample, lambda points: score(points) >= offset) >= 400


@pytest.mark.parametrize("rows", [normal(300, 2), correlated(300, 5, 0.5)], ids=["two columns", "five columns"])
def test_two_views_have_points_for_the_intersection_of_their_sets(rows):
    """Its volume is the one that ten thousand points in a box around the rows find, up to four standard errors."""
    _, found = shape(replace(OPTIONS, scaling="both", n_volume_points=4000), rows=rows)
    score, offset = log_offset(found, rows)
    sample = found.volume_sample(score, np.array([offset]), map)
    inside = (score(sample.points) >= offset)[:, np.newaxis]
    volume = measure(sample, inside).estimate(0)
    assert volume.effective_sample_size >= 390  # the target is the function of the search, near that of all splits
    low, high = rows.min(axis=0) - 0.3, rows.max(axis=0) + 0.3
    points = np.random.default_rng(0).uniform(low, high, size=(40_000, rows.shape[1]))
    share = np.mean(score(points) >= offset)
    expected, error = np.prod(high - low) * share, np.prod(high - low) * np.sqrt(share / 40_000)
    assert volume.value == pytest.approx(expected, abs=4.0 * np.hypot(error, volume.standard_error) + 0.02 * expected)


def test_sets_that_a_bound_has_chosen_have_points_where_these_measure_them():
    rows = correlated(200, 12, 1.0)
    score, offset = log_offset(shape(rows=rows)[1], rows)
    for n_points, method in ((10_000, "importance"), (100, "none")):
        _, found = shape(replace(OPTIONS, n_volume_points=n_points), rows=rows)
        assert found.sample is None
        sample = found.volume_sample(score, np.array([offset]), map)
        assert sample.method == method
        if len(sample.points):
            assert effective_sample_size(sample, lambda points: score(points) >= offset) >= 390


def test_sets_in_sixty_columns_have_no_points():
    _, found = shape(rows=normal(100, 60))
    score, offset = log_offset(found, normal(100, 60))
    assert found.volume_sample(score, np.array([offset]), map).method == "none"
