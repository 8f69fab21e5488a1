from types import SimpleNamespace

import numpy as np
import pytest

from mvset.inference.timeline import FILE_STEP, Timeline, Times, level_bins, row_places, shown_time

N = 5000
EVIDENCE = np.random.default_rng(1).normal(size=20_000) - 0.6


@pytest.fixture(scope="module")
def levels():
    """Normal rows, and from row 3000 on half of them far out."""
    rng = np.random.default_rng(0)
    unlike = (np.arange(N) >= 3000) & (rng.uniform(size=N) < 0.5)
    return np.where(unlike, 1.0, rng.uniform(size=N))


def counted(levels, *, parts=1, places=None, times=None, kind="date", max_blocks=500):
    timeline = Timeline(0.95, max_blocks)
    places = row_places(np.arange(len(levels))) if places is None else places
    for rows in np.array_split(np.arange(len(levels)), parts):
        when = None if times is None else Times(times[rows], kind)
        timeline.add(levels[rows], EVIDENCE[places[rows] % FILE_STEP], places[rows], when)
    return timeline


def report(drifted):
    return SimpleNamespace(drifted=drifted, n_rows=N, effective_rows=float(N))


def same(a, b):
    return np.array_equal(a.blocks, b.blocks)


@pytest.mark.parametrize("mass", [0.3, 0.5, 0.9, 0.95, 0.999])
def test_the_mass_is_an_edge(mass):
    edges = level_bins(mass)
    assert mass in edges
    assert (np.diff(edges) > 0).all()
    assert (edges[0], edges[-1]) == (0.0, 1.0)


def test_few_rows_are_blocks_of_their_own(levels):
    summary = counted(levels[:400]).summary([], report(False), 1000)
    assert summary.n_rows.tolist() == [1] * 400
    np.testing.assert_array_equal(summary.n_outside, levels[:400] > 0.95)
    assert summary.onset is None


def test_memory_is_bounded_and_nothing_is_lost(levels):
    timeline = counted(levels)
    summary = timeline.summary([], report(False), 1000)
    assert 250 <= len(timeline.blocks) <= 500
    assert summary.n_rows.sum() == N
    assert summary.n_outside.sum() == (levels > 0.95).sum()
    assert set(summary.n_rows.tolist()) <= {16, N % 16}
    np.testing.assert_array_equal(np.add.reduceat(levels > 0.95, np.arange(0, N, 16)), summary.n_outside)


def test_neither_batches_nor_workers_nor_the_order_of_rows_make_a_difference(levels):
    rng = np.random.default_rng(0)
    times = np.cumsum(rng.exponential(size=N) * 1e9) + 1.7e15
    whole = counted(levels, times=times)
    shuffled = rng.permutation(N)
    assert same(whole, counted(levels, parts=13, times=times))
    assert same(
        whole, counted(levels[shuffled], parts=7, places=row_places(shuffled.astype(np.int64)), times=times[shuffled])
    )
    one, other = Timeline(0.95, 500), Timeline(0.95, 500)
    one.add(levels[:4000], EVIDENCE[:4000], row_places(np.arange(4000)), Times(times[:4000], "date"))
    other.add(levels[4000:], EVIDENCE[4000:N], row_places(np.arange(4000, N)), Times(times[4000:], "date"))
    merged = Timeline(0.95, 500)
    merged.merge(other)
    merged.merge(one)
    assert same(whole, merged)


def test_a_wrong_date_costs_one_block(levels):
    times = 1.7e15 + 6e7 * np.arange(N)
    right = counted(levels, times=times)
    times[0] = 0.0
    assert abs(len(counted(levels, times=times).blocks) - len(right.blocks)) <= 1


@pytest.mark.parametrize("scale", [1e-300, 1.0, 1e300])
def test_times_of_any_size(levels, scale):
    times = scale * np.random.default_rng(0).uniform(-1, 1, size=N)
    timeline = counted(levels, parts=3, times=times, kind="number")
    assert 100 < len(timeline.blocks) <= 500
    assert timeline.blocks["counts"].sum() == N
    assert (timeline.blocks["first_time"][1:] > timeline.blocks["last_time"][:-1]).all()
    times[:2] = -1.7e308, 1.7e308
    assert counted(levels, times=times, kind="number").blocks["counts"].sum() == N


def test_the_onset_by_rows(levels):
    onset = counted(levels).summary([], report(True), 2000).onset
    assert onset.low.row <= 3000 <= onset.high.row
    assert onset.high.row - onset.low.row < 100
    assert onset.until is None
    assert not onset.from_first_row
    assert str(onset) == (
        f"row {onset.first.row} (between row {onset.low.row} and row {onset.high.row} with 95% confidence)"
    )


def test_the_onset_by_time_in_any_order(levels):
    minutes = 60_000_000 * np.arange(N) + 1_772_323_200_000_000  # from 2026-03-01 on
    onset = counted(levels[::-1], places=row_places(np.arange(N)), times=minutes[::-1].astype(float))
    onset = onset.summary([], report(True), 2000).onset
    assert onset.low.time <= "2026-03-03 02:00" <= onset.high.time
    assert onset.low.row >= 1999 >= onset.high.row  # the file begins with the newest row
    assert str(onset).startswith(f"{onset.first.time}, row {onset.first.row} (between 2026-03-03 0")
    assert f"and {onset.high.time[11:]} with 95% confidence)" in str(onset)


def test_rows_continue_in_the_order_of_files(levels):
    places = np.concatenate([row_places(np.arange(2500), 0), row_places(np.arange(2500), 1)])
    onset = counted(levels, places=places).summary(["a.csv", "b.csv"], report(True), 2000).onset
    assert (onset.low.table, onset.high.table) == ("b.csv", "b.csv")
    assert onset.low.row <= 500 <= onset.high.row
    assert "of b.csv" in str(onset)


def test_the_whole_table_is_unlike(levels):
    onset = counted(levels[3000:]).summary([], report(True), 2000).onset
    assert onset.from_first_row
    assert str(onset) == f"the first row, or longer (with 95% confidence no later than row {onset.high.row})"


def test_dates_and_numbers_do_not_mix(levels):
    timeline = counted(levels[:10], times=np.arange(10.0))
    with pytest.raises(ValueError, match="--time: some rows have a date for their time, others a number"):
        timeline.add(levels[:10], EVIDENCE[:10], row_places(np.arange(10)), Times(np.arange(10.0), "number"))


@pytest.mark.parametrize(
    ("time", "kind", "text"),
    [
        (12.0, "row", None),
        (12.5, "number", 12.5),
        (1.7e15, "date", "2023-11-14 22:13:20"),
        (1.7e15 + 40e6, "date", "2023-11-14 22:14"),
        (1.7e15 + 1e3, "date UTC", "2023-11-14 22:13:20.001 UTC"),
        (1.7e15, "date -05:30", "2023-11-14 16:43:20 -05:30"),
        (1.7e15, "date Europe/Berlin", "2023-11-14 23:13:20 Europe/Berlin"),
    ],
)
def test_times_as_people_write_them(time, kind, text):
    assert shown_time(time, kind) == text
