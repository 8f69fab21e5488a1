import warnings
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from mvset import MinimumVolumeSet
from mvset.bandwidth.candidates import Candidate, SearchTask, scored, split_offsets
from mvset.bandwidth.choice import Choice
from mvset.bandwidth.curves import mass_grid
from mvset.bandwidth.grid import bandwidth_grid
from mvset.bandwidth.search import BandwidthSearch
from mvset.calibration.splits import Split, random_splits
from mvset.paper.datasets import paper_mixture, two_moons
from mvset.rows.layout import ColumnLayout
from mvset.svm.dual import Solver, solve_dual
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
    ("parameters", "criterion"),
    [
        ({"sigma": 3.0}, "given"),
        ({"sigma": [2.0, 3.0]}, "log volume"),
        ({"sigma": [2.0, 3.0, 4.0], "n_volume_points": 5}, "feature subsets"),
    ],
)
def test_the_selection_says_what_it_did(parameters, criterion):
    model = fitted(paper_mixture(15).sample(300, random_state=0), **parameters)
    assert model.selection_.criterion == criterion
    assert model.selection_.reason.endswith(".")


def test_rejects_a_hopeless_bandwidth_in_twenty_dimensions():
    """The volumes of very wide bandwidths are e² to e⁵ times that of the true set, of which the cube sees nothing."""
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
    selection = fitted(two_moons(400, random_state=0)).selection_
    least = np.argmin(np.where(selection.eligible, selection.values, np.inf))
    excess = selection.values - selection.values[least]
    within = (excess <= selection.errors) & selection.eligible & (selection.sigmas >= selection.sigmas[least])
    first_beyond = np.flatnonzero(~within[least:])[0]
    model = fitted(two_moons(400, random_state=0))
    assert model.sigma_ == selection.sigmas[least + first_beyond - 1]


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


def searched(X, larger_nus, sigmas=None, scaling=None):
    on = task(X)
    on = replace(on, splits=random_splits(len(X), 5, 0.2, on.rng))
    search = BandwidthSearch(on, scaling, larger_nus)
    search.search(bandwidth_grid(search.mapped, on.rng) if sigmas is None else sigmas, extensible=sigmas is None)
    return search


def test_of_sets_that_no_point_hits_the_middle_one_is_taken():
    X = paper_mixture(15).sample(300, random_state=0)
    search = BandwidthSearch(task(X, n_points=100))
    search.sampler = VolumeSampler("box", X, 100, np.random.RandomState(0))
    search.search(np.array([2.0, 3.0, 4.0]), extensible=False)
    assert search.selection.criterion == "middle"
    assert search.best.sigma == 3.0
    assert search.reason == "The middle of the bandwidths into whose sets no sample point fell."


def test_bandwidths_too_narrow_for_nu_are_solved_with_the_next_larger():
    search, stopped = (searched(torus(), nus) for nus in ((0.7, 0.9), ()))
    assert stopped.selection.stopped_by_nu
    assert not stopped.selection.eligible[0]
    assert not search.selection.stopped_by_nu
    nus, sigmas = search.selection.nus, search.selection.sigmas
    assert set(nus) == {0.4, 0.7}
    assert (np.diff(nus) <= 0).all()
    assert stopped.selection.sigmas[0] in sigmas[nus == 0.7]
    assert set(sigmas[nus == 0.4]) == set(stopped.selection.sigmas[1:])
    assert search.selection.eligible[nus == 0.7].any()


def test_nu_is_recorded_as_it_was_solved_and_measured():
    X = torus()
    search = searched(X, (0.7,))
    for candidate, nu in zip(search.candidates, search.selection.nus, strict=True):
        assert candidate.nu == nu
        for split, dual in zip(search.splits, candidate.duals, strict=True):
            assert dual.alpha.sum(dtype=np.float64) == pytest.approx(nu * len(split.train), rel=1e-5)
        np.testing.assert_array_equal(search.scores[candidate.sigma], candidate.score(search.sample.points))
    search.choice = replace(search.choice, best=0)
    assert search.best.nu == 0.7
    splits = [*search.splits, *random_splits(300, 2, 0.2, np.random.RandomState(1))]
    for split, dual in zip(splits, search.solved(splits).duals, strict=True):
        assert dual.alpha.sum(dtype=np.float64) == pytest.approx(0.7 * len(split.train), rel=1e-5)


