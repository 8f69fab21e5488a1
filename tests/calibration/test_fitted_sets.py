import pickle
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest

from mvset import MinimumVolumeSet
from mvset.calibration.constant_columns import ConstantColumns
from mvset.calibration.fitted_sets import FittedSets
from mvset.paper.datasets import two_moons

X = two_moons(400, random_state=0)


@pytest.fixture(scope="module", params=["cross", "conformal", "pac"])
def sets(request):
    return MinimumVolumeSet(0.9, sigma=0.3, splits=5, calibration=request.param, random_state=0).fit(X).sets_


def test_it_is_immutable_and_pickled_through_its_constructor(sets):
    assert pickle.loads(pickle.dumps(sets)) == sets
    with pytest.raises(FrozenInstanceError):
        sets.mass = 0.5
    for array in (sets.calibration.offsets, sets.masses, sets.volume_sample.log_weights):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0.0
    assert not len(sets.volume_sample.points)


@pytest.mark.parametrize(
    ("field", "damage"),
    [
        ("mass", lambda mass: 1.5),
        ("mass", lambda mass: "0.9"),
        ("masses", lambda a: np.full_like(a, np.nan)),
        ("masses", lambda a: a + 0.5),
        ("masses", lambda a: a[:0]),
        ("function", lambda function: None),
        ("calibration", lambda calibration: None),
        ("constants", lambda constants: constants.values),
        ("constants", lambda constants: ConstantColumns(np.array([2.0]), np.array([7.0]))),
        ("sample_scores", lambda a: a[:-1]),
        ("volume_sample", lambda sample: None),
        ("strata", lambda strata: {"a": 0.5}),
    ],
)
def test_damaged_parts_are_refused(sets, field, damage):
    parts = sets.__getstate__()
    parts[field] = damage(parts[field])
    named = "^mass must be" if field == "mass" else rf"^FittedSets\.{field} "
    with pytest.raises(ValueError, match=named):
        FittedSets(**parts)
    with pytest.raises(ValueError, match=named):
        object.__new__(FittedSets).__setstate__(parts)


def test_answers_are_functions_of_the_score(sets):
    scores = np.sort(np.concatenate([sets.calibration.offsets, sets.sample_scores[:500], [-1e300, -1e5, 9.0]]))
    levels, p_values = sets.level(scores), sets.p_value(scores)
    assert (np.diff(levels) <= 0).all()
    assert (np.diff(p_values) >= 0).all()
    for mass in (0.5, 0.8, 0.9):
        np.testing.assert_array_equal(levels <= mass, scores >= sets.offset(mass))
    assert sets.offset() == sets.offset(0.9)
    assert sets.volume() == sets.volume(0.9)
    assert sets.mass_interval() == sets.mass_interval(0.9)


def test_the_drift_counter_counts_part_by_part(sets):
    scores = np.random.default_rng(0).permutation(sets.calibration.scores)[:150] - 0.2
    whole, parts = sets.drift_counter(), sets.drift_counter()
    whole.update(scores)
    for part in np.array_split(scores, 4):
        parts.update(part)
    assert whole.report() == parts.report()
    assert whole.report().n_outside == np.sum(scores < sets.offset()) > 0


def test_a_row_in_which_a_constant_column_changed_is_below_every_offset(sets):
    with_constant = replace(sets, constants=ConstantColumns(np.array([0.0]), np.array([X[0, 0]])))
    scores = with_constant.scores(np.vstack([X, [[X[0, 0], 1e300]]]))
    assert scores[-1] < sets.calibration.offsets[-1]
    scores = scores[:-1]
    assert scores[0] == sets.scores(X)[0] == sets.function(X[:1])[0]
    changed = X[:, 0] != X[0, 0]
    assert (scores[changed] < sets.calibration.offsets[-1]).all()
    np.testing.assert_array_equal(with_constant.level(scores[changed]), 1.0)
    np.testing.assert_array_equal(with_constant.p_value(scores[changed]), sets.p_value(-np.inf))


def test_what_the_caller_holds_cannot_change_it():
    model = MinimumVolumeSet(0.9, sigma=[0.2, 0.3], splits=3, random_state=0).fit(X)
    before = model.sets_.masses.copy()
    model.curves_[0].masses[:] = 0.5
    np.testing.assert_array_equal(model.sets_.masses, before)


def test_strata_judge_their_rows():
    strata = np.where(X[:, 0] < 0.5, "left", "right").astype(object)
    sets = MinimumVolumeSet(0.9, sigma=0.3, splits=5, random_state=0).fit(X, strata=strata).sets_
    scores = sets.scores(X)
    levels, offsets = sets.level(scores, strata), sets.row_offsets(0.8, strata, len(X))
    np.testing.assert_array_equal(levels <= 0.8, scores >= offsets)
    assert set(offsets) == {calibration.offset(0.8) for calibration in sets.strata.calibrations}
    np.testing.assert_array_equal(sets.row_offsets(None, None, 3), sets.offset())
    np.testing.assert_array_equal(sets.drift_scores(scores, strata), 1.0 - levels)
    np.testing.assert_array_equal(sets.drift_scores(scores), scores)
    assert pickle.loads(pickle.dumps(sets)) == sets
    assert replace(sets, strata=None) != sets
    with pytest.raises(ValueError, match="fitted without strata"):
        replace(sets, strata=None).drift_counter(grouped=True)
