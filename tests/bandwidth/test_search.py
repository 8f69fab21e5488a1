import warnings
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from mvset import MinimumVolumeSet
from mvset.bandwidth.candidates import Candidate, SearchTask, scored, split_offsets
from mvset.bandwidth.choice import Choice
from mvset.bandwidth.curves import mass_grid
from mvset.bandwidth.grid import COARSE, RATIO, bandwidth_grid
from mvset.bandwidth.search import BandwidthSearch
from mvset.calibration.splits import Split, random_splits
from mvset.calibration.views import unscaled
from mvset.exceptions import VolumeWarning
from mvset.paper.datasets import paper_mixture, two_moons
from mvset.rows.layout import ColumnLayout
from mvset.svm.dual import Solver, solve_dual
from mvset.svm.expansion import NO_KERNEL
from mvset.svm.gram import lazy_gram
from mvset.svm.scaling import Scaling
from mvset.volume.sampler import VolumeSampler

MASSES = mass_grid(0.95)


def fitted(X, **parameters):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return MinimumVolumeSet(random_state=0, splits=3, **parameters).fit(X)


def test_all_curves_are_measured_on_the_same_points():
    model = fitted(paper_mixture(6).sample(300, random_state=0), sigma=[1.0, 2.0, 3.0])
    assert model.selection_.n_points == 10_000
    assert model.selection_.criterion == "log volume"
    best = next(curve for curve in model.curves_ if curve.sigma == model.sigma_)
    assert model.selection_.effective_sample_size == pytest.approx(best.effective_sample_sizes[-1])


def test_every_curve_is_about_that_of_a_fit_with_its_bandwidth_alone():
    """The splits and the points are the same, but not where the solver starts."""
    X, sigmas = two_moons(300, random_state=0), [0.2, 0.3, 0.4]
    model = fitted(X, sigma=sigmas)
    for sigma, curve in zip(sigmas, model.curves_, strict=True):
        alone = fitted(X, sigma=sigma)
        np.testing.assert_allclose(curve.offsets, alone.curves_[0].offsets, rtol=2e-3)
        np.testing.assert_allclose(curve.volumes, alone.curves_[0].volumes, rtol=5e-3)


@pytest.mark.parametrize(
    ("n_columns", "parameters", "criterion", "method"),
    [
        (6, {"sigma": 3.0}, "given", "importance"),
        (15, {"sigma": 3.0}, "given", "bound"),
        (2, {"sigma": [2.0, 3.0]}, "log volume", "box"),
        (6, {"sigma": [2.0, 3.0]}, "log volume", "importance"),
        (15, {"sigma": [2.0, 3.0]}, "bound", "bound"),
        (6, {"sigma": [2.0, 3.0], "n_volume_points": 5}, "bound", "bound"),
    ],
)
def test_the_selection_says_what_it_did(n_columns, parameters, criterion, method):
    selection = fitted(paper_mixture(n_columns).sample(300, random_state=0), **parameters).selection_
    assert (selection.criterion, selection.volume_method) == (criterion, method)
    assert (selection.n_points > 0) == (selection.effective_sample_size > 0) == (method != "bound")
    assert selection.reason.endswith(".")


def test_rejects_a_hopeless_bandwidth_in_twenty_dimensions():
    """A bound chooses, and tells wide bandwidths, whose volumes are e² to e⁵ times that of the true set."""
    mixture = paper_mixture(20)
    model = fitted(mixture.sample(500, random_state=0))
    assert 2.0 < (model.sigma_ * model.column_scales_).mean() < 9.0
    assert model.volume_.log_value == pytest.approx(mixture.volume(0.95).log_value, abs=0.5)


def test_in_few_dimensions_points_suffice_for_the_set_chosen_too():
    """Heavy tails in two columns: the box is hit by the set of a wide bandwidth and hardly by the one chosen."""
    X = np.random.default_rng(0).standard_t(1.5, size=(800, 2))
    model = fitted(X)
    assert model.selection_.effective_sample_size >= 400


def test_extending_the_grid_keeps_the_points(monkeypatch):
    draws = []
    original = VolumeSampler.draw
    monkeypatch.setattr(VolumeSampler, "draw", lambda *a, **k: draws.append(1) or original(*a, **k))
    monkeypatch.setattr("mvset.bandwidth.shape.bandwidth_grid", lambda *_: np.array([0.06, 0.05]))
    model = fitted(two_moons(400, random_state=0))
    assert len(model.curves_) > 5
    assert len(draws) == 1


def test_the_choice_can_be_read_off_what_decided():
    model = fitted(two_moons(400, random_state=0))
    selection = model.selection_
    chosen = selection.sigmas.tolist().index(model.sigma_)
    values = np.where(selection.eligible, selection.values, np.inf)
    assert values[chosen] - values.min() <= selection.errors[chosen]
    assert chosen >= values.argmin()


# ---------------------------------------------------------------- bandwidths that need a larger nu


def torus(n=300):
    """Two circles in four columns: the best bandwidth is too narrow for nu = 0.4."""
    rng = np.random.default_rng(0)
    angles = rng.uniform(0, 2 * np.pi, (n, 2))
    return np.hstack([np.cos(angles), np.sin(angles)]) + 0.02 * rng.normal(size=(n, 4))


