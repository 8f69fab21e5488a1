import numpy as np
import pytest

from mvset.inference.projections import Projections, RowCounter, RowReference

D = 4


def counter(before, now, *, ordered=False):
    found = RowCounter(RowReference.of(before, ordered=ordered))
    for part in np.array_split(now, 3):
        found.update(part)
    return found


def test_a_change_of_correlation_is_seen_in_sums_of_columns_only():
    rng, mix = np.random.default_rng(0), np.linalg.cholesky(0.5 + 0.5 * np.eye(D)).T
    seen = []
    for _ in range(40):
        found = counter(rng.normal(size=(800, D)), rng.normal(size=(200, D)) @ mix)
        seen.append((found.columns_p_value <= 0.0025, found.sums_p_value <= 0.0025))
    assert np.mean(seen, axis=0)[0] <= 0.1
    assert np.mean(seen, axis=0)[1] >= 0.8


@pytest.mark.parametrize("d", [2, 3, 30])
def test_false_alarms(d):
    rng = np.random.default_rng(2)
    alarms = [counter(rng.standard_t(3, (300, d)), rng.standard_t(3, (80, d))).sums_p_value <= 0.05 for _ in range(150)]
    assert np.mean(alarms) <= 0.05 + 4 * np.sqrt(0.05 * 0.95 / 150)


@pytest.mark.parametrize(("d", "n"), [(1, 0), (2, 2), (3, 4), (4, 8), (5, 16), (40, 24)])
def test_directions_are_all_signs_or_some(d, n):
    rows = np.random.default_rng(3).normal(size=(200, d))
    directions = Projections.of(rows).directions
    assert directions.shape == (n, d)
    np.testing.assert_allclose(np.linalg.norm(directions, axis=1), 1.0)


def test_constant_columns_and_missing_values_take_part_in_no_sum():
    rows = np.random.default_rng(4).normal(size=(200, 4))
    rows[:, 1] = 7.0
    rows[:, 2] = np.nan
    projections = Projections.of(rows)
    assert (projections.directions[:, [1, 2]] == 0).all()
    assert np.isfinite(projections(rows)).all()
    assert counter(rows, rows).sums_p_value > 0.9


def test_values_far_out_are_clipped():
    projections = Projections.of(np.random.default_rng(5).normal(size=(500, 2)))
    np.testing.assert_allclose(projections(np.full((1, 2), 1e300)), projections(np.full((1, 2), 1e3)))


def test_counts_of_other_counters_are_added():
    rng = np.random.default_rng(6)
    before, now = rng.normal(size=(300, 3)), rng.normal(size=(100, 3))
    whole, part = counter(before, now), counter(before, now[:40])
    part.add_counts(counter(before, now[40:]).counts)
    assert (part.columns_p_value, part.sums_p_value) == (whole.columns_p_value, whole.sums_p_value)


def test_damaged_parts_are_refused():
    reference = RowReference.of(np.random.default_rng(7).normal(size=(50, 3)), ordered=False)
    state = reference.__getstate__()
    with pytest.raises(ValueError, match="different sizes"):
        RowReference(**state | {"sums": reference.columns})
    with pytest.raises(ValueError, match="wrong type"):
        RowReference(**state | {"columns": None})
    with pytest.raises(ValueError, match="scale must be positive"):
        Projections(reference.projections.centre, 0.0 * reference.projections.scale, reference.projections.directions)
