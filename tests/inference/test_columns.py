import warnings

import numpy as np
import pytest
from scipy import stats

from mvset.inference.columns import ColumnCounter, ColumnReference, anderson_darling_p_value, simes_p_value

SHIFT = 0.5
DRAWS = {
    "normal": lambda rng, size: rng.normal(size=size),
    "gamma": lambda rng, size: (rng.gamma(2.0, size=size) - 2.0) / np.sqrt(2.0),
    "t(5)": lambda rng, size: rng.standard_t(5, size=size) / np.sqrt(5 / 3),
    "lognormal": lambda rng, size: (rng.lognormal(size=size) - np.exp(0.5)) / np.sqrt((np.e - 1.0) * np.e),
    "uniform": lambda rng, size: rng.uniform(-np.sqrt(3), np.sqrt(3), size=size),
}


def counter(before, now, *, ordered=False):
    found = ColumnCounter(ColumnReference.of(before, ordered=ordered))
    for part in np.array_split(now, 3):
        found.update(part)
    return found


def p_value(before, now, *, ordered=False):
    return simes_p_value(counter(before, now, ordered=ordered).p_values())


def autoregressive(rng, n, memory):
    rows = np.zeros((n, 3))
    for i, step in enumerate(rng.normal(size=(n, 3))):
        rows[i] = memory * rows[i - 1] + np.sqrt(1.0 - memory**2) * step
    return rows


def test_the_statistic_is_that_of_anderson_and_darling():
    """The reference is a sketch of 129 quantiles. scipy standardises: mean one, and the variance of two samples."""
    rng = np.random.default_rng(0)
    variance = 2.0 * (np.pi**2 - 9.0) / 3.0 * (1.0 - 3.1 / 1000.0)
    for shift in (0.2, 0.3):
        before, now = rng.normal(size=(700, 1)), rng.normal(size=(300, 1)) + shift
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            standardised = stats.anderson_ksamp([before[:, 0], now[:, 0]], midrank=True).statistic
        expected = anderson_darling_p_value(np.array([1.0 + standardised * np.sqrt(variance)]))
        assert counter(before, now).p_values() == pytest.approx(expected, rel=0.25)


@pytest.mark.parametrize(("statistic", "expected"), [(1.0, 0.3573), (2.492, 0.05), (3.857, 0.01), (8.0, 1.1e-4)])
def test_known_quantiles(statistic, expected):
    """Of the table of D'Agostino and Stephens; the last by four million draws of the sum of weighted terms."""
    assert anderson_darling_p_value(np.array([statistic]))[0] == pytest.approx(expected, rel=0.03)


def test_small_p_values_keep_falling():
    p_values = anderson_darling_p_value(np.linspace(0.0, 60.0, 400))
    assert (np.diff(p_values) <= 0).all()
    assert p_values[0] == 1.0
    assert 0.0 < p_values[-1] < 1e-25


@pytest.mark.parametrize("name", DRAWS)
def test_false_alarms_and_shifts(name):
    """Half a standard deviation in 200 rows; a thousand draws are in `benchmarks/drift.py`."""
    rng, draw = np.random.default_rng(1), DRAWS[name]
    rows = [(draw(rng, (800, 3)), draw(rng, (200, 3))) for _ in range(150)]
    assert np.mean([p_value(*each) <= 0.05 for each in rows]) <= 0.05 + 4 * np.sqrt(0.05 * 0.95 / 150)
    assert np.mean([p_value(before, now + SHIFT) <= 0.01 / 3 for before, now in rows[:60]]) == 1.0


@pytest.mark.parametrize("n", [1, 2, 5])
def test_few_rows_of_discrete_values(n):
    rng = np.random.default_rng(2)
    found = [p_value(rng.poisson(1.0, (300, 2)) * 1.0, rng.poisson(1.0, (n, 2)) * 1.0) <= 0.05 for _ in range(300)]
    assert np.mean(found) <= 0.05 + 4 * np.sqrt(0.05 * 0.95 / 300)


