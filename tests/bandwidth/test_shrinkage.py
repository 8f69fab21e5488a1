import numpy as np
import pytest

from mvset.bandwidth.curves import mass_grid
from mvset.bandwidth.shrinkage import least_shrinkage
from mvset.calibration.splits import Split, random_splits
from mvset.svm.scaling import LEAST_SHRINKAGE

MASSES = mass_grid(0.9)
CANDIDATES = [1e-6, 1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.3]


def splits_of(X, n_splits=5):
    return random_splits(len(X), n_splits, 0.2, np.random.RandomState(0))


def shrinkage(X):
    return least_shrinkage(X, splits_of(X), MASSES)


def factors(n, d, n_factors=3, noise=0.1, seed=0):
    """Rows near a subspace: strongly correlated columns."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, n_factors)) @ rng.normal(size=(n_factors, d)) + noise * rng.normal(size=(n, d))


def log_side(train, held_out, shrinkage):
    """Log length of a side of the box as large as the ellipsoids of the masses, up to a constant: naive."""
    correlation = (1.0 - shrinkage) * np.corrcoef(train, rowvar=False) + shrinkage * np.eye(train.shape[1])
    z = (held_out - train.mean(axis=0)) / train.std(axis=0)
    distances = np.einsum("ij,jk,ik->i", z, np.linalg.inv(correlation), z)
    sides = 0.5 * np.log(np.quantile(distances, MASSES)) + 0.5 * np.linalg.slogdet(correlation)[1] / train.shape[1]
    return sides.mean()


@pytest.mark.parametrize(("n", "d"), [(30, 20), (60, 40), (60, 20), (150, 100), (2000, 10)])
@pytest.mark.parametrize("correlated", [True, False])
def test_it_is_the_least_whose_sides_are_as_short_as_the_shortest_up_to_a_fifth(n, d, correlated):
    """The first three splits tell; no value is so far out that it counts as nearer."""
    X = np.clip(factors(n, d) if correlated else np.random.default_rng(0).normal(size=(n, d)), -8, 8)
    splits = splits_of(X)
    sides = np.array([np.mean([log_side(X[s.train], X[s.held_out], a) for s in splits[:3]]) for a in CANDIDATES])
    short = [a for a, side in zip(CANDIDATES, sides, strict=True) if side <= sides.min() + 0.2]
    assert np.abs(sides - sides.min() - 0.2).min() > 1e-6  # rounding does not decide
    assert shrinkage(X) == pytest.approx(short[0])


@pytest.mark.parametrize(("n", "d"), [(300, 3), (500, 30), (1000, 100)])
def test_many_rows_of_strongly_correlated_columns_are_hardly_shrunk(n, d):
    """Faults show in the combinations of small variance, of which the smallest have a hundredth of that of a column."""
    assert shrinkage(factors(n, d)) == LEAST_SHRINKAGE


@pytest.mark.parametrize("d", [40, 100, 200])
def test_few_rows_are_shrunk_more(d):
    """Combinations that the training rows do not vary in would otherwise push every row held out far away."""
    assert shrinkage(factors(d // 2, d)) > LEAST_SHRINKAGE
    assert shrinkage(np.random.default_rng(0).normal(size=(d // 2, d))) >= 0.01


def test_three_splits_tell():
    """The others have so few rows to train that they would shrink."""
    X = factors(500, 30)
    others = [Split(np.arange(5), np.arange(5, 500))] * 7
    assert least_shrinkage(X, others, MASSES) > LEAST_SHRINKAGE
    assert least_shrinkage(X, [*splits_of(X)[:3], *others], MASSES) == LEAST_SHRINKAGE


def test_independent_columns_are_shrunk_more_than_correlated_ones():
    independent = np.random.default_rng(0).normal(size=(50, 100))
    assert shrinkage(factors(50, 100)) < shrinkage(independent)


def test_it_needs_no_units():
    X = factors(60, 80)
    assert shrinkage(X * 10.0 ** np.random.default_rng(0).integers(-5, 6, 80) + 7.0) == shrinkage(X)


def test_an_outlier_does_not_shrink():
    X = factors(500, 6)
    X[3] = [1e6, 0, 0, 0, 0, 0]
    assert shrinkage(X) == LEAST_SHRINKAGE


@pytest.mark.parametrize(
    "change",
    [
        lambda X: np.insert(X, 2, 5.0, axis=1),
        lambda X: np.insert(X, 0, 0.1, axis=1),
        lambda X: np.column_stack([X, X]),
        lambda X: np.column_stack([X, X[:, 0]]),
        lambda X: np.column_stack([X, X.sum(axis=1), X[:, 0] - X[:, 1]]),
        lambda X: np.column_stack([X, -1e6 * X[:, 0]]),
    ],
    ids=["constant", "constant with rounding", "all duplicated", "one duplicated", "collinear", "another unit"],
)
def test_columns_that_add_nothing_do_not_shrink_the_others(change):
    """No row leaves the subspace, whose directions are known from many rows."""
    X = factors(400, 5)
    assert shrinkage(X) == shrinkage(change(X)) == LEAST_SHRINKAGE


def test_constant_columns_leave_few_rows_as_they_are():
    X = factors(60, 80)
    assert shrinkage(np.insert(X, [0, 40], 0.1, axis=1)) == shrinkage(X) > LEAST_SHRINKAGE


@pytest.mark.parametrize(
    "X",
    [
        np.full((50, 3), 0.1),
        np.empty((50, 0)),
        factors(50, 1),
        factors(3, 10),
        factors(20, 20),
        np.repeat(factors(5, 8), 10, axis=0),
        np.eye(30),
        1e150 * factors(20, 30),
        1e-150 * factors(20, 30),
    ],
    ids=["constant", "none", "one", "three rows", "square", "repeated", "rare", "huge", "tiny"],
)
def test_any_table_has_a_shrinkage_and_no_warning(X):
    assert np.isclose(shrinkage(X), CANDIDATES, rtol=1e-9).any()


def test_a_column_may_be_constant_in_the_rows_of_a_split_only():
    X = factors(100, 4)
    X[:80, 2] = 1.0
    splits = [Split(np.arange(80), np.arange(80, 100)), Split(np.arange(20, 100), np.arange(20))]
    assert np.isclose(least_shrinkage(X, splits, MASSES), CANDIDATES, rtol=1e-9).any()
    assert least_shrinkage(X[:, 2:3], splits, MASSES) == LEAST_SHRINKAGE