def task(X, splits=None, masses=MASSES, nu=0.4, n_points=10_000):
    rng = np.random.RandomState(0)
    splits = random_splits(len(X), 3, 0.2, rng) if splits is None else splits
    return SearchTask(X, ColumnLayout(X.shape[1]), splits, masses, Solver(nu, 1e-3), n_points, rng)


def searched(X, larger_nus, sigmas=None, scaling=None, seed=0, refined=True, **options):
    on = task(X)
    on = replace(on, rng=np.random.RandomState(seed))
    on = replace(on, splits=random_splits(len(X), 5, 0.2, on.rng))
    search = BandwidthSearch(on, scaling, larger_nus, **options)
    grid = bandwidth_grid(search.mapped, on.rng) if sigmas is None else sigmas
    search.search(grid, extensible=sigmas is None)
    if refined:
        search.refine()
    return search


def test_of_sets_that_no_point_hits_the_middle_one_is_taken():
    X = paper_mixture(10).sample(300, random_state=0)
    search = BandwidthSearch(task(X, n_points=100))
    search.sampler = VolumeSampler("box", X, 100, np.random.RandomState(0))
    search.search(np.array([2.0, 3.0, 4.0]), extensible=False)
    assert search.selection.criterion == "middle"
    assert search.best.sigma == 3.0
    assert search.reason == "The middle of the bandwidths into whose sets no sample point fell."


def test_bandwidths_too_narrow_for_nu_are_solved_with_the_next_larger():
    search, stopped = (searched(torus(), nus, refined=False) for nus in ((0.7, 0.9), ()))
    assert stopped.selection.stopped_by_nu
    assert not stopped.selection.eligible[0]
    assert not search.selection.stopped_by_nu
    nus, sigmas = search.selection.nus, search.selection.sigmas
    assert {0.4, 0.7} <= set(nus)
    assert (np.diff(nus) <= 0).all()
    assert np.isclose(stopped.selection.sigmas[0], sigmas[nus > 0.4]).any()
    np.testing.assert_allclose(sigmas[nus == 0.4], stopped.selection.sigmas[1:])
    assert search.selection.eligible[nus == 0.7].any()


@pytest.mark.parametrize("n", [100, 300])
def test_if_no_bandwidth_meets_the_condition_all_are_solved_with_the_next_larger_nu(n):
    """The set of half the mass needs half of the rows outside, whatever the bandwidth and however few the rows."""
    X = two_moons(n, random_state=0)
    on = task(X, masses=mass_grid(0.5))
    search = BandwidthSearch(on, None, (0.7, 0.9))
    search.search(bandwidth_grid(X, on.rng), extensible=True)
    search.refine()
    assert set(search.selection.nus) <= {0.7, 0.9}
    assert search.candidates[-1].sigma == bandwidth_grid(X, on.rng)[0]
    assert search.selection.eligible[search.choice.best]
    for candidate in search.candidates:
        np.testing.assert_array_equal(search._scores[candidate.sigma], candidate.logs(search.sample.points))


def test_nu_is_recorded_as_it_was_solved_and_measured():
    X = torus()
    search = searched(X, (0.7,))
    for candidate, nu in zip(search.candidates, search.selection.nus, strict=True):
        assert candidate.nu == nu
        for split, dual in zip(search.splits, candidate.duals, strict=True):
            assert dual.alpha.sum(dtype=np.float64) == pytest.approx(nu * len(split.train), rel=1e-5)
        logs = search._scores[candidate.sigma]
        np.testing.assert_array_equal(logs, candidate.logs(search.sample.points))
        np.testing.assert_allclose(logs[logs > -80.0], candidate.score(search.sample.points)[logs > -80.0], rtol=1e-5)
    search.choice = replace(search.choice, best=0)
    assert search.best.nu == 0.7
    splits = [*search.splits, *random_splits(300, 2, 0.2, np.random.RandomState(1))]
    for split, dual in zip(splits, search.solved(splits).duals, strict=True):
        assert dual.alpha.sum(dtype=np.float64) == pytest.approx(0.7 * len(split.train), rel=1e-5)


def test_all_splits_are_solved_in_scalings_of_their_own():
    X = torus()
    search = searched(X, (), np.array([0.4, 0.8]), scaling="whiten", shrinkage=0.03)
    splits = [*search.splits, *random_splits(300, 2, 0.2, np.random.RandomState(1))]
    models = search.solved(splits)
    expected = [Scaling.fitted("whiten", X[split.train], X.std(axis=0), shrinkage=0.03) for split in splits]
    assert models.scalings == expected
    for split, dual, scaling in zip(splits, models.duals, expected, strict=True):
        alone = solve_dual(lazy_gram(scaling(X), search.best.sigma), split.train, Solver(0.4, 1e-3))
        assert dual.rho == pytest.approx(alone.rho, rel=1e-3)
        assert dual.gap < 1e-3


def test_wide_enough_bandwidths_and_bandwidths_that_are_given_need_no_larger_nu():
    assert set(searched(two_moons(300, random_state=0), (0.7, 0.9)).selection.nus) == {0.4}
    given = searched(torus(), (0.7, 0.9), np.array([0.2, 0.4, 0.8])).selection
    assert set(given.nus) == {0.4}
    assert not given.eligible.all()


