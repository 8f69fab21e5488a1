import pickle
from dataclasses import replace

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import reference
from mvset import MinimumVolumeSet
from mvset.calibration.splits import random_splits
from mvset.paper.datasets import paper_mixture
from mvset.parallel import thread_map
from mvset.rows.categories import Categories
from mvset.rows.encoding import RowEncoding
from mvset.svm.expansion import LOWEST_LOG, NO_KERNEL, distinct_centres, kernel_expansion
from mvset.svm.scaling import Scaling
from mvset.svm.score import Score, View

SCALINGS = ("standard", "whiten")
NAMES = (*SCALINGS, "standard")
ROUNDING = {"rtol": 1e-10, "atol": 1e-10}  # of logarithms, as of values; the inverse of a covariance has less digits


def fitted_scalings(X, n=3):
    """Scalings of both kinds, each fitted to other rows."""
    return [Scaling.fitted(name, X[i::4], X.std(axis=0)) for i, name in enumerate(NAMES[:n])]


def precisions_of(X, n=3):
    """The same, naively."""
    return [reference.precision(name, X[i::4]) for i, name in enumerate(NAMES[:n])] or [np.eye(X.shape[1])]


def random_weights(n, n_scalings=3):
    rng = np.random.default_rng(0)
    weights = rng.uniform(size=(n_scalings, n)) * (rng.uniform(size=(n_scalings, n)) < 0.4)
    return weights / weights.sum()


def score_of(encoding, X, weights, sigma, scalings, precision="double"):
    """A score of one view, over the encoded rows of X with a weight."""
    centres, weights = distinct_centres(X, weights)
    encoding = RowEncoding(X.shape[1]) if encoding is None else encoding
    return Score(encoding, centres, X.mean(axis=0), [View(weights, sigma, scalings, precision)])


def random_score(X, sigma=0.8, n_scalings=3):
    return score_of(None, X, random_weights(len(X), max(1, n_scalings)), sigma, fitted_scalings(X, n_scalings))


SCALES = (1.5, 0.7), (-0.5, 1.1)  # shift and slope of two views


def weights_of_views(n):
    first, second = random_weights(n, 1), random_weights(n, 3)[1:]
    return first, second / second.sum()


def sigmas_of_views(X):
    """The first view has no scaling."""
    return 0.5 * X.std(), 0.9


def two_views(X, precision="double"):
    """One without a scaling, and one with two; each has centres of its own."""
    centres, weights = distinct_centres(X, np.vstack(weights_of_views(len(X))))
    parts = zip((weights[:1], weights[1:]), sigmas_of_views(X), [[], fitted_scalings(X, 2)], SCALES, strict=True)
    views = [View(part, sigma, scalings, precision, *scale) for part, sigma, scalings, scale in parts]
    return Score(RowEncoding(X.shape[1]), centres, X.mean(axis=0), views)


def naive_logs(X, rows):
    """The logarithms of the functions of the two views."""
    precisions = [np.eye(X.shape[1])], precisions_of(X, 2)
    parts = zip(weights_of_views(len(X)), sigmas_of_views(X), precisions, strict=True)
    return [reference.scaled_log_expansion(rows, X, weights, *others) for weights, *others in parts]


def normal_rows(n=200):
    return np.random.default_rng(0).normal(size=(n, 3))


def far_rows(X, *distances):
    """Rows so many deviations off, in all directions."""
    directions = np.random.default_rng(1).normal(size=(20, X.shape[1])) * X.std(axis=0)
    return np.vstack([X.mean(axis=0) + distance * directions for distance in distances])


# ---------------------------------------------------------------- values


@pytest.mark.parametrize("n_scalings", [0, 1, 3])
def test_scores_against_float64_reference(table, n_scalings):
    """They are logarithms, near the rows and where every kernel underflows."""
    score, rows = random_score(table, 0.7, n_scalings), np.vstack([table, far_rows(table, 10.0, 1e3, 1e5)])
    weights = random_weights(len(table), max(1, n_scalings))
    expected = reference.scaled_log_expansion(rows, table, weights, 0.7, precisions_of(table, n_scalings))
    assert expected.min() < -1e6
    np.testing.assert_allclose(score(rows), expected, **ROUNDING)
    np.testing.assert_allclose(score.evaluated_in("single")(rows), expected, rtol=1e-10, atol=2e-5)


