"""Tables so large that each split trains on a sample of its own."""

import numpy as np
import pytest
from sklearn.model_selection import KFold

import mvset
from mvset import MinimumVolumeSet
from mvset.calibration import plan

N_SPLITS, MAX_TRAIN = 5, 100
TRAINED = N_SPLITS * MAX_TRAIN
LARGE = {
    "sigma": 1.0,
    "splits": N_SPLITS,
    "max_train_samples": MAX_TRAIN,
    "n_volume_points": 1000,
    "random_state": 0,
}


def normal(n, seed=0, d=2):
    return np.random.default_rng(seed).normal(size=(n, d))


def fitted(n, mass=0.9, seed=0, strata=None, **settings):
    return MinimumVolumeSet(mass, **{**LARGE, **settings}).fit(normal(n, seed), strata=strata)


def share_inside(model, X, **options):
    return np.mean(model.predict(X, **options) == 1)


def row_numbers(rows, X):
    """Where the rows are in X."""
    found = {row.tobytes(): i for i, row in enumerate(X)}
    return np.array([found[row.tobytes()] for row in rows])


def assert_calibrated_by(model, rows):
    np.testing.assert_allclose(model.sets_.calibration.scores, np.sort(model.score_samples(rows)), rtol=1e-5)


@pytest.fixture
def reserved_rows(monkeypatch):
    """Numbers of the rows that the fits that follow reserve, one array for each."""
    found, draw = [], plan.reserved_rows

    def recorded(*arguments):
        kept, reserved = draw(*arguments)
        found.append(reserved)
        return kept, reserved

    monkeypatch.setattr(plan, "reserved_rows", recorded)
    return found


@pytest.fixture
def used_splits(monkeypatch):
    """The splits of the fits that follow, one list for each."""
    found, limit = [], plan.limited

    def recorded(*arguments):
        found.append(limit(*arguments))
        return found[-1]

    monkeypatch.setattr(plan, "limited", recorded)
    return found


@pytest.fixture
def auto_is_small(monkeypatch):
    """Tables of more than 300 rows are large, and trained on 50."""
    monkeypatch.setattr("mvset.calibration.splits._LARGE_TABLE", 300)
    monkeypatch.setattr("mvset.calibration.splits._TRAIN_ROWS", 50)


def few_exact(monkeypatch, n_exact):
    """Of more than twice so many calibration rows, the lowest scores are kept and the others counted in bins."""
    monkeypatch.setattr("mvset.calibration.calibration.N_EXACT", n_exact)
    monkeypatch.setattr("mvset.calibration.calibration.N_ORDERED", 2 * n_exact)


# ---------------------------------------------------------------- the parameter


@pytest.mark.parametrize("asked", [1, 0, -100, 2.5, 100.0, "all", True, [100]])
def test_other_limits_are_refused(asked):
    with pytest.raises(
        ValueError,
        match=r"The 'max_train_samples' parameter of MinimumVolumeSet must be a str among \{'auto'\}, an int in the "
        r"range \[2, inf\) or None\. Got",
    ):
        fitted(50, max_train_samples=asked)


def same_model(a, b, X):
    np.testing.assert_array_equal(a.support_vectors_, b.support_vectors_)
    np.testing.assert_array_equal(a.score_samples(X), b.score_samples(X))
    return a.offset_ == b.offset_ and a.sets_ == b.sets_


def test_small_tables_know_no_limit():
    full, X = fitted(500, max_train_samples=None), normal(100, 1)
    assert len(full.support_vectors_) > 0.4 * 400
    assert same_model(fitted(500, max_train_samples="auto"), full, X)


@pytest.mark.parametrize(("limit", "is_reached"), [(399, True), (400, False), (10**6, False)])
def test_a_limit_that_no_split_reaches_is_none(limit, is_reached, used_splits):
    models = [fitted(500, max_train_samples=asked) for asked in (limit, None)]
    of_limit, of_none = ([split.train.tolist() for split in splits] for splits in used_splits)
    assert (of_limit != of_none) == is_reached
    scores, full = (model.score_samples(normal(100, 1)) for model in models)
    assert np.allclose(scores, full, rtol=1e-5) == (not is_reached)


