import warnings

import numpy as np
import pytest

from mvset import MinimumVolumeSet
from mvset.calibration.calibration import Calibration
from mvset.calibration.dependence import Dependence
from mvset.calibration.guarantees import Guarantee
from mvset.calibration.row_order import RowOrder, warn_about_order
from mvset.calibration.splits import BlockSplitting, GroupSplitting, RandomSplitting
from mvset.exceptions import DependenceWarning

NAMES = ["flow", "pressure", "heat"]
RANDOM = RandomSplitting(10, 0.2, None)


def days(rng, n_days=20, n_rows=50, spread=2.0):
    """Every day has its own centre."""
    centres = np.repeat(spread * rng.normal(size=(n_days, 3)), n_rows, axis=0)
    return centres + rng.normal(size=(n_days * n_rows, 3))


def walk(rng, n):
    return np.column_stack([np.cumsum(rng.normal(size=n)), rng.normal(size=(n, 2))])


def fit_warnings(rows, **parameters):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = MinimumVolumeSet(sigma=1.0, splits=5, random_state=0, **parameters).fit(rows)
    return model, [str(each.message) for each in caught if each.category is DependenceWarning]


@pytest.mark.parametrize("n", [19, 200, 1500])
def test_independent_rows_hardly_ever_seem_dependent(n):
    rng = np.random.default_rng(0)
    draws = [rng.normal(size=(n, 3)), rng.poisson(1.0, (n, 3)) * 1.0, rng.standard_t(2, (n, 3))] * 40
    assert sum(RowOrder.of(rng.permutation(draw)).is_dependent for draw in draws) <= 2


def test_days_are_noticed_although_their_scores_are_independent():
    rng = np.random.default_rng(1)
    assert all(RowOrder.of(days(rng)).is_dependent for _ in range(20))
    assert all(RowOrder.of(days(rng, spread=0.7)).is_dependent for _ in range(20))
    assert RowOrder.of(days(rng, n_rows=1000)).is_dependent  # by rows that are far from each other


def test_the_interval_of_days_is_that_of_their_number():
    model, said = fit_warnings(days(np.random.default_rng(2)))
    assert said[0].startswith("Neighbouring rows are similar. The 1000 calibration rows count for about ")
    assert model.effective_sample_size_ < 40
    assert model.mass_interval_.low < 0.85
    shuffled, said = fit_warnings(np.random.default_rng(0).permutation(days(np.random.default_rng(2))))
    assert said == []
    assert shuffled.effective_sample_size_ > 500


def test_with_groups_nothing_is_counted_twice():
    rows, labels = days(np.random.default_rng(3)), np.repeat(np.arange(20), 50)
    model = MinimumVolumeSet(mass=0.8, sigma=1.0, splits=5, random_state=0).fit(rows, groups=labels)
    calibration = model.sets_.calibration
    together = calibration.effects * calibration.order_effects
    assert 5.0 < model.effective_sample_size_ < 100.0
    assert together.max() < 3.0 * 50  # of splits that disagree: up to three


def test_the_order_of_a_sorted_table_means_nothing():
    rng = np.random.default_rng(4)
    rows = rng.normal(size=(500, 3))
    rows[:, 1] += rows[:, 0]
    ordered = rows[np.argsort(-rows[:, 0])]
    order = RowOrder.of(ordered)
    assert (order.is_dependent, order.sorted_by) == (False, 0)
    assert order.dependence(RANDOM) == Dependence(ordered=False)
    model, said = fit_warnings(ordered)
    assert model.effective_sample_size_ > 250
    assert len(said) == 1
    assert said[0].startswith("The rows are sorted by column x0. If it is a time or a counter, leave it out")
    assert model.check_drift(rng.permutation(rows)[:200] + 0.5).drifted


def test_contiguous_strata_are_no_dependence():
    rng = np.random.default_rng(9)
    labels = np.repeat(["a", "b", "c"], 200)
    rows = rng.normal(size=(600, 3)) * np.repeat([1.0, 3.0, 9.0], 200)[:, np.newaxis]
    rows += np.repeat([0.0, 5.0, 9.0], 200)[:, np.newaxis]
    assert RowOrder.of(rows).is_dependent
    assert not RowOrder.of(rows, strata=labels).is_dependent
    assert RowOrder.of(rows + days(rng, 60, 10), strata=labels).is_dependent


def test_columns_of_few_values_do_not_sort_a_table():
    """The number of the day ascends, and rows of a day are still similar."""
    rows = days(np.random.default_rng(5))
    rows[:, 2] = np.repeat(np.arange(20), 50)
    assert RowOrder.of(rows).sorted_by is None
    assert RowOrder.of(rows).is_dependent


def test_what_the_user_says_counts():
    rows = np.random.default_rng(6).normal(size=(300, 3))
    assert RowOrder.of(rows, time_order=True).is_dependent
    assert RowOrder.of(rows, groups=np.arange(300) % 30).is_dependent
    assert RowOrder.of(rows, time_order=True).dependence(BlockSplitting(5, 0.2, 10)) == Dependence(ordered=True)


def test_a_series_that_is_too_short_for_its_memory_is_said():
    rng = np.random.default_rng(7)
    _, said = fit_warnings(walk(rng, 800), time_order=True)
    assert len(said) == 1
    assert said[0].startswith("Rows are still similar after 40 rows, and the table is too short for a longer gap.")
    assert "Column x0 wanders or trends, so new values may leave the range of the fit." in said[0]
    trend = rng.normal(size=(800, 3)) + np.outer(np.linspace(0.0, 4.0, 800), [0.0, 1.0, 1.0])
    _, said = fit_warnings(trend, time_order=True)
    assert "Columns x1, x2 wander or trend" in said[0]
    _, said = fit_warnings(rng.normal(size=(800, 3)), time_order=True)
    assert said == []


def test_names_of_columns():
    order = RowOrder.of(walk(np.random.default_rng(8), 400))
    calibration = Calibration.from_scores(np.sin(np.arange(400) / 30), Guarantee("cross")).dependent(
        np.sin(np.arange(400) / 30)
    )
    with pytest.warns(DependenceWarning, match="Column flow wanders or trends"):
        warn_about_order(order, calibration, 0.9, RANDOM, NAMES)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_about_order(order, calibration, 0.9, GroupSplitting(5, 0.2, np.arange(400)), NAMES)