def test_the_score_of_two_views_is_the_smaller_one(table):
    score, rows = two_views(table), np.vstack([table, far_rows(table, 1.0, 10.0, 1e3, 1e5)])
    logs = naive_logs(table, rows)
    first, second = (shift + slope * each for each, (shift, slope) in zip(logs, SCALES, strict=True))
    assert 10 < np.sum(first < second) < len(rows) - 10  # each decides about some
    np.testing.assert_allclose(score(rows), np.minimum(first, second), **ROUNDING)
    np.testing.assert_allclose(score.by_view(rows), logs, **ROUNDING)
    np.testing.assert_array_equal(score.deciding(rows), second < first)
    np.testing.assert_array_equal(score.smallest(score.by_view(rows)), score(rows))
    np.testing.assert_allclose(score.evaluated_in("single")(rows), np.minimum(first, second), rtol=1e-10, atol=2e-5)


def test_a_rough_score_is_the_score_but_for_the_order_of_rows_far_out(table):
    for score in (random_score(table, 0.7), two_views(table)):
        np.testing.assert_allclose(score.roughly(table), score(table), **ROUNDING)
        # Where values underflow, a logarithm is at the lower end, in each view.
        expected = [np.full(20, NO_KERNEL)] * len(score.views)
        np.testing.assert_array_equal(score.roughly(far_rows(table, 1e4)), score.smallest(expected))


CATEGORIES = Categories(np.array([1.0, 3.0]), [["a", "b", "c"], ["x", "y"]], 4)


def coded_rows(n=200):
    """Numbers in columns 0 and 2, codes in columns 1 and 3."""
    rng = np.random.default_rng(1)
    return np.column_stack(
        [rng.normal(size=n), rng.integers(3, size=n), 10 * rng.normal(size=n), rng.integers(2, size=n)]
    )


@pytest.mark.parametrize("name", [None, *SCALINGS])
def test_categories_multiply_the_kernel_of_the_numbers(name):
    X, encoding = coded_rows(), RowEncoding(4, CATEGORIES)
    encoded, weights = encoding.encoded(X), random_weights(200, 1)
    scalings = [Scaling.fitted(name, encoded, encoded.std(axis=0), encoding.layout)] if name else []
    score = score_of(encoding, encoded, weights, 0.9, scalings)
    numbers, codes = X[:, [0, 2]], X[:, [1, 3]]
    precision = reference.precision(name, numbers) if name else np.eye(2)
    rarities = [1 - np.mean(codes[:, [j]] == codes[:, j]) for j in range(2)] if name else np.ones(2)
    kernels = reference.category_kernel(codes, 0.9, rarities) * reference.scaled_kernel(
        numbers, numbers, 0.9, precision
    )
    np.testing.assert_allclose(score(X), np.log(kernels @ weights[0]), rtol=0.0, atol=1e-9)


def test_a_category_that_was_not_seen_is_below_every_offset():
    X, encoding = coded_rows(), RowEncoding(4, CATEGORIES)
    score = score_of(encoding, encoding.encoded(X), random_weights(200, 1), 0.9, [])
    new = X[:3].copy()
    new[1, 3] = -1.0
    new[2, 2] = 1e300
    found = score(new)
    assert found[1] < found[2] == LOWEST_LOG < found[0]
    assert score.n_columns == 4
    np.testing.assert_array_equal(score.of_encoded(encoding.encoded(X)), score.on_encoded(encoding.encoded(X)))


def test_without_units_and_correlations_it_is_the_log_of_the_plain_expansion():
    X, weights = normal_rows(), random_weights(200, 1)
    plain = np.log(kernel_expansion(X, weights[0], 0.8)(X))
    for mixing in (np.empty((0, 0)), np.eye(3)):
        score = score_of(None, X, weights, 0.8, [Scaling(np.ones(3), mixing)])
        np.testing.assert_allclose(score(X), plain, **ROUNDING)
        np.testing.assert_array_equal(score.units(score.views[0]), np.ones(3))
    score = score_of(None, X, weights, 0.8, [])
    np.testing.assert_array_equal(score(X), plain)
    np.testing.assert_array_equal(score.units(score.views[0]), np.ones(3))


