import numpy as np
import pytest
from sklearn import svm

import mvset.svm.gram
import reference
from mvset.parallel import thread_map
from mvset.svm.dual import DualStatus, Solver, SolveReport, solve_dual, solve_duals, solve_in_scalings
from mvset.svm.gram import gaussian_gram, lazy_gram
from mvset.svm.scaling import Scaling


def objective(X, alpha, sigma):
    return 0.5 * alpha @ reference.kernel(X, X, sigma) @ alpha


def random_rows(n, seed=0):
    """Four fifths of the rows, to train on."""
    return np.sort(np.random.default_rng(seed).permutation(n)[: n - n // 5])


def libsvm(X, train, sigma, nu, bounds=None):
    weights = None if bounds is None else bounds[train].astype(np.float64)
    model = svm.OneClassSVM(nu=nu, gamma=0.5 / sigma**2).fit(X[train], sample_weight=weights)
    alpha = np.zeros(len(X))
    alpha[train[model.support_]] = model.dual_coef_[0]
    return alpha, model.offset_


@pytest.mark.parametrize("nu", [0.01, 0.05, 0.4, 0.8])
@pytest.mark.parametrize("sigma", [0.01, 0.05, 0.2, 0.6, 1.0, 2.0, 10.0])
def test_objective_is_not_above_libsvm(sigma, nu, table):
    """From a cold start and from a warm one; relative, at LIBSVM's default tolerance."""
    train = random_rows(len(table))
    theirs, offset = libsvm(table, train, sigma, nu)
    wider = solve_dual(gaussian_gram(table, 1.3 * sigma), train, Solver(nu, 1e-3))
    gram = gaussian_gram(table, sigma)
    for start in (None, wider):
        dual = solve_dual(gram, train, Solver(nu, 1e-3), start)
        assert dual.status is DualStatus.CONVERGED
        assert objective(table, dual.alpha, sigma) <= (1 + 1e-6) * objective(table, theirs, sigma)
        assert dual.rho == pytest.approx(offset, rel=1e-3, abs=2e-3)
        np.testing.assert_array_equal(np.delete(dual.alpha, train), 0.0)


BOUNDS = {
    "exponential": lambda rng, n: rng.exponential(size=n),
    "over four decades": lambda rng, n: 10 ** rng.uniform(-2, 2, size=n),
    "one row has half": lambda rng, n: np.where(np.arange(n) == n // 2, n - 1, 1),
}


def random_bounds(kind, n):
    bounds = BOUNDS[kind](np.random.default_rng(1), n)
    return (bounds / bounds.mean()).astype(np.float32)


@pytest.mark.parametrize("nu", [0.05, 0.4, 0.8])
@pytest.mark.parametrize("sigma", [0.05, 0.6, 10.0])
@pytest.mark.parametrize("kind", BOUNDS)
def test_with_bounds_the_objective_is_not_above_libsvm(kind, sigma, nu, moons):
    train = random_rows(len(moons))
    bounds = random_bounds(kind, len(moons))
    theirs, offset = libsvm(moons, train, sigma, nu, bounds)
    wider = solve_dual(gaussian_gram(moons, 1.3 * sigma), train, Solver(nu, 1e-3), bounds=bounds)
    gram = gaussian_gram(moons, sigma)
    for start in (None, wider):
        dual = solve_dual(gram, train, Solver(nu, 1e-3), start, bounds)
        assert dual.status is DualStatus.CONVERGED
        assert (dual.alpha <= bounds).all()
        assert dual.alpha.sum() == pytest.approx(nu * bounds[train].sum(dtype=np.float64), rel=1e-6)
        np.testing.assert_array_equal(np.delete(dual.alpha, train), 0.0)
        assert objective(moons, dual.alpha, sigma) <= (1 + 1e-6) * objective(moons, theirs, sigma)
        assert dual.rho == pytest.approx(offset, rel=1e-3, abs=2e-3)


def test_bounds_of_one_change_nothing():
    X = np.random.default_rng(0).normal(size=(300, 2))
    gram, train = gaussian_gram(X, 0.5), random_rows(300)
    plain = solve_dual(gram, train, Solver(0.3, 1e-3))
    bounded = solve_dual(gram, train, Solver(0.3, 1e-3), bounds=np.ones(300, np.float32))
    np.testing.assert_array_equal(bounded.alpha, plain.alpha)
    np.testing.assert_array_equal(bounded.gradient, plain.gradient)
    assert (bounded.rho, bounded.training_mass) == (plain.rho, plain.training_mass)


@pytest.mark.parametrize("nu", [0.1, 0.4])
def test_share_of_outliers_by_bound(nu):
    """Proposition 1 with bounds: the outliers have at most the share nu of the sum of all bounds."""
    X = np.random.default_rng(0).normal(size=(400, 2))
    bounds = random_bounds("over four decades", 400)
    dual = solve_dual(gaussian_gram(X, 0.5), np.arange(400), Solver(nu, 1e-3), bounds=bounds)
    outliers = dual.alpha == bounds
    assert 0 < outliers.sum() < 400
    assert 1 - dual.training_mass == pytest.approx(bounds[outliers].sum() / bounds.sum(), rel=1e-5)
    assert 1 - dual.training_mass <= nu + 1e-6
    assert bounds[dual.alpha > 0].sum() / bounds.sum() >= nu - 1e-6


def test_nu_one_puts_every_row_at_its_bound():
    X = np.array([[0.0], [0.1], [50.0]])
    bounds = np.array([0.5, 0.5, 2.0], np.float32)
    dual = solve_dual(gaussian_gram(X, 1.0), np.arange(3), Solver(1.0, 1e-3), bounds=bounds)
    np.testing.assert_array_equal(dual.alpha, bounds)
    assert dual.rho == pytest.approx(2.0)  # all rows are at their bounds: the border is at the highest value among them
    assert dual.training_mass == 0.0


@pytest.mark.parametrize("nu", [0.1, 0.4])
def test_share_of_outliers_and_support_vectors(nu, table):
    """Proposition 1 of the paper: outliers <= nu <= support vectors."""
    dual = solve_dual(gaussian_gram(table, 0.5), np.arange(len(table)), Solver(nu, 1e-3))
    assert 1 - dual.training_mass <= nu + 1e-9
    assert np.mean(dual.alpha > 0) >= nu - 1e-9
    assert dual.coefficients.sum() == pytest.approx(1.0)


def test_nu_one_is_kernel_smoothing():
    X = np.random.default_rng(0).normal(size=(40, 2))
    dual = solve_dual(gaussian_gram(X, 0.5), np.arange(40), Solver(1.0, 1e-3))
    np.testing.assert_allclose(dual.coefficients, 1 / 40)
    assert np.isfinite(dual.rho)


def test_gram_or_not_makes_no_difference(monkeypatch):
    X = np.random.default_rng(0).normal(size=(300, 3))
    train = np.arange(0, 300, 2)
    expected = solve_dual(gaussian_gram(X, 0.8), train, Solver(0.4, 1e-3))
    lazy = solve_dual(lazy_gram(X, 0.8), train, Solver(0.4, 1e-3))
    monkeypatch.setattr(mvset.svm.gram, "MAX_GRAM_BYTES", 0)
    without = solve_dual(gaussian_gram(X, 0.8), train, Solver(0.4, 1e-3))
    for other in (lazy, without):
        np.testing.assert_allclose(other.coefficients, expected.coefficients, atol=1e-4)
        assert other.rho == pytest.approx(expected.rho, abs=1e-3)


def test_threads_give_the_same_duals():
    X = np.random.default_rng(0).normal(size=(400, 2))
    trains = [random_rows(400, seed) for seed in range(6)]
    gram = gaussian_gram(X, 0.3)
    solver = Solver(0.4, 1e-3)
    alone = solve_duals(gram, trains, solver)
    with thread_map(3) as run:
        together = solve_duals(gram, trains, solver, run=run)
    for a, b in zip(alone, together, strict=True):
        np.testing.assert_array_equal(a.alpha, b.alpha)


@pytest.mark.parametrize("name", ["standard", "whiten"])
def test_each_split_is_solved_in_its_own_scaling(name):
    """In each scaling the objective is not above LIBSVM's, and a split's own solution is a start that needs no step."""
    X = np.random.default_rng(0).normal(size=(300, 3)) @ [[1.0, 0.9, 0.0], [0.0, 0.3, 0.0], [0.0, 0.0, 100.0]]
    trains = [random_rows(300, seed) for seed in range(3)]
    scalings = [Scaling.fitted(name, X[train], X.std(axis=0)) for train in trains]
    solver = Solver(0.4, 1e-3)
    duals = solve_in_scalings(X, trains, scalings, 0.9, solver, [None] * 3)
    for train, scaling, dual in zip(trains, scalings, duals, strict=True):
        theirs, offset = libsvm(scaling(X), train, 0.9, 0.4)
        assert objective(scaling(X), dual.alpha, 0.9) <= (1 + 1e-6) * objective(scaling(X), theirs, 0.9)
        assert dual.rho == pytest.approx(offset, rel=1e-3)
        np.testing.assert_array_equal(np.delete(dual.alpha, train), 0.0)
    again = solve_in_scalings(X, trains, scalings, 0.9, solver, duals)
    assert sum(dual.iterations for dual in again) < 0.1 * sum(dual.iterations for dual in duals)
    with thread_map(3) as run:
        together = solve_in_scalings(X, trains, scalings, 0.9, solver, [None] * 3, run)
    for a, b in zip(duals, together, strict=True):
        np.testing.assert_array_equal(a.alpha, b.alpha)


def test_status_is_advice():
    X = np.random.default_rng(0).normal(size=(300, 2))
    gram = gaussian_gram(X, 0.3)
    capped = solve_dual(gram, np.arange(300), Solver(0.4, 1e-3, 3))
    assert capped.status is DualStatus.MAX_ITER
    assert "raise it" in capped.status.value
    exhausted = solve_dual(gram, np.arange(300), Solver(0.4, 1e-13))
    assert exhausted.status is DualStatus.PRECISION
    assert 0 < exhausted.gap < 1e-4


def test_report_of_several_solves():
    X = np.random.default_rng(0).normal(size=(300, 2))
    gram = gaussian_gram(X, 0.3)
    capped, solved = (solve_dual(gram, np.arange(300), Solver(0.4, 1e-3, limit)) for limit in (3, -1))
    report = SolveReport.of([capped, solved])
    assert report.iterations == 3 + solved.iterations
    assert report.training_mass == (capped.training_mass + solved.training_mass) / 2
    assert report.worst_gap == capped.gap > 1e-3 > solved.gap
    assert report.failures == (DualStatus.MAX_ITER,)
