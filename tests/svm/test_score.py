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
from mvset.svm.expansion import kernel_expansion
from mvset.svm.scaling import SCALINGS, Scaling
from mvset.svm.score import Score, mean_score

NAMES = (*SCALINGS, "standard")


def fitted_scalings(X, n=3):
    """Scalings of both kinds, each fitted to other rows."""
    return [Scaling.fitted(name, X[i::4], X.std(axis=0)) for i, name in enumerate(NAMES[:n])]


def random_weights(n, n_scalings=3):
    rng = np.random.default_rng(0)
    weights = rng.uniform(size=(n_scalings, n)) * (rng.uniform(size=(n_scalings, n)) < 0.4)
    return weights / weights.sum()


def random_score(X, sigma=0.8, n_scalings=3, **settings):
    weights = random_weights(len(X), max(1, n_scalings))
    return mean_score(None, X, weights, sigma, fitted_scalings(X, n_scalings), **settings)


def normal_rows(n=200):
    return np.random.default_rng(0).normal(size=(n, 3))


# ---------------------------------------------------------------- values


@pytest.mark.parametrize("n_scalings", [0, 1, 3])
def test_values_against_float64_reference(table, n_scalings):
    score = random_score(table, 0.7, n_scalings)
    precisions = [reference.precision(name, table[i::4]) for i, name in enumerate(NAMES[:n_scalings])]
    weights = random_weights(len(table), max(1, n_scalings))
    expected = reference.scaled_expansion(table, table, weights, 0.7, precisions or [np.eye(table.shape[1])])
    np.testing.assert_allclose(score(table), expected, rtol=1e-9)
    np.testing.assert_allclose(replace(score, precision="single")(table), expected, rtol=2e-5)


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
    score = mean_score(encoding, encoded, weights, 0.9, scalings)
    numbers, codes = X[:, [0, 2]], X[:, [1, 3]]
    precision = reference.precision(name, numbers) if name else np.eye(2)
    rarities = [1 - np.mean(codes[:, [j]] == codes[:, j]) for j in range(2)] if name else np.ones(2)
    kernels = reference.category_kernel(codes, 0.9, rarities) * reference.scaled_kernel(
        numbers, numbers, 0.9, precision
    )
    np.testing.assert_allclose(score(X), kernels @ weights[0], rtol=1e-9)


def test_a_category_that_was_not_seen_is_below_every_offset():
    X, encoding = coded_rows(), RowEncoding(4, CATEGORIES)
    score = mean_score(encoding, encoding.encoded(X), random_weights(200, 1), 0.9, [])
    new = X[:3].copy()
    new[1, 3] = -1.0
    found = score(new)
    assert found[1] < 0.0 < found[0]
    assert score.n_columns == 4
    np.testing.assert_array_equal(score.of_encoded(encoding.encoded(X)), score.on_encoded(encoding.encoded(X)))


def test_without_units_and_correlations_it_is_the_plain_expansion():
    X, weights = normal_rows(), random_weights(200, 1)
    plain = kernel_expansion(X, weights[0], 0.8)
    for mixing in (np.empty((0, 0)), np.eye(3)):
        score = mean_score(None, X, weights, 0.8, [Scaling(np.ones(3), mixing)])
        np.testing.assert_allclose(score(X), plain(X), rtol=1e-10)
        np.testing.assert_array_equal(score.units, np.ones(3))
    np.testing.assert_array_equal(mean_score(None, X, weights, 0.8, [])(X), plain(X))


def test_only_rows_with_a_weight_are_centres_and_each_scaling_has_its_own():
    X, weights = normal_rows(), random_weights(200)
    score = random_score(X)
    np.testing.assert_array_equal(score.centres, X[weights.any(axis=0)])
    assert len(score.centres) < 200
    assert [len(part.centres) for _, part in score.parts] == np.count_nonzero(weights, axis=1).tolist()