def test_missing_values_count():
    rng = np.random.default_rng(3)
    before, now = rng.normal(size=(500, 2)), rng.normal(size=(200, 2))
    before[rng.uniform(size=500) < 0.1, 0] = np.nan
    same = now.copy()
    same[rng.uniform(size=200) < 0.1, 0] = np.nan
    assert p_value(before, same) > 0.01
    now[rng.uniform(size=200) < 0.5, 0] = np.nan
    assert counter(before, now).p_values()[0] < 1e-6
    empty = np.column_stack([np.full(50, np.nan), np.arange(50.0)])
    assert np.isfinite(counter(empty, empty).p_values()).all()


def test_columns_that_changed_have_names_and_quartiles():
    rng = np.random.default_rng(4)
    before, now = rng.normal(size=(1000, 3)), rng.normal(size=(400, 3))
    now[:, 1] += 1.0
    now[:, 2] *= 3.0
    shifted, wider = counter(before, now).changed(["a", "b", "c"], 0.01)
    assert (shifted.name, wider.name) == ("b", "c")
    np.testing.assert_allclose(shifted.quartiles, stats.norm.ppf([0.25, 0.5, 0.75]) + 1.0, atol=0.2)
    np.testing.assert_allclose(shifted.quartiles_before, stats.norm.ppf([0.25, 0.5, 0.75]), atol=0.15)
    assert wider.quartiles[1] == pytest.approx(0.0, abs=0.3)


@pytest.mark.parametrize(("memory", "n"), [(0.5, 200), (0.9, 50), (0.9, 200)])
def test_false_alarms_in_series(memory, n):
    rng = np.random.default_rng(5)
    alarms = 0
    for _ in range(150):
        rows = autoregressive(rng, 800 + n, memory)
        alarms += p_value(rows[:800], rows[800:], ordered=True) <= 0.05
    assert alarms / 150 <= 0.05 + 4 * np.sqrt(0.05 * 0.95 / 150)


def test_a_part_of_a_season_is_compared_with_such_parts():
    rng, hours = np.random.default_rng(6), np.arange(1200)
    rows = np.sin(2 * np.pi * hours / 100)[:, np.newaxis] + 0.2 * rng.normal(size=(1200, 1))
    assert p_value(rows[:1000], rows[1000:1050], ordered=True) > 0.05
    assert p_value(rows[:1000], rows[1000:1050]) < 1e-6
    assert p_value(rows[:1000], rows[1000:] + 1.5, ordered=True) < 1e-3


def test_a_column_that_wanders_is_not_tested():
    rng = np.random.default_rng(7)
    rows = np.column_stack([np.cumsum(rng.normal(size=600)), rng.normal(size=600)])
    found = counter(rows[:400], rows[400:] + np.array([50.0, 2.0]), ordered=True)
    np.testing.assert_array_equal(found.reference.wandering, [True, False])
    assert found.p_values()[0] == 1.0 > 1e-6 > found.p_values()[1]


def test_rows_drawn_from_a_series_stand_for_those_between():
    rng = np.random.default_rng(8)
    rows = autoregressive(rng, 20_000, 0.98)
    whole, thinned = ColumnReference.of(rows, ordered=True), ColumnReference.of(rows[::10], ordered=True, thinned=10.0)
    np.testing.assert_allclose(thinned.effect_of(500), whole.effect_of(500), rtol=0.3)
    np.testing.assert_allclose(thinned.independent_rows, whole.independent_rows, rtol=0.3)


def test_parts_of_a_damaged_file_are_refused():
    reference = ColumnReference.of(np.random.default_rng(9).normal(size=(50, 2)), ordered=False)
    state = reference.__getstate__()
    for name, value, problem in [
        ("steps", -state["steps"], "steps must ascend"),
        ("counts", state["counts"][:, 1:].copy(), "counts must have"),
        ("counts", state["counts"][:1].copy(), "counts must have length"),
        ("effects", 0.5 * state["effects"], "effects must be at least one"),
        ("independent_rows", 0.0 * state["independent_rows"], "independent_rows must be positive"),
    ]:
        with pytest.raises(ValueError, match=problem):
            ColumnReference(**state | {name: value})