def test_all_splits_are_solved_in_scalings_of_their_own():
    X = torus()
    search = searched(X, (), np.array([0.4, 0.8]), scaling="whiten")
    splits = [*search.splits, *random_splits(300, 2, 0.2, np.random.RandomState(1))]
    models = search.solved(splits)
    expected = [Scaling.fitted("whiten", X[split.train], X.std(axis=0)) for split in splits]
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
    np.testing.assert_allclose(models.score()(X), alone.solved(alone.splits).score()(X), rtol=1e-3)


@pytest.fixture
def forced(monkeypatch):
    """As if the sample were always too small."""
    monkeypatch.setattr(BandwidthSearch, "sample_is_too_small", True)


@pytest.mark.slow
def test_chooses_as_the_volumes_do_where_they_can_be_measured(monkeypatch):
    """In twelve dimensions both work: within two steps of the grid of each other."""
    for seed in range(2):
        X = paper_mixture(12).sample(300, random_state=seed)
        by_volume = MinimumVolumeSet(random_state=seed, splits=5).fit(X)
        with monkeypatch.context() as patch:
            patch.setattr(BandwidthSearch, "sample_is_too_small", True)
            by_subsets = MinimumVolumeSet(random_state=seed, splits=5, n_volume_points=2000).fit(X)
        assert by_subsets.selection_.criterion == "feature subsets"
        assert "random subsets of 5 columns" in by_subsets.selection_.reason
        assert abs(np.log2(by_subsets.sigma_ / by_volume.sigma_)) < 2.1 / 3


def test_same_seed_same_choice(forced):
    X = paper_mixture(10).sample(200, random_state=0)
    settings = {"scaling": None, "splits": 3, "n_volume_points": 2000, "random_state": 1}
    fits = [MinimumVolumeSet(**settings, n_jobs=n).fit(X) for n in (1, 2)]
    assert fits[0].sigma_ == fits[1].sigma_
    assert fits[0].volume_ == fits[1].volume_


def test_points_that_did_not_suffice_are_thinned(forced):
    """More were drawn than asked for, and they did not help: all scores are of those that are left."""
    X = paper_mixture(8).sample(200, random_state=0)
    search = BandwidthSearch(task(X, nu=0.8, n_points=200))
    drawn, draw = [], search.sampler.draw
    search.sampler.draw = lambda *arguments, **options: drawn.append(draw(*arguments, **options)) or drawn[-1]
    search.search(np.array([3.0, 4.0]), extensible=False)
    assert len(drawn[-1].points) >= 400
    assert 200 <= len(search.sample.points) < 400
    assert {len(scores) for scores in search.scores.values()} == {len(search.sample.points)}


