"""An offset for every group of rows: `fit(X, strata=...)` and `strata` in every answer."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import mvset
from mvset import MinimumVolumeSet
from mvset.exceptions import UnseenStratumWarning
from mvset.paper import PluginKernelDensity

SPREADS = {"calm": 1.0, "wild": 2.5}
MODES = ("cross", "conformal", "pac")


def rows(n, seed, calm=0.8):
    """Rows of two groups around the same place, one of them wider."""
    rng = np.random.default_rng(seed)
    groups = np.where(rng.uniform(size=n) < calm, "calm", "wild")
    spread = np.array([SPREADS[group] for group in groups])
    return rng.normal(size=(n, 2)) * spread[:, np.newaxis], groups


def fitted(mode="cross", n=1500, calm=0.8, mass=0.95, seed=0, **parameters):
    X, groups = rows(n, seed, calm)
    model = MinimumVolumeSet(mass, sigma=1.5, splits=5, calibration=mode, random_state=0, **parameters)
    return model.fit(X, strata=groups)


@pytest.fixture(scope="module", params=MODES)
def model(request):
    return fitted(request.param)


@pytest.fixture(scope="module")
def split_model():
    return fitted()


@pytest.fixture(scope="module")
def fresh():
    return rows(20_000, 1)


def shares_inside(model, fresh, **options):
    X, groups = fresh
    inside = model.predict(X, **options) == 1
    return {group: np.mean(inside[groups == group]) for group in SPREADS}


def test_each_group_has_its_own_mass_on_new_rows(model, fresh):
    by_stratum = shares_inside(model, fresh, strata=fresh[1])
    for share in by_stratum.values():
        assert abs(share - 0.95) < (0.05 if model.calibration == "pac" else 0.03)
    together = shares_inside(model, fresh)
    assert together["calm"] > 0.97
    assert together["wild"] < 0.87


def test_one_score_for_all_groups(split_model, fresh):
    X, _ = rows(1500, 0)
    alone = MinimumVolumeSet(sigma=1.5, splits=5, random_state=0).fit(X)
    np.testing.assert_array_equal(alone.score_samples(fresh[0]), split_model.score_samples(fresh[0]))
    assert alone.offset_ == split_model.offset_
    assert alone.volume_ == split_model.volume_
    np.testing.assert_array_equal(alone.predict(fresh[0]), split_model.predict(fresh[0]))


@pytest.mark.parametrize("mass", [0.5, 0.9, 0.95])
def test_levels_tell_membership(model, fresh, mass):
    X, groups = fresh[0][:3000], fresh[1][:3000]
    inside = model.predict(X, mass, strata=groups) == 1
    np.testing.assert_array_equal(model.level(X, strata=groups) <= mass, inside)
    np.testing.assert_array_equal(model.decision_function(X, mass, strata=groups) >= 0, inside)


def test_answers_of_a_group_are_those_of_its_calibration(model, fresh):
    X, groups = fresh[0][:500], fresh[1][:500]
    scores = model.score_samples(X)
    for label, calibration in zip(model.sets_.strata.labels, model.sets_.strata.calibrations, strict=True):
        of = groups == label
        np.testing.assert_array_equal(model.level(X, strata=groups)[of], calibration.level(scores[of]))
        np.testing.assert_array_equal(model.p_value(X, strata=groups)[of], calibration.p_value(scores[of]))
        offset = calibration.offset(0.9)
        np.testing.assert_array_equal(model.decision_function(X, 0.9, strata=groups)[of], scores[of] - offset)


def test_p_values_are_valid_in_every_group(model, fresh):
    X, groups = fresh
    p_values = model.p_value(X, strata=groups)
    for label, calibration in zip(model.sets_.strata.labels, model.sets_.strata.calibrations, strict=True):
        for t in (0.05, 0.1, 0.2):
            share = np.mean(p_values[groups == label] <= t)
            assert share < t + 4 * np.sqrt(t * (1 - t) / calibration.effective_size(1 - t))


def test_detect_judges_by_group():
    model = fitted("conformal")
    wide = np.vstack([np.tile([2.2, 2.2], (10, 1)), rows(190, 2)[0] * 0.5])
    found = {group: model.detect(wide, fdr=0.2, strata=[group] * 200).flagged[:10] for group in SPREADS}
    assert found["calm"].all()
    assert not found["wild"].any()


def test_a_group_not_seen_has_the_offset_of_all_rows(model, fresh):
    X = fresh[0][:200]
    with pytest.warns(UnseenStratumWarning, match="'elsewhere'") as caught:
        decisions = model.decision_function(X, strata=["elsewhere"] * 200)
    np.testing.assert_array_equal(decisions, model.decision_function(X))
    assert issubclass(caught[0].category, mvset.exceptions.MvsetWarning)
    with pytest.warns(UnseenStratumWarning):
        np.testing.assert_array_equal(model.level(X, strata=["elsewhere"] * 200), model.level(X))


def test_a_small_group_shrinks_to_the_whole():
    """Twenty rows among 1500: the offset is about half-way between that of the group and that of the whole."""
    X, groups = rows(1500, 0, calm=1.0)
    wild = rows(20, 3, calm=0.0)[0]
    model = MinimumVolumeSet(0.8, sigma=1.5, splits=5, random_state=0)
    model.fit(np.vstack([X, wild]), strata=np.append(groups, ["wild"] * 20))
    far = rows(20_000, 4, calm=0.0)[0]
    inside_by_group = np.mean(model.predict(far, strata=["wild"] * 20_000) == 1)
    inside_together = np.mean(model.predict(far) == 1)
    assert inside_together + 0.08 < inside_by_group < 0.8
    calm = dict(zip(model.sets_.strata.labels, model.sets_.strata.calibrations, strict=True))["calm"]
    assert calm.offset(0.8) == pytest.approx(model.offset_, rel=0.03)


@pytest.mark.parametrize("mode", ["conformal", "pac"])
def test_with_a_guarantee_a_group_of_few_rows_has_the_offsets_of_the_whole(mode, fresh):
    model = fitted(mode, n=600, calm=0.985)
    few = dict(zip(model.sets_.strata.labels, model.sets_.strata.calibrations, strict=True))["wild"]
    assert few == model.sets_.calibration
    X = fresh[0][:500]
    np.testing.assert_array_equal(model.predict(X, strata=["wild"] * 500), model.predict(X))


def test_labels_agree_whatever_their_type():
    X, groups = rows(400, 0)
    numbers = np.where(groups == "calm", 1, 20)
    kinds = {
        "int": numbers,
        "float": numbers.astype(float),
        "float32": numbers.astype(np.float32),
        "text": numbers.astype(str),
        "list": numbers.tolist(),
        "objects": numbers.astype(object),
        "pandas": pd.Series(numbers.astype(str), dtype="category"),
        "nullable": pd.Series(numbers, dtype="Int64"),
    }
    model = MinimumVolumeSet(sigma=1.5, splits=3, random_state=0).fit(X, strata=kinds["int"])
    assert model.sets_.strata.labels == ["1", "20"]
    for kind in kinds.values():
        np.testing.assert_array_equal(model.level(X, strata=kind), model.level(X, strata=numbers))
        again = MinimumVolumeSet(sigma=1.5, splits=3, random_state=0).fit(X, strata=kind)
        assert again.sets_.strata == model.sets_.strata


@pytest.mark.parametrize("method", ["predict", "decision_function", "level", "p_value", "detect", "check_drift"])
def test_groups_that_the_fit_was_not_given_are_refused(method):
    X, groups = rows(300, 0)
    model = MinimumVolumeSet(sigma=1.5, splits=2, random_state=0).fit(X)
    with pytest.raises(ValueError, match="the model was fitted without strata"):
        getattr(model, method)(X, strata=groups)
    grouped = MinimumVolumeSet(sigma=1.5, splits=2, random_state=0).fit(X, strata=groups)
    with pytest.raises(ValueError, match=r"strata has shape \(299,\), and X has 300 rows"):
        getattr(grouped, method)(X, strata=groups[1:])
    with pytest.raises(ValueError, match=r"strata has no label for 1 row, row 7"):
        getattr(grouped, method)(X, strata=[None if i == 7 else group for i, group in enumerate(groups)])


def test_other_estimators_know_no_groups():
    X, groups = rows(300, 0)
    model = PluginKernelDensity(sigma=1.0, n_volume_points=500, random_state=0).fit(X)
    with pytest.raises(ValueError, match="fitted without strata"):
        model.predict(X, strata=groups)


@pytest.mark.parametrize("missing", [None, np.nan])
def test_rows_without_a_group_are_refused(missing):
    X, groups = rows(100, 0)
    labels = groups.astype(object)
    labels[[3, 5]] = missing
    with pytest.raises(ValueError, match=r"strata has no label for 2 rows, the first of them row 3"):
        MinimumVolumeSet(sigma=1.5).fit(X, strata=labels)


def test_files_and_pickles_keep_the_groups(model, fresh, tmp_path):
    X, groups = fresh[0][:300], fresh[1][:300]
    mvset.save(model, tmp_path / "m")
    for copy in (mvset.load(tmp_path / "m"), pickle.loads(pickle.dumps(model))):
        assert copy.sets_.strata == model.sets_.strata
        np.testing.assert_array_equal(copy.level(X, strata=groups), model.level(X, strata=groups))
        assert copy.check_drift(X, strata=groups) == model.check_drift(X, strata=groups)


def test_a_pipeline_takes_groups(fresh, tmp_path):
    X, groups = rows(600, 0)
    model = make_pipeline(StandardScaler(), MinimumVolumeSet(sigma=1.0, splits=3, random_state=0))
    model.fit(X, minimumvolumeset__strata=groups)
    shares = shares_inside(model, fresh, strata=fresh[1])
    assert all(abs(share - 0.95) < 0.05 for share in shares.values())
    scaled = model[:-1].transform(X)
    levels = model[-1].level(scaled, strata=groups)
    np.testing.assert_array_equal(levels <= 0.95, model.predict(X, strata=groups) == 1)
    mvset.save(model, tmp_path / "m")
    np.testing.assert_array_equal(mvset.load(tmp_path / "m")[-1].level(scaled, strata=groups), levels)


@pytest.mark.parametrize("mode", ["cross", "conformal"])
def test_batches_without_drift_hardly_ever_alarm(mode):
    model = fitted(mode)
    reports = []
    for seed in range(40):
        X, groups = rows(300, 100 + seed, calm=0.5)  # other shares of the groups are no drift
        reports.append(model.check_drift(X, strata=groups))
    assert sum(report.drifted for report in reports) <= 3  # binomial with 0.01: more than that once in 1500
    assert np.mean([report.share_outside for report in reports]) == pytest.approx(0.05, abs=0.02)
    X, _ = rows(300, 100, calm=0.0)
    assert model.check_drift(X).drifted  # without their groups it would be one


@pytest.mark.parametrize("mode", ["cross", "conformal"])
def test_a_drift_inside_a_group_is_seen(mode):
    model = fitted(mode)
    X, groups = rows(400, 9)
    moved = np.where((groups == "calm")[:, np.newaxis], X, X + 3.0)
    report = model.check_drift(moved, strata=groups)
    assert report.drifted
    assert not model.check_drift(X, strata=groups).drifted
    # Calm rows as wide as the wild ones: nothing new for those who do not know the groups of rows.
    wider = np.where((groups == "calm")[:, np.newaxis], 1.6 * X, X)
    assert model.check_drift(wider, strata=groups).drifted


def test_the_share_outside_is_that_of_predict(model, fresh):
    X, groups = fresh[0][:700], fresh[1][:700]
    for mass in (0.9, 0.95):
        report = model.check_drift(X, mass=mass, strata=groups)
        assert report.n_outside == np.sum(model.predict(X, mass, strata=groups) == -1)


def test_groups_held_out_together_have_their_own_offsets_as_well():
    X, groups = rows(600, 0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = MinimumVolumeSet(0.9, sigma=1.5, splits=5, random_state=0)
        model.fit(X, groups=np.arange(600) // 10, strata=groups)
    assert model.sets_.strata.labels == ["calm", "wild"]
    assert len(model.sets_.strata.levels) == 600