def test_none_trains_on_all_rows_of_a_large_table(used_splits, auto_is_small):
    full = fitted(1000, max_train_samples=None)
    assert {len(split.train) for split in used_splits[0]} == {800}
    assert full.sets_.guarantee.mode == "cross"
    fitted(1000, max_train_samples="auto")
    assert {len(split.train) for split in used_splits[1]} == {50}


# ---------------------------------------------------------------- which rows train, and which calibrate


@pytest.mark.parametrize("n", [2 * TRAINED, 2 * TRAINED + 1, 1700])
def test_from_twice_as_many_rows_as_train_the_others_alone_calibrate(n, used_splits, reserved_rows):
    model, X = fitted(n), normal(n)
    assert model.sets_.guarantee.mode == "conformal"
    assert model.sets_.calibration.n_rows == n - TRAINED
    assert model.sets_.calibration.comparable_from == 0.0
    trained = np.concatenate([split.train for split in used_splits[0]])
    np.testing.assert_array_equal(np.sort(trained), np.arange(TRAINED))
    assert_calibrated_by(model, X[reserved_rows[0]])
    supporting = row_numbers(model.support_vectors_, X)
    assert not np.isin(supporting, reserved_rows[0]).any()
    assert 0.4 * TRAINED <= len(supporting) <= TRAINED


@pytest.mark.parametrize("n", [600, 2 * TRAINED - 1])
def test_below_that_all_rows_calibrate(n, used_splits):
    model = fitted(n)
    assert model.sets_.guarantee.mode == "cross"
    assert model.sets_.calibration.n_rows == n
    assert 0.4 * TRAINED <= len(model.support_vectors_) <= TRAINED
    for split in used_splits[0]:
        assert len(split.train) == MAX_TRAIN
        assert len(split.held_out) == n - MAX_TRAIN


def test_rows_that_train_nothing_are_scored_by_the_whole_model(used_splits):
    """In "cross" mode, too: their scores are among those that calibrate; those of rows that train are not."""
    model, X = fitted(999), normal(999)
    scores, calibrating = model.score_samples(X), model.sets_.calibration.scores
    is_among = np.abs(calibrating[:, np.newaxis] - scores).min(axis=0) < 3e-6
    trained = np.concatenate([split.train for split in used_splits[0]])
    assert is_among[np.setdiff1d(np.arange(999), trained)].all()
    assert is_among[trained].mean() < 0.2


@pytest.mark.parametrize("scaling", ["standard", "whiten"])
def test_one_scaling_serves_all_splits_where_other_rows_calibrate(scaling):
    for settings in ({"n": 1000}, {"n": 600, "calibration": "conformal"}, {"n": 600, "calibration": "pac"}):
        model = fitted(**settings, scaling=scaling)
        assert [len(view.scalings) for view in model.sets_.function.views] == [1]
        assert model.dual_coef_.shape == (1, len(model.support_vectors_))
    assert [len(view.scalings) for view in fitted(600, scaling=scaling).sets_.function.views] == [N_SPLITS]


def test_the_common_scaling_is_that_of_the_rows_that_train(reserved_rows):
    """Rows that calibrate must not move it: otherwise new rows were not exchangeable with them."""
    X = normal(3000)
    model = MinimumVolumeSet(0.9, scaling="standard", **LARGE).fit(X)
    kept = np.setdiff1d(np.arange(3000), reserved_rows[0])
    np.testing.assert_allclose(model.column_scales_, X[kept].std(axis=0), rtol=1e-3)
    assert np.abs(model.column_scales_ / X.std(axis=0) - 1).max() > 2e-3


@pytest.mark.parametrize("n", [900, 1500])
def test_results_depend_on_the_seed_only(n):
    X = normal(200, 1)
    first = fitted(n, n_jobs=1)
    assert same_model(fitted(n, n_jobs=2), first, X)
    assert same_model(fitted(n, random_state=np.random.RandomState(0)), first, X)
    assert not np.array_equal(fitted(n, random_state=1).score_samples(X), first.score_samples(X))


# ---------------------------------------------------------------- masses on new rows