def test_equal_rows_are_one_centre():
    X = np.repeat(normal_rows(50), 4, axis=0)
    score = random_score(X)
    assert len(score.centres) == 50
    precisions = [reference.precision(name, X[i::4]) for i, name in enumerate(NAMES)]
    expected = reference.scaled_expansion(X, X, random_weights(200), 0.8, precisions)
    np.testing.assert_allclose(score(X), expected, rtol=1e-9)


def test_units_are_the_mean_over_the_scalings():
    X = normal_rows() * [1.0, 10.0, 100.0]
    score = random_score(X)
    np.testing.assert_allclose(score.units, sum(each.conditional_scales for each in score.scalings) / 3)


def test_rows_far_from_zero():
    rng = np.random.default_rng(0)
    X, weights = rng.normal(size=(200, 3)) @ rng.normal(size=(3, 3)), random_weights(200)
    near, far = (mean_score(None, X + shift, weights, 0.8, fitted_scalings(X)) for shift in (0.0, 1e7))
    np.testing.assert_allclose(far(X + 1e7), near(X), rtol=1e-6)
    np.testing.assert_allclose(replace(far, precision="single")(X + 1e7), near(X), rtol=1e-4)


def test_no_row_depends_on_the_others_or_on_threads():
    new = np.random.default_rng(1).normal(size=(3000, 3))
    score = random_score(normal_rows(300), 0.6)
    together = score(new)
    with thread_map(3) as run:
        np.testing.assert_array_equal(score(new, run), together)
    np.testing.assert_allclose(score(new[::-1])[::-1], together, rtol=1e-14)
    np.testing.assert_allclose([score(row[np.newaxis])[0] for row in new[:50]], together[:50], rtol=1e-14)


def test_extreme_values_are_zero():
    score = random_score(normal_rows())
    far = np.array([[1e300, 0.0, 0.0], [-1.7e308, 1.7e308, 1.7e308], [1e5, 0.0, 0.0]])
    for precision in ("single", "double", "mixed"):
        np.testing.assert_array_equal(replace(score, precision=precision)(far), 0.0)
    assert score(far[:0]).shape == (0,)


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
        slope = np.log(model.score_samples(rows + shift) / model.score_samples(rows - shift)) / (2 * step)
        np.testing.assert_allclose(model.explain(rows)[:, j], -1.2 * slope, atol=1e-6)


def test_it_matches_the_naive_mean_shift(model):
    rows = paper_mixture(4).sample(300, random_state=2)
    expected = reference.mean_shift(rows, model.support_vectors_, model.dual_coef_[0], model.sigma_)
    np.testing.assert_allclose(rows - model.sigma_ * model.explain(rows), expected, rtol=1e-10)


def naive_log_slopes(rows, score, scaling):
    """Of the part of one scaling, with respect to each column, by differences of a float64 score."""
    map_ = score.scalings[scaling]
    matrix = (map_.mixing if len(map_.mixing) else np.eye(4)) / map_.scales[:, np.newaxis]
    centres, weights = score.centres, score.weights[[scaling]]

    def log_scores(rows):
        return np.log(reference.scaled_expansion(rows, centres, weights, score.sigma, [matrix @ matrix.T]))

    steps = 1e-5 * map_.scales * np.eye(4)
    return np.column_stack([(log_scores(rows + step) - log_scores(rows - step)) / (2 * step.max()) for step in steps])