def test_the_estimator_tries_larger_nus_unless_it_is_given_one():
    automatic, fixed = (fitted(torus(), **parameters) for parameters in ({}, {"nu": 0.4}))
    assert (automatic.nu, automatic.selection_.nus.max()) == ("auto", 0.7)
    assert automatic.nu_ == automatic.selection_.nus[automatic.selection_.sigmas == automatic.sigma_]
    assert (fixed.nu_, set(fixed.selection_.nus)) == (0.4, {0.4})
    assert fitted(torus(), sigma=[0.2, 0.4, 0.8]).nu_ == 0.4


@pytest.mark.parametrize("scaling", ["standard", "whiten"])
def test_a_search_in_a_scaling_is_the_search_of_the_mapped_rows(scaling):
    X = paper_mixture(3).sample(200, random_state=0) * [1.0, 10.0, 100.0]
    here = BandwidthSearch(task(X), scaling)
    there = BandwidthSearch(task(here.scalings[0](X), here.splits))
    for search in (here, there):
        search.solve(np.array([0.5, 1.0]), 0.4)
    for a, b in zip(here.candidates, there.candidates, strict=True):
        np.testing.assert_array_equal(a.offsets, b.offsets)
        np.testing.assert_allclose(a.score(X), b.score(here.scalings[0](X)), rtol=1e-5)


def test_only_the_bandwidth_chosen_is_solved_to_the_full_tolerance():
    X = two_moons(500, random_state=0)
    search = searched(X, (), np.array([0.05, 0.1, 0.2]))
    assert any(dual.gap > 1e-3 for candidate in search.candidates for dual in candidate.duals)
    models = search.solved(search.splits)
    assert all(dual.gap < 1e-3 for dual in models.duals)
    alone = searched(X, (), np.array([search.best.sigma]))
    assert alone.solved(alone.splits).duals is alone.best.duals
    scores = [unscaled([each], search.splits).score()(X) for each in (models, alone.solved(alone.splits))]
    np.testing.assert_allclose(scores[0], scores[1], atol=1e-3)  # logarithms


def test_all_splits_are_solved_anew_for_others_than_those_of_the_search():
    X = two_moons(200, random_state=0)
    search = searched(X, (), np.array([0.3, 0.5]))
    others = random_splits(200, 5, 0.2, np.random.RandomState(7))
    for split, dual in zip(others, search.solved(others, anew=True).duals, strict=True):
        assert (dual.alpha[split.held_out] == 0.0).all()
        assert dual.gap < 1e-3


# ---------------------------------------------------------------- where a bound decides


def bounded(X, sigmas=None, **options):
    """A search in many columns, each in units of its deviation, with every larger nu."""
    return searched(X, (0.7, 0.9, 1.0), sigmas, "standard", **options)


