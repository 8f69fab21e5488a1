from dataclasses import replace

import numpy as np
import pytest

from mvset.bandwidth.candidates import SearchTask
from mvset.bandwidth.curves import mass_grid
from mvset.bandwidth.race import _Drawn, race
from mvset.calibration.splits import random_splits
from mvset.parallel import thread_map
from mvset.rows.layout import ColumnLayout
from mvset.svm.dual import Solver
from mvset.svm.scaling import SCALINGS, Scaling

MASSES = mass_grid(0.95)


def gaussian(n, d, rho, seed=0):
    rng = np.random.default_rng(seed)
    return np.sqrt(rho) * rng.normal(size=(n, 1)) + np.sqrt(1 - rho) * rng.normal(size=(n, d))


def task(X, n_splits=10, nu=0.4, seed=0, run=map):
    splits = random_splits(len(X), n_splits, 0.2, np.random.RandomState(1))
    layout, rng = ColumnLayout(X.shape[1]), np.random.RandomState(seed)
    return SearchTask(X, layout, splits, MASSES, Solver(nu, 1e-3), 10_000, rng, run)


def raced(X, run=map, seed=0):
    return race(SCALINGS, task(X, seed=seed, run=run))


@pytest.mark.parametrize("d", [5, 12])
@pytest.mark.parametrize("seed", [0, 1])
def test_whitening_wins_where_columns_are_correlated_and_costs_its_penalty_elsewhere(d, seed):
    """In twelve columns five at a time race; their ten correlations cost 10 log(200) / 400 with 200 rows to train."""
    correlated, independent = (raced(gaussian(400, d, rho, seed), seed=seed) for rho in (0.95, 0.0))
    assert correlated["standard"].log_volume == independent["standard"].log_volume == 0.0
    assert correlated["whiten"].log_volume < -0.3
    assert independent["whiten"].log_volume == pytest.approx(10 * np.log(200) / 400, abs=0.1)


def test_the_bandwidth_is_that_of_all_columns():
    """Root of the number of columns: 80 columns have four times the bandwidth of five, up to a step of the grid."""
    few, many = (raced(gaussian(400, d, 0.0))["standard"].sigma for d in (5, 80))
    assert 1.9 <= many / few <= 8.1
    assert 0.5 * np.sqrt(5) < few < 4 * np.sqrt(5)


def test_units_of_columns_do_not_matter():
    X = gaussian(300, 4, 0.9)
    plain, other = raced(X), raced(X * [1.0, 1000.0, 1e-3, 1.0])
    assert other["whiten"].log_volume == pytest.approx(plain["whiten"].log_volume, abs=0.3)
    assert other["standard"].sigma == pytest.approx(plain["standard"].sigma, rel=0.1)
    assert plain["whiten"].log_volume < -0.2


def test_scalings_are_fitted_to_training_rows_only(monkeypatch):
    seen, original = [], Scaling.fitted.__func__
    monkeypatch.setattr(
        Scaling, "fitted", classmethod(lambda cls, name, X, *a: seen.append(X) or original(cls, name, X, *a))
    )
    X = gaussian(500, 3, 0.5)
    raced(X)
    trains = [X[split.train] for split in random_splits(500, 10, 0.2, np.random.RandomState(1))]
    assert len(seen) > 4
    assert all(any(np.array_equal(rows, train) for train in trains) for rows in seen)


def test_same_seed_same_result_whatever_the_threads():
    X = gaussian(400, 6, 0.5)
    with thread_map(3) as run:
        assert raced(X, run=run) == raced(X)
    assert raced(X, seed=1) != raced(X)


def test_categories_do_not_race():
    X = gaussian(300, 3, 0.9)
    with_codes = np.hstack([X, np.eye(2)[np.arange(300) % 2]])
    assert race(SCALINGS, replace(task(with_codes), layout=ColumnLayout(3, (2,)))) == raced(X)


def test_columns_that_do_not_vary_do_not_race():
    X = gaussian(300, 3, 0.9)
    assert raced(np.insert(X, [0, 2], [5.0, 0.1], axis=1)) == raced(X)
    assert raced(np.tile([1.0, 0.1], (50, 1))) == {}


@pytest.mark.parametrize(("n", "d"), [(8, 2), (30, 1), (40, 60)])
def test_few_rows_and_any_number_of_columns(n, d):
    found = raced(gaussian(n, d, 0.0))
    assert all(np.isfinite([each.log_volume, each.sigma]).all() for each in found.values())
    assert min(found, key=lambda name: found[name].log_volume) == "standard"


def drawn(X, nu=0.4):
    on = task(X, 3, nu)
    return _Drawn(X, np.arange(len(X)), on.splits, on.splits, on)


def test_penalties():
    few, many = drawn(gaussian(100, 5, 0.0)), drawn(gaussian(1000, 2, 0.0))
    assert few._penalty("standard") == 0.0
    assert few._penalty("whiten") == pytest.approx(10 * np.log(80) / 160)
    assert many._penalty("whiten") == 0.1


def test_bandwidths_are_halved_from_twice_the_global_scale_on_as_long_as_nu_allows():
    X = gaussian(200, 2, 0.0)
    found = drawn(X)._candidates("standard")
    sigmas = np.array([candidate.sigma for candidate in found])
    assert sigmas[0] == pytest.approx(2 * np.sqrt(2.0), rel=0.1)  # of standardised columns
    np.testing.assert_allclose(sigmas[:-1] / sigmas[1:], 2.0)
    assert 1 < len(found) < 8
    assert len(drawn(X, nu=0.02)._candidates("standard")) == 1
    for candidate in found:
        held = np.mean(candidate.score(X) >= candidate.offsets[:, np.newaxis], axis=1)
        np.testing.assert_allclose(held, MASSES, atol=0.06)
        np.testing.assert_array_equal(candidate.largest_set(X), candidate.score(X) >= candidate.offsets[-1])


def test_two_draws_that_agree_decide(monkeypatch):
    answers = []
    monkeypatch.setattr(_Drawn, "smallest_sets", lambda *_: (np.array(answers.pop(0)), np.array([1.0, 2.0])))
    X = gaussian(100, 3, 0.0)
    answers[:] = [[5.0, 4.0], [5.0, 2.0], [0.0, 9.0]]
    assert raced(X)["whiten"].log_volume == -2.0
    assert len(answers) == 1
    answers[:] = [[5.0, 4.0], [5.0, 6.0], [5.0, 9.0]]
    assert raced(X)["whiten"].log_volume == 1.0
    assert answers == []
    answers[:] = [[5.0, 4.0], [5.0, 4.0]]
    assert raced(gaussian(100, 20, 0.0))["whiten"].sigma == pytest.approx(2.0 * 2.0)  # five columns of twenty
    answers[:] = [[5.0, 4.0], [5.0, 4.0]]
    assert raced(gaussian(100, 8, 0.0))["whiten"].sigma == pytest.approx(2.0)