def mean_share(n, n_calibrate, mass, n_seeds=10, n_fresh=4000, **settings):
    """Mean share of new rows inside over several tables, and its standard error."""
    fresh = normal(n_fresh, 10_000)
    shares = [share_inside(fitted(n, mass, seed, random_state=seed, **settings), fresh) for seed in range(n_seeds)]
    return np.mean(shares), np.sqrt(mass * (1 - mass) * (1 / (n_calibrate * n_seeds) + 1 / n_fresh))


@pytest.mark.parametrize("mass", [0.8, 0.9, 0.98])
@pytest.mark.parametrize(("n", "n_calibrate"), [(900, 900), (1500, 1000)], ids=["cross", "conformal"])
def test_sets_hold_their_mass_of_new_rows(n, n_calibrate, mass):
    share, error = mean_share(n, n_calibrate, mass)
    assert abs(share - mass) < 4 * error + 1 / n_calibrate


@pytest.mark.parametrize("n", [600, 2000])
def test_conformal_and_pac_sets_of_large_tables_keep_their_guarantee(n):
    n_calibrate = max(n // 2, n - TRAINED)
    share, error = mean_share(n, n_calibrate, 0.9, calibration="conformal")
    assert abs(share - 0.9) < 4 * error + 1 / n_calibrate
    shares = [
        share_inside(fitted(n, 0.9, seed, calibration="pac", confidence=0.9), normal(4000, 10_000))
        for seed in range(10)
    ]
    assert np.sum(np.array(shares) >= 0.9) >= 6  # of ten at 90 %: fewer have a probability of 0.002
    assert np.mean(shares) < 0.9 + 3 * np.sqrt(0.09 / n_calibrate)


@pytest.mark.parametrize("calibration", ["conformal", "pac"])
@pytest.mark.parametrize(("n", "n_reserved"), [(600, 300), (2000, 1500)])
def test_a_guarantee_that_is_asked_for_reserves_half_of_the_rows_at_least(n, n_reserved, calibration, reserved_rows):
    model, X = fitted(n, calibration=calibration), normal(n)
    assert model.sets_.guarantee.mode == calibration
    assert model.sets_.calibration.n_rows == n_reserved
    assert_calibrated_by(model, X[reserved_rows[0]])
    assert not np.isin(row_numbers(model.support_vectors_, X), reserved_rows[0]).any()


def test_p_values_and_intervals_hold_on_new_rows():
    model, fresh = fitted(1700), normal(5000, 1)
    p_values = model.p_value(fresh)
    for t in (0.02, 0.1, 0.5):
        assert abs(np.mean(p_values <= t) - t) < 4 * np.sqrt(t * (1 - t) * (1 / 1200 + 1 / 5000)) + 1 / 1200
    interval = model.mass_interval(0.9, confidence=0.9999)
    assert interval.n_rows == interval.effective_rows == 1200
    assert interval.low <= share_inside(model, fresh, mass=0.9) <= interval.high
    assert not model.check_drift(fresh[:1000]).drifted
    assert model.check_drift(fresh[:1000] + 0.5).drifted


# ---------------------------------------------------------------- order, groups, splitters


def series(n, seed=0):
    """Rows that forget their values in about twenty steps."""
    noise, X = normal(n, seed), np.empty((n, 2))
    X[0] = noise[0]
    for i in range(1, n):
        X[i] = 0.85 * X[i - 1] + np.sqrt(1 - 0.85**2) * noise[i]
    return X


def test_in_time_order_few_rows_train_far_from_the_blocks_held_out(used_splits):
    X = series(3000)
    model = MinimumVolumeSet(0.9, time_order=True, **LARGE).fit(X)
    assert len(used_splits[0]) == N_SPLITS
    for split in used_splits[0]:
        assert len(split.train) == MAX_TRAIN
        assert len(split.held_out) == 600
        assert np.abs(split.train[:, np.newaxis] - split.held_out).min() > 10
    assert len(np.unique(np.concatenate([split.train for split in used_splits[0]]))) == TRAINED
    assert model.sets_.guarantee.mode == "cross"
    assert model.sets_.calibration.n_rows == 3000
    assert model.effective_sample_size_ < 1500
    assert abs(share_inside(model, series(20_000, 1)) - 0.9) < 4 * np.sqrt(0.09 / model.effective_sample_size_)


@pytest.mark.parametrize("calibration", ["conformal", "pac"])
def test_in_time_order_reserved_blocks_keep_their_distance(calibration, reserved_rows):
    X = series(3000)
    model = MinimumVolumeSet(0.9, time_order=True, calibration=calibration, **LARGE).fit(X)
    supporting, calibrating = row_numbers(model.support_vectors_, X), reserved_rows[0]
    assert_calibrated_by(model, X[calibrating])
    assert len(calibrating) == 1500
    assert np.count_nonzero(np.diff(calibrating) != 1) < 5
    assert np.abs(supporting[:, np.newaxis] - calibrating).min() > 10
    assert len(supporting) <= TRAINED


def grouped(n_groups, size, seed=0):
    """Rows around the places of their groups."""
    groups = np.repeat(np.arange(n_groups), size)
    places = np.random.default_rng(seed).normal(size=(n_groups, 2))
    return np.sqrt(0.5) * (places[groups] + normal(n_groups * size, seed + 1)), groups


def test_groups_stay_on_one_side(used_splits):
    X, groups = grouped(100, 20)
    model = MinimumVolumeSet(0.9, **LARGE).fit(X, groups=groups)
    for split in used_splits[0]:
        assert len(split.train) == MAX_TRAIN
        assert len(split.held_out) == 400
        assert not np.isin(groups[split.train], groups[split.held_out]).any()
    assert model.sets_.guarantee.mode == "cross"
    assert model.sets_.calibration.n_rows == 2000
    assert model.effective_sample_size_ < 1200
    fresh = grouped(1000, 20, 10)[0]
    assert abs(share_inside(model, fresh) - 0.9) < 4 * np.sqrt(0.09 / model.effective_sample_size_)


@pytest.mark.parametrize("calibration", ["conformal", "pac"])
def test_whole_groups_are_reserved(calibration, reserved_rows):
    X, groups = grouped(100, 20)
    model = MinimumVolumeSet(0.9, calibration=calibration, **LARGE).fit(X, groups=groups)
    calibrating = reserved_rows[0]
    assert_calibrated_by(model, X[calibrating])
    np.testing.assert_array_equal(np.unique(np.bincount(groups[calibrating], minlength=100)), [0, 20])
    assert len(calibrating) == 1000
    assert not np.isin(groups[row_numbers(model.support_vectors_, X)], groups[calibrating]).any()


def test_splitters_are_limited_as_well(used_splits):
    model = fitted(2000, splits=KFold(4, shuffle=True, random_state=3))
    expected = [held_out for _, held_out in KFold(4, shuffle=True, random_state=3).split(np.zeros(2000))]
    for split, held_out in zip(used_splits[0], expected, strict=True):
        assert len(split.train) == MAX_TRAIN
        np.testing.assert_array_equal(split.held_out, held_out)
    assert model.sets_.guarantee.mode == "cross"
    assert model.sets_.calibration.n_rows == 2000


def sites(n, seed):
    rng = np.random.default_rng(seed)
    strata = np.where(rng.uniform(size=n) < 0.7, "calm", "wild")
    return rng.normal(size=(n, 2)) * np.where(strata == "wild", 2.0, 1.0)[:, np.newaxis], strata


@pytest.mark.parametrize("settings", [{}, {"calibration": "conformal"}, {"max_train_samples": 600}], ids=str)
def test_each_site_has_its_own_mass(settings):
    X, strata = sites(3000, 0)
    model = MinimumVolumeSet(0.9, **{**LARGE, **settings}).fit(X, strata=strata)
    fresh, at = sites(10_000, 1)
    calibrations = model.sets_.strata.calibrations
    if model.sets_.guarantee.reserves_rows:
        assert sum(each.n_rows for each in calibrations) == model.sets_.calibration.n_rows
    for label, calibration in zip(model.sets_.strata.labels, calibrations, strict=True):
        rows = at == label
        share = share_inside(model, fresh[rows], strata=at[rows])
        assert abs(share - 0.9) < 4 * np.sqrt(0.09 * (1 / calibration.n_rows + 1 / rows.sum())) + 0.005
    assert share_inside(model, fresh[at == "wild"]) < 0.85


# ---------------------------------------------------------------- calibration rows counted in bins


@pytest.mark.parametrize("n", [900, 1500])
def test_a_summarised_model_answers_as_one_with_all_scores(n, monkeypatch):
    exact, fresh = fitted(n), normal(2000, 1)
    few_exact(monkeypatch, 150)
    model = fitted(n)
    assert model.sets_.calibration.is_summary
    assert model.sets_.calibration.n_rows == exact.sets_.calibration.n_rows
    np.testing.assert_array_equal(model.score_samples(fresh), exact.score_samples(fresh))
    for mass in (0.5, 0.9, 0.97):
        assert np.mean(model.predict(fresh, mass) != exact.predict(fresh, mass)) < 0.002
        assert model.volume(mass).value == pytest.approx(exact.volume(mass).value, rel=0.01)
        np.testing.assert_array_equal(model.level(fresh) <= mass, model.predict(fresh, mass) == 1)
    low = model.score_samples(fresh) < model.sets_.calibration.exact_up_to
    assert low.sum() > 100
    np.testing.assert_array_equal(model.p_value(fresh)[low], exact.p_value(fresh)[low])
    np.testing.assert_allclose(model.p_value(fresh), exact.p_value(fresh), atol=0.01)
    assert model.effective_sample_size_ == pytest.approx(exact.effective_sample_size_, rel=0.05)
    assert not model.check_drift(fresh).drifted
    assert model.check_drift(fresh + 0.5).drifted


@pytest.mark.parametrize("n", [900, 1500])
def test_a_summarised_model_is_saved_and_loaded(n, monkeypatch, tmp_path):
    few_exact(monkeypatch, 150)
    X, strata = sites(n, 0)
    model = MinimumVolumeSet(0.9, **LARGE).fit(X, strata=strata)
    mvset.save(model, tmp_path / "model.mvset")
    again, (fresh, at) = mvset.load(tmp_path / "model.mvset"), sites(500, 1)
    assert again.sets_.calibration.is_summary
    assert again.sets_.calibration == model.sets_.calibration
    for ask in ("level", "p_value", "predict"):
        np.testing.assert_array_equal(getattr(again, ask)(fresh, strata=at), getattr(model, ask)(fresh, strata=at))
    assert again.mass_interval_ == model.mass_interval_
    assert again.check_drift(fresh) == model.check_drift(fresh)
    watched, same = (each.drift_monitor(random_state=0) for each in (again, model))
    mvset.save(watched, tmp_path / "monitor.mvset")
    watched = mvset.load(tmp_path / "monitor.mvset")
    for part in np.array_split(fresh, 3):
        assert watched.update(part) == same.update(part)
    assert watched.log_martingale_ == same.log_martingale_


# ---------------------------------------------------------------- everything automatic


def test_automatic_settings_of_a_large_table(used_splits):
    X = normal(20_500) * [1.0, 50.0]
    model = MinimumVolumeSet(random_state=0).fit(X)
    assert {len(split.train) for split in used_splits[0]} == {1000}
    assert len(used_splits[0]) == 10
    assert model.sets_.guarantee.mode == "conformal"
    assert model.sets_.calibration.n_rows == 10_500
    assert [len(view.scalings) for view in model.sets_.function.views] == [1]
    assert model.column_scales_ == pytest.approx([1.0, 50.0], rel=0.05)
    fresh = normal(20_000, 1) * [1.0, 50.0]
    assert abs(share_inside(model, fresh) - 0.95) < 4 * np.sqrt(0.0475 * (1 / 10_500 + 1 / 20_000))
    assert model.volume_.value == pytest.approx(50 * 18.8, rel=0.05)


def test_automatic_settings_of_some_thousand_rows(used_splits):
    model = MinimumVolumeSet(sigma=1.0, random_state=0).fit(normal(4500))
    assert [len(split.train) for split in used_splits[0]] == [1000] * 20
    assert model.sets_.guarantee.mode == "cross"
    assert model.sets_.calibration.n_rows == 4500
    assert abs(share_inside(model, normal(20_000, 1)) - 0.95) < 4 * np.sqrt(0.0475 * (1 / 4500 + 1 / 20_000))


def test_a_mass_that_the_rows_left_cannot_guarantee_is_calibrated_without_guarantee():
    model = MinimumVolumeSet(0.999, sigma=1.0, splits=5, max_train_samples=100, random_state=0).fit(normal(1000))
    assert model.sets_.guarantee.mode == "cross"