def normal(n, d, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


@pytest.mark.parametrize(("n_varying", "n_constant", "is_bounded"), [(10, 0, False), (10, 2, False), (11, 0, True)])
def test_a_bound_decides_in_more_than_ten_columns_that_vary(n_varying, n_constant, is_bounded):
    X = np.hstack([normal(100, n_varying), np.full((100, n_constant), 0.1)])
    search = searched(X, (), np.array([2.0, 3.0]))
    assert search.is_bounded is is_bounded
    assert search.criterion == ("bound" if is_bounded else "log volume")
    assert (search.sample is None) is is_bounded


def test_codes_of_categories_are_no_columns_that_vary():
    X = np.hstack([normal(100, 8), np.eye(6)[np.arange(100) % 6]])
    search = BandwidthSearch(replace(task(X), layout=ColumnLayout(8, (6,))))
    assert not search.is_bounded


def test_a_search_by_bounds_draws_no_points_and_takes_one_round_of_splits():
    X = normal(200, 12)
    splits = random_splits(200, 20, 0.2, np.random.RandomState(0))
    search = BandwidthSearch(task(X, splits), "standard", (0.7, 0.9, 1.0))
    search.sampler.draw = None
    search.search(bandwidth_grid(search.mapped, np.random.RandomState(0)), extensible=True)
    search.refine()
    assert search.splits == splits[:5]
    assert len(search.best.duals) == 5
    assert len(search.solved(splits).duals) == 20


def test_its_curves_have_the_integral_of_the_square_over_that_of_the_offset():
    X = normal(150, 12)
    search = bounded(X, np.array([1.0, 2.0, 4.0]))
    for candidate, curve in zip(search.candidates, search.curves, strict=True):
        np.testing.assert_allclose(curve.log_volumes, candidate.log_square_integral - 2.0 * candidate.offsets)
        assert curve.split_log_volumes.shape == (5,)
        by_split = candidate.log_square_integral - 2.0 * candidate.split_offsets
        np.testing.assert_allclose(curve.split_log_volumes, np.trapezoid(by_split, MASSES) / np.ptp(MASSES))
    values = [curve.mean_log_volume for curve in search.curves]
    np.testing.assert_array_equal(search.selection.values, values)
    assert search.choice.best == np.argmin(values)


def test_offsets_of_bounds_are_finite_where_every_kernel_underflows():
    search = bounded(normal(100, 12), np.array([0.02, 2.0]))
    assert (search.candidates[0].offsets < 1.1 * NO_KERNEL).all()
    assert np.isfinite([curve.mean_log_volume for curve in search.curves]).all()


def test_too_few_points_leave_the_choice_to_the_bound():
    X = paper_mixture(8).sample(200, random_state=0)
    search = BandwidthSearch(task(X, nu=0.8, n_points=5))
    search.search(np.array([1.0, 1.2, 1.4]), extensible=False)
    assert search.is_bounded
    assert len(search.sample.points) <= 8 * 5
    selection = search.selection
    assert (selection.criterion, selection.volume_method, selection.n_points) == ("bound", "bound", 0)
    integrals = [candidate.log_square_integral for candidate in search.candidates]
    expected = [i - 2.0 * c.offsets for i, c in zip(integrals, search.candidates, strict=True)]
    np.testing.assert_allclose([curve.log_volumes for curve in search.curves], expected)
    np.testing.assert_array_equal(selection.values, [curve.mean_log_volume for curve in search.curves])


def test_the_grid_ends_after_the_first_bandwidth_whose_bound_is_larger():
    search = bounded(normal(200, 30))
    values = search.selection.values[search.selection.sigmas != search.best.sigma]
    assert np.argmin(values) == 1
    assert len(values) > 3


@pytest.mark.parametrize(
    ("n_candidates", "n_columns", "extensible", "can"),
    [(2, 4, False, True), (1, 4, True, True), (1, 4, False, False), (2, 3, False, False)],
)
def test_a_bound_decides_only_between_bandwidths_and_not_in_the_few_columns_of_the_box(
    n_candidates, n_columns, extensible, can
):
    search = BandwidthSearch(task(np.zeros((4, n_columns)), []))
    search.candidates, search.extensible = [None] * n_candidates, extensible
    assert search._can_be_bounded is can


@pytest.mark.parametrize("d", [6, 10])
def test_sides_of_the_sets_that_a_bound_chooses_are_as_short_as_those_that_volumes_choose(d, monkeypatch):
    """Up to three percent, in few columns, where the volumes of both can be measured."""
    for seed in range(2):
        X = paper_mixture(d).sample(300, random_state=seed)
        by_volume = bounded(X, seed=seed)
        with monkeypatch.context() as patch:
            patch.setattr("mvset.bandwidth.search.MEASURED_COLUMNS", 1)
            by_bound = bounded(X, seed=seed)
        assert (by_volume.criterion, by_bound.criterion) == ("log volume", "bound")
        both = bounded(X, np.array([by_volume.best.sigma, by_bound.best.sigma]), seed=seed)
        log_volumes = {curve.sigma: curve.mean_log_volume for curve in both.curves}
        assert both.criterion == "log volume"
        assert (log_volumes[by_bound.best.sigma] - log_volumes[by_volume.best.sigma]) / d < 0.03


TABLES = {
    "normal": lambda: normal(150, 30),
    "correlated": lambda: normal(150, 30) @ normal(30, 30, seed=1),
    "clusters": lambda: paper_mixture(30).sample(150, random_state=0),
    "heavy tails": lambda: np.random.default_rng(0).standard_t(3, size=(150, 30)),
}


@pytest.mark.parametrize("table", TABLES)
def test_in_thirty_columns_the_bandwidth_depends_on_neither_order_nor_units_nor_seed(table):
    """Each splits the rows in another way, which moves the values of the bound, and the grid."""
    X, rng = TABLES[table](), np.random.default_rng(0)
    sigma = bounded(X).best.sigma
    for _ in range(3):
        assert bounded(X[rng.permutation(150)]).best.sigma == pytest.approx(sigma, rel=0.25)
    for seed in range(1, 4):
        assert bounded(X, seed=seed).best.sigma == pytest.approx(sigma, rel=0.25)
    units = 2.0 ** rng.integers(-10, 11, 30)  # exact in float64: the same splits give the same bandwidth
    assert bounded(X * units).best.sigma == pytest.approx(sigma, rel=1e-3)
    assert bounded(X * 10.0 ** rng.integers(-5, 6, 30) + 3.0).best.sigma == pytest.approx(sigma, rel=0.02)


@pytest.mark.parametrize("table", TABLES)
def test_the_bandwidth_is_a_little_wider_than_that_of_the_least_bound(table):
    """Sides may be two percent longer; the parabola through a coarse grid knows the bound well enough for five."""
    X = TABLES[table]()
    search = bounded(X)
    fine = BandwidthSearch(replace(search.task, solver=search.best.solver), "standard")
    fine.search(search.best.sigma * np.exp(np.arange(-0.6, 0.3, 0.1)), extensible=False)
    values = [curve.mean_log_volume for curve in fine.curves]
    assert fine.best.sigma < search.best.sigma
    assert 0.0 < (search.best_curve.mean_log_volume - min(values)) / 30 < 0.05


def test_the_grid_has_no_gaps_where_it_grows_wider():
    """A few rows far out set the scale of the others: of four wider bandwidths the widest is solved first."""
    X = normal(400, 12)
    X[::10] *= 30.0
    sigmas = bounded(X).selection.sigmas
    assert sigmas[-1] > 1.1 * np.sqrt(12)
    assert (sigmas[1:] / sigmas[:-1] < COARSE * (1.0 + 1e-9)).all()


@pytest.mark.parametrize(("n_columns", "criterion"), [(4, "log volume"), (12, "bound")])
def test_same_seed_same_choice(n_columns, criterion):
    X = paper_mixture(n_columns).sample(200, random_state=0)
    settings = {"splits": 3, "n_volume_points": 2000, "random_state": 1}
    fits = [MinimumVolumeSet(**settings, n_jobs=n).fit(X) for n in (1, 2)]
    assert fits[0].selection_ == fits[1].selection_
    assert fits[0].selection_.criterion == criterion
    assert fits[0].volume_ == fits[1].volume_


def test_a_hundred_columns_and_few_rows_warn_and_work():
    X = paper_mixture(100).sample(80, random_state=0)
    with pytest.warns(VolumeWarning, match="With 100 columns volumes cannot be measured"):
        model = MinimumVolumeSet(mass=0.9, splits=3, random_state=0).fit(X)
    assert model.selection_.criterion == "bound"
    assert model.volume_.method == "none"
    fresh = paper_mixture(100).sample(2000, random_state=1)
    assert 0.75 < np.mean(model.predict(fresh) == 1) <= 1.0


@pytest.mark.parametrize("n_columns", [2, 4, 15])
def test_as_few_points_as_there_may_be(n_columns):
    X = paper_mixture(n_columns).sample(300, random_state=0)
    selection = fitted(X, sigma=[0.5, 1.0, 2.0], n_volume_points=1).selection_
    assert selection.criterion == ("log volume" if n_columns == 2 else "bound")


# ---------------------------------------------------------------- the step between bandwidths of a coarse grid


def with_bounds(sigmas, values, larger_nus=(), failing=(), n_columns=30, sizes=()):
    """A search as after bounds of these logarithms; the solver is replaced, and ν of `failing` fails its condition."""
    n_encoded = n_columns + sum(sizes)
    on = replace(task(normal(20, n_encoded), [], np.array([0.8, 0.9])), layout=ColumnLayout(n_columns, sizes))
    search = BandwidthSearch(on, None, larger_nus)
    search.is_bounded = True

    def candidate(sigma, mass, bound=0.0):
        report = SimpleNamespace(training_mass=mass)
        return SimpleNamespace(
            sigma=float(sigma), nu=0.4, report=report, log_square_integral=bound, offsets=np.zeros(1)
        )

    search.candidates = [candidate(sigma, 0.7, value) for sigma, value in zip(sigmas, values, strict=True)]
    search.curves = [SimpleNamespace(mean_log_volume=value) for value in values]
    search.choice = Choice(int(np.argmin(values)), np.array(values), None)
    search.solved_with = []

    def solve(sigmas, nu):
        search.solved_with.append((float(sigmas[0]), nu))
        search.candidates.append(candidate(sigmas[0], 0.9 if nu in failing else 0.7))
        search.candidates.sort(key=lambda each: each.sigma)

    def measure():
        search.choice = Choice(0, np.zeros(len(search.candidates)), None)

    search.solve, search.measure = solve, measure
    return search


def parabola(sigmas, least, curvature):
    return 5.0 + curvature * (np.log(sigmas) - np.log(least)) ** 2


GRID = 2.0 * COARSE ** np.arange(-2.0, 3.0)


@pytest.mark.parametrize("least", [1.7, 2.0, 2.4])
@pytest.mark.parametrize(("n_columns", "sizes"), [(30, ()), (25, (2, 3))])
def test_the_sides_of_the_bound_are_two_percent_longer_than_those_of_the_least(least, n_columns, sizes):
    """A category column counts as one. The bound is here a parabola in the logarithm, so the step is exact."""
    search = with_bounds(GRID, parabola(GRID, least, 90.0), n_columns=n_columns, sizes=sizes)
    search._interpolate()
    excess = parabola(search.best.sigma, least, 90.0) - 5.0
    assert excess == pytest.approx(0.02 * (n_columns + len(sizes)))
    assert search.best.sigma > least
    assert len(search.candidates) == 6


def test_the_step_ends_at_the_next_bandwidth_where_the_bound_is_flat():
    search = with_bounds(GRID, parabola(GRID, 2.0, 0.1))
    search._interpolate()
    assert search.best.sigma == pytest.approx(2.0 * COARSE)


@pytest.mark.parametrize("best", [0, 4])
def test_there_is_no_step_at_the_edge_of_the_grid(best):
    search = with_bounds(GRID, parabola(GRID, GRID[best], 90.0))
    search._interpolate()
    assert search.solved_with == []
    assert search.best.sigma == GRID[best]


@pytest.mark.parametrize(
    "values", [[-9.0, 1.0, 2.0, 13.0, 24.0], [0.9, 1.0, 1.1, 1.2, 1.3], [-99.0, 1.0, 2.0, 3.0, 4.0]]
)
def test_there_is_no_step_to_bandwidths_narrower_than_one_that_fails_the_condition_on_nu(values):
    """Such a narrower one may have the smaller bound; the parabola then says nothing, and may have no least value."""
    search = with_bounds(GRID, values)
    search.choice = replace(search.choice, best=1)
    search._interpolate()
    assert search.best.sigma == GRID[1]
    assert len(search.candidates) == 5
    assert all(sigma > GRID[0] for sigma, _ in search.solved_with)


def test_the_step_has_the_least_nu_that_will_do():
    values = parabola(GRID, 2.0, 90.0)
    for failing, nus in (((), [0.4]), ((0.4,), [0.4, 0.7]), ((0.4, 0.7), [0.4, 0.7, 0.9])):
        search = with_bounds(GRID, values, (0.7, 0.9), failing)
        search._interpolate()
        assert [nu for _, nu in search.solved_with] == nus
        assert len(search.candidates) == 6
        assert search.best.sigma == search.solved_with[-1][0]


def test_if_none_will_do_there_is_no_step():
    search = with_bounds(GRID, parabola(GRID, 2.0, 90.0), (0.7,), (0.4, 0.7))
    search._interpolate()
    assert len(search.solved_with) == 2
    assert [each.sigma for each in search.candidates] == list(GRID)
    assert search.best.sigma == 2.0


def test_the_nu_of_the_step_is_no_smaller_than_the_nu_of_the_next_wider_bandwidth():
    search = with_bounds(GRID, parabola(GRID, 2.0, 90.0), (0.7, 0.9))
    search.candidates[3].nu = 0.7
    search._interpolate()
    assert [nu for _, nu in search.solved_with] == [0.7]


@pytest.mark.parametrize(
    ("sigmas", "values", "is_past"),
    [
        ([4.0], [1.0], False),
        ([4.0, 2.0], [1.0, 0.9], False),
        ([4.0, 2.0], [1.0, 1.1], True),
        ([1.0, 2.0, 4.0, 0.5], [3.0, 2.0, 9.0, 3.5], True),
        ([1.0, 2.0, 4.0, 0.5], [3.0, 2.0, 1.0, 0.5], False),
        ([1.0, 2.0, 16.0], [3.0, 2.0, 5.0], False),
        ([1.0, 2.0, 16.0, 8.0], [3.0, 2.0, 5.0, 4.0], False),
    ],
)
def test_no_narrower_bandwidths_are_solved_where_the_bound_has_risen(sigmas, values, is_past):
    search = with_bounds(sigmas, values)
    assert search._is_past_the_bound() is is_past


def test_where_volumes_decide_much_narrower_bandwidths_are_solved_and_the_grid_may_grow():
    search = with_bounds([8.0, 1.0], [1.0, 2.0])
    search.is_bounded, search.curves = False, []
    assert not search._is_past_the_bound()
    search = with_bounds([8.0, 0.99], [1.0, 2.0])
    search.is_bounded, search.curves = False, []
    assert search._is_past_the_bound()
    search.curves = ["measured"]
    assert not search._is_past_the_bound()


@pytest.mark.parametrize("n_columns", [2, 12])
def test_neighbours_of_the_best_bandwidth_of_the_coarse_grid_are_tried(n_columns):
    """Volumes have two on each side, and bounds one where the parabola has its least value, or a little wider."""
    X = paper_mixture(n_columns).sample(300, random_state=0)
    search = BandwidthSearch(task(X), "standard", (0.7, 0.9, 1.0))
    search.search(bandwidth_grid(search.mapped, np.random.RandomState(0)), extensible=True)
    coarse, best = {each.sigma for each in search.candidates}, search.best.sigma
    search.refine()
    added = sorted({each.sigma for each in search.candidates} - coarse)
    if n_columns == 2:
        np.testing.assert_allclose(np.array(added) / best, RATIO ** np.array([-3.0, -1.0, 1.0, 3.0]))
    else:
        assert added == [search.best.sigma]


def test_large_tables_of_many_columns_are_searched_on_fifteen_hundred_rows():
    """The models of all splits are solved on all rows."""
    X = normal(2000, 12)
    search = searched(X, (0.7, 0.9, 1.0))
    assert search.X.shape == (1500, 12)
    models = search.solved(search.task.splits)
    assert models.X.shape == (2000, 12)
    for dual, split in zip(models.duals, search.task.splits, strict=True):
        assert set(np.flatnonzero(dual.alpha)) <= set(split.train)
    assert searched(normal(1500, 12), (0.7, 0.9, 1.0)).X.shape == (1500, 12)


# ---------------------------------------------------------------- parts of the search


def test_splits_are_independent_up_to_one_round_over_all_rows():
    X = np.zeros((100, 1))
    for n_splits, expected in ((3, 3.0), (5, 5.0), (20, 5.0)):
        splits = random_splits(100, n_splits, 0.2, np.random.RandomState(0))
        assert BandwidthSearch(task(X, splits)).n_independent_splits == expected


def test_small_training_samples_are_scored_on_three_thousand_rows_or_a_few_less():
    rows = np.arange(10_000)
    small, half = Split(rows[:4999], rows[4999:]), Split(rows[:5000], rows[5000:])
    assert scored(half, 10_000) is half
    found = scored(small, 10_000)
    np.testing.assert_array_equal(found.train, small.train)
    np.testing.assert_array_equal(found.held_out, rows[4999::2])
    assert len(scored(Split(rows[:10], rows[-3000:]), 10_000).held_out) == 3000
    searches = [BandwidthSearch(task(np.zeros((10_000, 1)), splits)) for splits in ([small], [small, half])]
    assert [search.training_samples_are_small for search in searches] == [True, False]


def test_small_training_samples_have_the_offsets_of_all_scores_together():
    X = two_moons(200, random_state=0)
    rows = np.random.RandomState(0).permutation(200)
    splits = [Split(np.sort(part), np.setdiff1d(rows, part)) for part in (rows[:60], rows[60:120], rows[120:180])]
    masses = np.array([0.8, 0.9])
    search = BandwidthSearch(task(X, splits, masses))
    search.solve(np.array([0.3, 0.5]), 0.4)
    assert [candidate.sigma for candidate in search.candidates] == [0.3, 0.5]
    for candidate in search.candidates:
        for dual in candidate.duals:
            assert dual.alpha.sum(dtype=np.float64) == pytest.approx(0.4 * 60, rel=1e-5)
        held = np.mean(candidate.score(X) >= candidate.offsets[:, np.newaxis], axis=1)
        np.testing.assert_allclose(held, masses, atol=0.1)
        assert (np.diff(candidate.offsets) < 0).all()
    search.choice = Choice(1, np.zeros(2), np.zeros(2))
    again = search.solved(splits).duals
    assert all(dual.gap < 1e-3 for dual in again)
    more = [*splits, Split(np.sort(rows[140:]), np.sort(rows[:140]))]
    further = search.solved(more).duals
    for dual, before in zip(further, again, strict=False):
        np.testing.assert_array_equal(dual.alpha, before.alpha)
    assert further[3].alpha.sum(dtype=np.float64) == pytest.approx(0.4 * 60, rel=1e-5)


def test_the_largest_set_is_the_largest_that_is_not_all_of_space():
    score = SimpleNamespace(roughly=lambda points, run: points[:, 0])
    points, everywhere = np.array([[-5.0], [-1.0], [0.5], [3.0]]), NO_KERNEL - 1e-6
    for offsets, expected in (
        ([2.0, -1.0], [0, 1, 1, 1]),
        ([2.0, everywhere], [0, 0, 0, 1]),
        ([everywhere, everywhere], [1, 1, 1, 1]),
    ):
        candidate = Candidate(Solver(0.4, 1e-3), score, np.array(offsets), np.array([offsets]), [], None, 0.0)
        np.testing.assert_array_equal(candidate.largest_set(map)(points), np.array(expected, dtype=bool))


def test_offsets_of_each_split_alone():
    scores = [np.arange(1.0, 11.0), np.arange(10.0, 110.0, 10.0)]
    np.testing.assert_allclose(split_offsets(scores, np.array([0.5, 0.9])), [[5.5, 1.5], [55.0, 15.0]])


def test_sets_that_are_all_of_space_have_no_effective_sample_size():
    search = searched(two_moons(100, random_state=0), (), np.array([0.3, 0.5]))
    best = search.choice.best
    assert search.effective_sample_size == search.curves[best].effective_sample_sizes[-1] > 400
    for n_bounded, size in ((10, 9.0), (8, 7.0), (1, 0.0), (0, 9.0)):
        offsets = np.where(np.arange(10) < n_bounded, -5.0, NO_KERNEL)
        search.curves[best] = replace(search.curves[best], offsets=offsets, effective_sample_sizes=np.arange(10.0))
        assert search.effective_sample_size == size


def test_a_single_bandwidth_is_given():
    search = BandwidthSearch(task(paper_mixture(3).sample(100, random_state=0), n_points=500))
    search.search(np.array([1.0]), extensible=False)
    assert (search.criterion, search.reason) == ("given", "One bandwidth was given.")


@pytest.mark.parametrize(
    ("scaling", "sizes", "n_parameters"),
    [(None, (), 0), ("standard", (), 3), ("whiten", (), 6), ("standard", (4, 2), 5), ("whiten", (4, 2), 8)],
)
def test_a_scaling_has_a_parameter_for_each_column_and_each_pair_of_numbers(scaling, sizes, n_parameters):
    codes = [np.eye(size)[np.arange(100) % size] for size in sizes]
    X = np.hstack([normal(100, 3) @ np.triu(np.ones((3, 3))), *codes])
    search = BandwidthSearch(replace(task(X), layout=ColumnLayout(3, sizes)), scaling)
    assert search.n_parameters == n_parameters


def test_one_scaling_serves_all_splits_where_rows_are_many():
    X = paper_mixture(3).sample(100, random_state=0)
    n_parameters = Scaling.fitted("whiten", X, X.std(axis=0)).n_parameters
    for scaling, rows_per_parameter, n_scalings in (
        ("whiten", 100 / n_parameters, 1),
        ("whiten", 101 / n_parameters, 3),
        (None, 0.0, 0),
    ):
        search = BandwidthSearch(task(X, n_points=500), scaling, rows_per_parameter=rows_per_parameter)
        search.search(np.array([1.0]), extensible=False)
        models = search.solved(search.splits)
        assert len(models.scalings) == n_scalings
        assert len(unscaled([models], search.splits).score().views[0].scalings) == n_scalings
        assert models.log_square_integral == search.best.log_square_integral


def with_candidates(training_masses, best=0, values=None, n_rows=20):
    """A search in rows of global scale two, as after candidates of these training masses were measured."""
    X = np.repeat([-2.0, 2.0], n_rows // 2)[:, np.newaxis]
    search = BandwidthSearch(task(X, [], np.array([0.8, 0.9])))
    search.candidates = [
        SimpleNamespace(sigma=float(sigma), report=SimpleNamespace(training_mass=mass))
        for sigma, mass in enumerate(training_masses, start=1)
    ]
    search.choice = Choice(best, np.zeros(len(training_masses)) if values is None else np.array(values), None)
    return search


@pytest.mark.parametrize(
    ("training_masses", "best", "needs", "with_few_rows"),
    [
        ([0.9, 0.8, 0.7], 1, True, False),
        ([0.9, 0.8, 0.7], 2, False, False),
        ([0.9, 0.85, 0.7], 2, True, False),
        ([0.8, 0.7, 0.6], 0, False, False),
        ([0.95, 0.9, 0.85], 0, True, True),
    ],
)
def test_a_larger_nu_is_needed_where_the_best_bandwidth_is_the_narrowest_that_it_allows_or_it_allows_none(
    training_masses, best, needs, with_few_rows
):
    """Fewer than two hundred rows do not tell whether a narrower one is better, but a bound does."""
    assert with_candidates(training_masses, best, n_rows=200)._needs_larger_nu is needs
    few = with_candidates(training_masses, best, n_rows=198)
    assert few._needs_larger_nu is with_few_rows
    few.is_bounded = True
    assert few._needs_larger_nu is needs


def test_bandwidths_that_fail_are_left_out_and_tried_again_with_narrower_ones():
    search = with_candidates([0.9, 0.8, 0.7])
    search._scores = {1.0: "one", 2.0: "two", 3.0: "three"}
    np.testing.assert_allclose(search._leave_out_failures(), 2.0 * COARSE ** -np.arange(1.0, 3.0))
    assert [candidate.sigma for candidate in search.candidates] == [2.0, 3.0]
    assert search._scores == {2.0: "two", 3.0: "three"}


def test_if_all_fail_they_are_tried_again_from_the_widest_on():
    search = with_candidates([0.9, 0.95])
    search._scores = {1.0: "one", 2.0: "two"}
    np.testing.assert_allclose(search._leave_out_failures(), 2.0 * COARSE ** -np.arange(3.0))
    assert search.candidates == []
    assert search._scores == {}


@pytest.mark.parametrize(
    ("training_masses", "fails"), [([0.7, 0.81], True), ([0.7, 0.8], False), ([0.9, 0.95], False), ([0.9], False)]
)
def test_narrower_bandwidths_are_not_solved_after_one_that_fails(training_masses, fails):
    assert with_candidates(training_masses)._last_fails() is fails


def test_the_grid_grows_beyond_the_scale_of_the_rows_only_if_the_last_step_made_sets_smaller():
    wider, narrower = np.array([4.0, 5.0]), np.array([0.9, 0.8])
    flat, falling = [3.0, 2.0, 1.996], [3.0, 2.0, 1.994]
    assert with_candidates([0.7] * 3, values=flat)._gains_nothing_by_width(wider)
    assert not with_candidates([0.7] * 3, values=falling)._gains_nothing_by_width(wider)
    assert not with_candidates([0.7] * 3, values=flat)._gains_nothing_by_width(narrower)
    assert not with_candidates([0.7] * 3, values=flat)._gains_nothing_by_width(np.empty(0))
    assert not with_candidates([0.7] * 2, values=flat[1:])._gains_nothing_by_width(wider)  # 2 is the global scale
    assert not with_candidates([0.7] * 3, values=[1.0])._gains_nothing_by_width(wider)


@pytest.mark.parametrize(
    ("method", "sigmas", "drawn"),
    [
        ("importance", [0.3, 0.5, 2.0], [(0.5, 0.1), ("best", 1.0)]),
        ("importance", [0.3, 0.5, 0.8, 2.0, 3.0], [(0.8, 0.1), ("best", 1.0)]),
        ("importance", [0.3], [(0.3, 1.0)]),
        ("box", [0.3, 0.5, 2.0], [(0.5, 1.0)]),
    ],
)
def test_points_are_drawn_for_the_middle_candidate_first_and_then_for_the_best(method, sigmas, drawn, monkeypatch):
    found, draw = [], BandwidthSearch._draw

    def recorded(self, candidate, share=1.0):
        assert not self.curves or candidate is self.best  # by the first points
        found.append((candidate.sigma, share))
        draw(self, candidate, share)

    monkeypatch.setattr(BandwidthSearch, "_draw", recorded)
    X = two_moons(100, random_state=0)
    search = BandwidthSearch(task(X, masses=mass_grid(0.9, 0.04, 5), nu=0.8))
    search.sampler = VolumeSampler(method, X, 2000, np.random.RandomState(0))
    search.solve(np.array(sigmas), 0.8)
    assert search.candidates[0].report.training_mass < 0.86
    search.measure()
    assert found[0] == drawn[0]
    assert [share for _, share in found] == [share for _, share in drawn]
    n_drawn = len(found)
    search.measure()  # the points serve again
    assert len(found) == n_drawn