def test_only_rows_with_a_weight_are_centres_and_each_scaling_has_its_own():
    X, weights = normal_rows(), random_weights(200)
    score = random_score(X)
    np.testing.assert_array_equal(score.centres, X[weights.any(axis=0)])
    assert len(score.centres) < 200
    assert [len(part.centres) for _, part in score.parts[0]] == np.count_nonzero(weights, axis=1).tolist()


def test_each_view_has_its_own_centres_among_those_of_all():
    score = two_views(normal_rows())
    counts = [[len(part.centres) for _, part in parts] for parts in score.parts]
    assert counts == [np.count_nonzero(view.weights, axis=1).tolist() for view in score.views]
    assert all(count < len(score.centres) for some in counts for count in some)


def test_equal_rows_are_one_centre():
    X = np.repeat(normal_rows(50), 4, axis=0)
    score = random_score(X)
    assert len(score.centres) == 50
    expected = reference.scaled_log_expansion(X, X, random_weights(200), 0.8, precisions_of(X))
    np.testing.assert_allclose(score(X), expected, **ROUNDING)


def test_units_of_a_view_are_the_mean_over_its_scalings():
    X = normal_rows() * [1.0, 10.0, 100.0]
    score = random_score(X)
    expected = sum(each.conditional_scales for each in score.views[0].scalings) / 3
    np.testing.assert_allclose(score.units(score.views[0]), expected)


def test_rows_far_from_zero():
    """They lose half of their digits: a difference of 1e-9 in a row is one of 1e-8 in an exponent of ten."""
    rng = np.random.default_rng(0)
    X, weights = rng.normal(size=(200, 3)) @ rng.normal(size=(3, 3)), random_weights(200)
    near, far = (score_of(None, X + shift, weights, 0.8, fitted_scalings(X)) for shift in (0.0, 1e7))
    np.testing.assert_allclose(far(X + 1e7), near(X), rtol=0.0, atol=1e-6)
    np.testing.assert_allclose(far.evaluated_in("single")(X + 1e7), near(X), rtol=0.0, atol=1e-4)


@pytest.mark.parametrize("make", [lambda X: random_score(X, 0.6), two_views])
def test_no_row_depends_on_the_others_or_on_threads(make):
    new = np.vstack([np.random.default_rng(1).normal(size=(3000, 3)), far_rows(normal_rows(), 100.0)])
    score = make(normal_rows(300))
    together = score(new)
    with thread_map(3) as run:
        np.testing.assert_array_equal(score(new, run), together)
    np.testing.assert_array_equal(score(new[::-1])[::-1], together)
    np.testing.assert_array_equal([score(row[np.newaxis])[0] for row in new[-50:]], together[-50:])


@pytest.mark.parametrize("precision", ["single", "double", "mixed"])
def test_rows_far_away_keep_their_order_up_to_a_limit(precision):
    X = normal_rows()
    distances = np.geomspace(100.0, 1e90, 50)[:, np.newaxis] * [[1.0, 0.0, 0.0]]
    extreme = np.array([[1e300, 0.0, 0.0], [-1.7e308, 1.7e308, 1.7e308]])
    for score in (random_score(X), two_views(X)):
        score = replace(score, views=[replace(each, precision=precision) for each in score.views])
        assert (np.diff(score(distances)) < 0).all()
        assert (score(extreme) < score(distances)[-1]).all()
        assert np.isfinite(score(extreme)).all()
        assert score(extreme[:0]).shape == (0,)


# ---------------------------------------------------------------- displacement


@pytest.fixture(scope="module")
def model():
    return MinimumVolumeSet(sigma=1.2, random_state=0).fit(paper_mixture(4).sample(500, random_state=0))