def test_a_hundred_columns_and_few_rows_warn_and_work():
    X = paper_mixture(100).sample(80, random_state=0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = MinimumVolumeSet(mass=0.9, nu=0.9, splits=3, n_volume_points=50, random_state=0).fit(X)
    assert model.selection_.criterion == "feature subsets"
    assert any("400 are needed" in str(warning.message) for warning in caught)
    fresh = paper_mixture(100).sample(2000, random_state=1)
    assert 0.75 < np.mean(model.predict(fresh) == 1) <= 1.0


def test_as_few_points_as_there_may_be():
    model = fitted(paper_mixture(15).sample(300, random_state=0), sigma=[2.0, 3.0, 4.0], n_volume_points=3)
    assert model.selection_.criterion == "feature subsets"


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_with_five_columns_there_is_none_to_leave_out():
    X = paper_mixture(5).sample(100, random_state=0)
    model = MinimumVolumeSet(sigma=[1.0, 2.0], splits=2, n_volume_points=5, random_state=0).fit(X)
    assert model.selection_.effective_sample_size < 400
    assert model.selection_.criterion == "log volume"


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
    score = lambda points, run: points[:, 0]  # noqa: E731
    points = np.array([[0.5], [1.0], [1.5], [3.0]])
    for offsets, expected in (([2.0, 1.0], [0, 1, 1, 1]), ([2.0, 0.0], [0, 0, 0, 1]), ([0.0, 0.0], [1, 1, 1, 1])):
        candidate = Candidate(Solver(0.4, 1e-3), score, np.array(offsets), np.array([offsets]), [], None)
        np.testing.assert_array_equal(candidate.largest_set(map)(points), np.array(expected, dtype=bool))


def test_offsets_of_each_split_alone():
    scores = [np.arange(1.0, 11.0), np.arange(10.0, 110.0, 10.0)]
    np.testing.assert_allclose(split_offsets(scores, np.array([0.5, 0.9])), [[5.5, 1.5], [55.0, 15.0]])


def test_sets_that_are_all_of_space_have_no_effective_sample_size():
    search = searched(two_moons(100, random_state=0), (), np.array([0.3, 0.5]))
    best = search.choice.best
    assert search.effective_sample_size == search.curves[best].effective_sample_sizes[-1] > 400
    for n_bounded, size in ((10, 9.0), (8, 7.0), (1, 0.0), (0, 9.0)):
        offsets = (np.arange(10) < n_bounded).astype(float)
        search.curves[best] = replace(search.curves[best], offsets=offsets, effective_sample_sizes=np.arange(10.0))
        assert search.effective_sample_size == size


def test_a_scaling_pays_for_its_parameters():
    X = paper_mixture(3).sample(100, random_state=0)
    for scaling, n_parameters in ((None, 0), ("whiten", Scaling.fitted("whiten", X, X.std(axis=0)).n_parameters)):
        search = BandwidthSearch(task(X, n_points=500), scaling)
        search.search(np.array([1.0]), extensible=False)
        penalty = n_parameters * np.log(80) / 160
        assert search.penalised_log_volume == pytest.approx(search.curves[0].mean_log_volume + penalty)
        assert search.criterion == "given"
        assert search.reason == "One bandwidth was given."


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
        assert len(models.scalings) == len(models.score().scalings) == n_scalings


def with_candidates(training_masses, best=0, values=None):
    """A search in rows of global scale two, as after candidates of these training masses were measured."""
    X = np.repeat([-2.0, 2.0], 10)[:, np.newaxis]
    search = BandwidthSearch(task(X, [], np.array([0.8, 0.9])))
    search.candidates = [
        SimpleNamespace(sigma=float(sigma), report=SimpleNamespace(training_mass=mass))
        for sigma, mass in enumerate(training_masses, start=1)
    ]
    search.choice = Choice(best, np.zeros(len(training_masses)) if values is None else np.array(values), None)
    return search


@pytest.mark.parametrize(
    ("training_masses", "best", "stopped"),
    [
        ([0.9, 0.8, 0.7], 1, True),
        ([0.9, 0.8, 0.7], 2, False),
        ([0.9, 0.85, 0.7], 2, True),
        ([0.8, 0.7, 0.6], 0, False),
        ([0.95, 0.9, 0.85], 0, False),
    ],
)
def test_nu_stops_a_search_whose_best_bandwidth_is_the_narrowest_that_it_allows(
    training_masses, best, stopped, monkeypatch
):
    monkeypatch.setattr(BandwidthSearch, "sample_is_too_small", False)
    assert with_candidates(training_masses, best)._is_stopped_by_nu is stopped
    monkeypatch.setattr(BandwidthSearch, "sample_is_too_small", True)  # volumes do not tell which is the best
    failing = training_masses[0] > 0.8 >= training_masses[-1]
    assert with_candidates(training_masses, best)._is_stopped_by_nu is failing


def test_bandwidths_that_fail_are_left_out_and_tried_again_with_narrower_ones():
    search = with_candidates([0.9, 0.8, 0.7])
    search.scores = {1.0: "one", 2.0: "two", 3.0: "three"}
    np.testing.assert_allclose(search._leave_out_failures(), 2.0 * 2.0 ** (-np.arange(1, 5) / 3))
    assert [candidate.sigma for candidate in search.candidates] == [2.0, 3.0]
    assert search.scores == {2.0: "two", 3.0: "three"}


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


def test_columns_are_left_out_only_where_bandwidths_are_compared_in_more_than_five():
    def can_fall_back(n_candidates=2, n_columns=6, extensible=False):
        search = BandwidthSearch(task(np.zeros((4, n_columns)), []))
        search.candidates, search.extensible = [None] * n_candidates, extensible
        return search._can_fall_back

    assert can_fall_back()
    assert can_fall_back(n_candidates=1, extensible=True)
    assert not can_fall_back(n_candidates=1)
    assert not can_fall_back(n_columns=5)


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