@pytest.mark.parametrize("scaling", SCALINGS)
@pytest.mark.parametrize("n_splits", [1, 3])
def test_in_a_scaling_it_is_the_gradient_of_the_log_score_in_units_of_the_columns(scaling, n_splits):
    mixing = np.array([[1.0, 0.9, 0.0, 0.0], [0.0, 0.3, 0.0, 0.0], [0.0, 0.0, 100.0, 0.0], [0.5, 0.0, 0.0, 1e-3]])
    X, rows = (paper_mixture(4).sample(n, random_state=n) @ mixing for n in (300, 20))
    model = MinimumVolumeSet(sigma=0.8, scaling=scaling, splits=n_splits, random_state=0).fit(X)
    score = model.sets_.function
    assert len(score.scalings) == n_splits
    expected = np.mean(
        [
            -0.8 * naive_log_slopes(rows, score, b) / np.sqrt(np.diag(reference.precision(scaling, X[split.train])))
            for b, split in enumerate(random_splits(300, n_splits, 0.2, np.random.RandomState(0)))
        ],
        axis=0,
    )
    np.testing.assert_allclose(model.explain(rows), expected, atol=1e-5)
    np.testing.assert_array_equal(score.displacement(rows), model.explain(rows))


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


def parts(**changes):
    scalings = [Scaling(np.ones(2), np.empty((0, 0))), Scaling(np.ones(2), np.eye(2))]
    good = {"encoding": RowEncoding(2), "centres": np.zeros((3, 2)), "weights": np.full((2, 3), 1 / 6), "sigma": 1.0}
    return {**good, "origin": np.zeros(2), "scalings": scalings, **changes}


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"encoding": None}, " has parts of the wrong type"),
        ({"encoding": RowEncoding(3)}, " has parts of different sizes"),
        ({"encoding": RowEncoding(2, Categories(np.array([1.0]), [["a", "b"]], 2))}, " has parts of different sizes"),
        ({"centres": np.full((3, 2), np.nan)}, r"\.centres must be finite"),
        ({"centres": np.zeros((4, 2))}, " has parts of different sizes"),
        ({"centres": np.zeros((3, 3)), "origin": np.zeros(3)}, " has parts of different sizes"),
        ({"centres": np.zeros((0, 2)), "weights": np.zeros((2, 0))}, " needs at least one centre"),
        ({"weights": np.full((3, 3), 1 / 9)}, " has parts of different sizes"),
        ({"weights": np.full(3, 1 / 3)}, r"\.weights must be a float64 array of 2"),
        ({"weights": np.array([[0.5, 0.5, 0.0], [0.0, 0.0, 0.0]])}, " needs at least one centre for each scaling"),
        ({"weights": np.array([[0.5, 0.5, 0.5], [-0.5, 0.0, 0.0]])}, r"\.weights must not be negative"),
        ({"weights": np.ones((2, 3))}, " must have weights whose sum is one; got "),
        ({"sigma": 0.0}, r"\.sigma must be positive"),
        ({"sigma": -1.0}, r"\.sigma must be positive"),
        ({"sigma": np.nan}, r"\.sigma must be positive"),
        ({"origin": np.zeros(3)}, r"\.origin must have length 2"),
        ({"scalings": []}, " has parts of different sizes"),
        ({"scalings": [np.ones(2), np.ones(2)]}, r"\.scalings must be a list of scalings"),
        ({"scalings": None}, r"\.scalings must be a list of scalings"),
        ({"scalings": [Scaling(np.ones(3), np.eye(3))] * 2}, " has parts of different sizes"),
        ({"precision": "half"}, r"\.precision must be one of"),
    ],
)
def test_damaged_parts_are_refused_also_when_unpickled(changes, problem):
    with pytest.raises(ValueError, match=f"^Score{problem}"):
        Score(**parts(**changes))
    with pytest.raises(ValueError, match=f"^Score{problem}"):
        object.__new__(Score).__setstate__(parts(**changes))


def test_equal_by_content():
    score = Score(**parts())
    score(np.zeros((1, 2)))
    assert score == pickle.loads(pickle.dumps(score))
    assert score != Score(**parts(sigma=2.0))
    assert score != Score(**parts(scalings=[Scaling(np.ones(2), np.eye(2))] * 2))
    assert score != Score(**parts(encoding=RowEncoding(2, Categories(by_code=True))))