@pytest.mark.parametrize("feature", range(4))
@pytest.mark.parametrize("sign", [1, -1])
def test_a_row_moved_along_one_feature_is_explained_by_it(model, feature, sign):
    # From the centres of both clusters, by more than their radius and away from the other cluster.
    moved = np.where(sign > 0, 7.5, 2.5) * np.ones((5, 4))
    moved[:, feature] += sign * np.array([4.0, 6.0, 10.0, 100.0, 1e6])
    contributions = model.explain(moved)
    assert (np.abs(contributions).argmax(axis=1) == feature).all()
    assert (np.sign(contributions[:, feature]) == sign).all()
    # The further it is moved the more, one for one in units of the bandwidth; the others stay where they were.
    np.testing.assert_allclose(np.diff(contributions[2:, feature]), sign * np.array([90.0, 1e6 - 100]) / 1.2, rtol=0.01)
    assert (np.abs(np.delete(contributions, feature, axis=1)) < 2.5).all()


def test_many_moved_rows_are_told_apart(model):
    rng = np.random.default_rng(1)
    rows = paper_mixture(4).sample(2000, random_state=1)
    feature = rng.integers(4, size=len(rows))
    rows[np.arange(len(rows)), feature] += np.where(rows.mean(axis=1) > 5, 6.0, -6.0)
    assert np.mean(np.abs(model.explain(rows)).argmax(axis=1) == feature) > 0.99


def test_it_is_minus_sigma_times_the_gradient_of_the_log_score(model):
    rows = paper_mixture(4).sample(20, random_state=2)
    step = 1e-5
    for j in range(4):
        shift = step * np.eye(4)[j]
        slope = (model.score_samples(rows + shift) - model.score_samples(rows - shift)) / (2 * step)
        np.testing.assert_allclose(model.explain(rows)[:, j], -1.2 * slope, atol=1e-6)


def test_it_matches_the_naive_mean_shift(model):
    rows = paper_mixture(4).sample(300, random_state=2)
    expected = reference.mean_shift(rows, model.support_vectors_, model.dual_coef_[0], model.sigma_)
    np.testing.assert_allclose(rows - model.sigma_ * model.explain(rows), expected, rtol=1e-10)


def naive_log_slopes(rows, score, scaling):
    """Of the part of one scaling, with respect to each column, by differences of a float64 score."""
    view = score.views[0]
    map_ = view.scalings[scaling]
    matrix = (map_.mixing if len(map_.mixing) else np.eye(4)) / map_.scales[:, np.newaxis]

    def log_scores(rows):
        weights = view.weights[[scaling]]
        return np.log(reference.scaled_expansion(rows, score.centres, weights, view.sigma, [matrix @ matrix.T]))

    steps = 1e-5 * map_.scales * np.eye(4)
    return np.column_stack([(log_scores(rows + step) - log_scores(rows - step)) / (2 * step.max()) for step in steps])


@pytest.mark.parametrize("scaling", SCALINGS)
@pytest.mark.parametrize("n_splits", [1, 3])
def test_in_a_scaling_it_is_the_gradient_of_the_log_score_in_units_of_the_columns(scaling, n_splits):
    mixing = np.array([[1.0, 0.9, 0.0, 0.0], [0.0, 0.3, 0.0, 0.0], [0.0, 0.0, 100.0, 0.0], [0.5, 0.0, 0.0, 1e-3]])
    X, rows = (paper_mixture(4).sample(n, random_state=n) @ mixing for n in (300, 20))
    model = MinimumVolumeSet(sigma=0.8, scaling=scaling, splits=n_splits, random_state=0).fit(X)
    score, shrinkage = model.sets_.function, model.views_[0].shrinkage
    assert len(score.views[0].scalings) == n_splits
    splits = random_splits(300, n_splits, 0.2, np.random.RandomState(0))
    scales = [1 / np.sqrt(np.diag(reference.precision(scaling, X[split.train], shrinkage))) for split in splits]
    expected = np.mean([-0.8 * naive_log_slopes(rows, score, b) * each for b, each in enumerate(scales)], axis=0)
    np.testing.assert_allclose(model.explain(rows), expected, atol=1e-5)
    steps, units = score.displacement(rows)
    np.testing.assert_array_equal(steps, model.explain(rows))
    np.testing.assert_allclose(units, 0.8 * np.broadcast_to(np.mean(scales, axis=0), units.shape), rtol=1e-8)


def test_in_a_scaling_a_moved_row_is_explained_in_the_units_of_the_column_given_the_others():
    """Whitened, Gaussian and wide: a value that the others let expect to be zero, and that is ten deviations off."""
    X = np.random.default_rng(0).normal(size=(500, 3)) @ [[1.0, 0.9, 0.0], [0.0, 0.3, 0.0], [0.0, 0.0, 100.0]]
    model = MinimumVolumeSet(sigma=8.0, scaling="whiten", random_state=0).fit(X)
    row = model.support_vectors_.mean(axis=0) + 10 * model.column_scales_ * np.array([[0.0, 0.0, 1.0]])
    assert np.abs(model.explain(row)).argmax() == 2
    assert model.explain(row)[0, 2] == pytest.approx(10 / 8, rel=0.3)
    expected = row - model.sigma_ * model.column_scales_ * model.explain(row)
    assert abs(expected[0, 2] - X[:, 2].mean()) < 3 * X[:, 2].std()
    off_the_line = X.mean(axis=0) + 10 * model.column_scales_ * np.array([[1.0, 0.0, 0.0]])
    contributions = model.explain(off_the_line)[0]
    assert contributions[0] > 0.5 > abs(contributions[2])
    assert contributions[1] < -0.5


def test_each_row_is_explained_by_the_view_that_decides_about_it(table):
    score, rows = two_views(table), np.vstack([table, far_rows(table, 1.0, 10.0, 1e3)])
    steps, units = score.displacement(rows)
    deciding = score.deciding(rows)
    for number, view in enumerate(score.views):
        alone, its = replace(score, views=[view]), deciding == number
        assert its.sum() > 10
        np.testing.assert_array_equal(steps[its], alone.displacement(rows[its])[0])
        np.testing.assert_array_equal(units[its], np.tile(view.sigma * score.units(view), (its.sum(), 1)))
    with thread_map(2) as run:
        np.testing.assert_array_equal(score.displacement(rows, run)[0], steps)
    assert [each.shape for each in score.displacement(rows[:0])] == [(0, table.shape[1])] * 2


def test_rows_are_explained_one_by_one_whatever_the_threads(model):
    rows = paper_mixture(4).sample(3000, random_state=3)
    whole = model.explain(rows)
    np.testing.assert_array_equal(np.vstack([model.explain(rows[:7]), model.explain(rows[7:])]), whole)
    np.testing.assert_array_equal(model.set_params(n_jobs=2).explain(rows), whole)


def test_rows_far_away_and_far_from_the_origin():
    X = np.random.default_rng(0).normal(size=(300, 2)) + 1e6
    model = MinimumVolumeSet(sigma=1.0, random_state=0).fit(X)
    assert np.isfinite(model.explain([[1e200, -1e200], [1e6, 1e6 + 50]])).all()
    assert abs(model.explain([[1e6, 1e6 + 50]])[0, 0]) < 3 < 45 < model.explain([[1e6, 1e6 + 50]])[0, 1]


def test_unfitted():
    with pytest.raises(NotFittedError):
        MinimumVolumeSet().explain([[0.0]])


# ---------------------------------------------------------------- a value


def view_parts(**changes):
    scalings = [Scaling(np.ones(2), np.empty((0, 0))), Scaling(np.ones(2), np.eye(2))]
    return {"weights": np.full((2, 3), 1 / 6), "sigma": 1.0, "scalings": scalings, **changes}


def parts(**changes):
    return {
        "encoding": RowEncoding(2),
        "centres": np.zeros((3, 2)),
        "origin": np.zeros(2),
        "views": [View(**view_parts()), View(np.full((1, 3), 1 / 3), 2.0, [])],
        **changes,
    }


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"encoding": None}, " has parts of the wrong type"),
        ({"encoding": RowEncoding(3)}, " has parts of different sizes"),
        ({"encoding": RowEncoding(2, Categories(np.array([1.0]), [["a", "b"]], 2))}, " has parts of different sizes"),
        ({"centres": np.full((3, 2), np.nan)}, r"\.centres must be finite"),
        ({"centres": np.zeros((4, 2))}, " has parts of different sizes"),
        ({"centres": np.zeros((3, 3)), "origin": np.zeros(3)}, " has parts of different sizes"),
        ({"centres": np.zeros((0, 2))}, " has parts of different sizes"),
        ({"origin": np.zeros(3)}, r"\.origin must have length 2"),
        ({"views": []}, r"\.views must be a list of at least one view"),
        ({"views": None}, r"\.views must be a list of at least one view"),
        ({"views": [None]}, r"\.views must be a list of at least one view"),
        ({"views": (View(**view_parts()),)}, r"\.views must be a list of at least one view"),
        ({"views": [View(**view_parts(weights=np.full((2, 4), 1 / 8)))]}, " has parts of different sizes"),
        (
            {"views": [View(**view_parts()), View(np.full((1, 4), 1 / 4), 1.0, [])]},
            " has parts of different sizes",
        ),
        (
            {"views": [View(**view_parts(scalings=[Scaling(np.ones(3), np.eye(3))] * 2))]},
            " has parts of different sizes",
        ),
    ],
)
def test_damaged_parts_are_refused_also_when_unpickled(changes, problem):
    with pytest.raises(ValueError, match=f"^Score{problem}"):
        Score(**parts(**changes))
    with pytest.raises(ValueError, match=f"^Score{problem}"):
        object.__new__(Score).__setstate__(parts(**changes))


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"weights": np.full((3, 3), 1 / 9)}, " needs weights for each scaling"),
        ({"weights": np.full(3, 1 / 3)}, r"\.weights must be a float64 array of 2"),
        ({"weights": np.array([[0.5, 0.5, 0.0], [0.0, 0.0, 0.0]])}, " needs at least one centre for each scaling"),
        ({"weights": np.zeros((2, 0))}, " needs at least one centre for each scaling"),
        ({"weights": np.array([[0.5, 0.5, 0.5], [-0.5, 0.0, 0.0]])}, r"\.weights must not be negative"),
        ({"weights": np.ones((2, 3))}, " must have weights whose sum is one; got "),
        ({"weights": np.full((2, 3), (1.0 + 1e-8) / 6)}, " must have weights whose sum is one; got "),
        ({"sigma": 0.0}, r"\.sigma must be positive"),
        ({"sigma": -1.0}, r"\.sigma must be positive"),
        ({"sigma": np.nan}, r"\.sigma must be positive"),
        ({"scalings": []}, " needs weights for each scaling"),
        ({"scalings": [np.ones(2), np.ones(2)]}, r"\.scalings must be a list of scalings"),
        ({"scalings": None}, r"\.scalings must be a list of scalings"),
        ({"precision": "half"}, r"\.precision must be one of"),
        ({"shift": np.inf}, " needs a finite shift and slope"),
        ({"shift": "0"}, " needs a finite shift and slope"),
        ({"slope": np.nan}, " needs a finite shift and slope"),
        ({"slope": None}, " needs a finite shift and slope"),
        ({"slope": 0.0}, r"\.slope must be positive"),
        ({"slope": -1.0}, r"\.slope must be positive"),
    ],
)
def test_damaged_parts_of_a_view_are_refused_also_when_unpickled(changes, problem):
    with pytest.raises(ValueError, match=f"^View{problem}"):
        View(**view_parts(**changes))
    complete = {"precision": "double", "shift": 0.0, "slope": 1.0}
    with pytest.raises(ValueError, match=f"^View{problem}"):
        object.__new__(View).__setstate__({**complete, **view_parts(**changes)})


def test_equal_by_content():
    score = Score(**parts())
    score(np.zeros((1, 2)))
    assert score == pickle.loads(pickle.dumps(score))
    first, second = parts()["views"]
    assert score != Score(**parts(views=[first]))
    assert score != Score(**parts(views=[second, first]))
    scalings = [Scaling(np.ones(2), np.eye(2))] * 2
    for changes in ({"sigma": 2.0}, {"scalings": scalings}, {"precision": "mixed"}, {"shift": 1.0}, {"slope": 2.0}):
        assert score != Score(**parts(views=[replace(first, **changes), second]))
    assert score != Score(**parts(encoding=RowEncoding(2, Categories(by_code=True))))
