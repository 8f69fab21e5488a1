import numpy as np
import pytest

from mvset.inference.events import _maximal_runs, find_episodes, row_evidence

RNG = np.random.default_rng


def found(p_values, **parameters):
    evidence = row_evidence(p_values)
    return [
        (each.first, each.last) for each in find_episodes(evidence, np.ones(len(evidence), dtype=int), **parameters)
    ]


def runs_by_definition(evidence):
    """Ruzzo and Tompa: a run whose parts at its ends are positive and whose surroundings are not, recursively."""
    if not len(evidence) or evidence.max() <= 0.0:
        return []
    up_to = np.append(0.0, np.cumsum(evidence))
    sums = up_to[np.newaxis, :] - up_to[:, np.newaxis]
    sums[np.tril_indices(len(up_to))] = -np.inf
    best = sums.max()
    first, end = min(zip(*np.nonzero(sums >= best - 1e-12), strict=True), key=lambda run: run[1] - run[0])
    before, after = runs_by_definition(evidence[:first]), runs_by_definition(evidence[end:])
    return [*before, (int(first), int(end) - 1), *((a + end, b + end) for a, b in after)]


def test_the_bets_are_a_density():
    u = np.geomspace(1e-60, 1.0, 200_000)
    assert np.trapezoid(np.exp(row_evidence(u)) * u, np.log(u)) == pytest.approx(1.0, abs=1e-3)
    assert (np.diff(row_evidence(u)) <= 0).all()
    assert row_evidence(np.array([0.6])) == row_evidence(np.array([1.0])) < 0


def test_runs_are_the_maximal_ones():
    rng = RNG(0)
    for _ in range(200):
        evidence = rng.normal(size=rng.integers(1, 40)) - 0.3
        assert [run[:2] for run in _maximal_runs(evidence)] == runs_by_definition(evidence)


def test_strengths_are_sums():
    evidence = RNG(1).normal(size=300)
    for first, last, strength in _maximal_runs(evidence):
        assert strength == pytest.approx(evidence[first : last + 1].sum())


@pytest.mark.parametrize("n", [1, 30, 1000])
def test_chance_makes_no_more_events_than_it_says(n):
    """Sixty tables with a rate of one in ten: about six of them could have one; the bound is far from tight."""
    rng = RNG(2)
    assert sum(len(found(rng.uniform(size=n), fdr=0.1)) > 0 for _ in range(60)) <= 12


@pytest.mark.parametrize("length", [12, 40, 300])
def test_a_failure_is_found_with_its_ends(length):
    rng = RNG(3)
    for _ in range(20):
        p_values = rng.uniform(size=5000)
        p_values[2000 : 2000 + length] = rng.uniform(0.002, 0.02, size=length)
        ((first, last),) = found(p_values)
        assert abs(first - 2000) <= 6
        assert abs(last - 1999 - length) <= 6


def test_each_of_several_failures_is_listed_in_its_order():
    p_values = RNG(4).uniform(size=3000)
    for start in (500, 1500, 2500):
        p_values[start : start + 20] = 0.003
    assert [first for first, _ in found(p_values)] == pytest.approx([500, 1500, 2500], abs=4)


def test_rows_that_count_for_less_are_less_evidence():
    p_values = RNG(5).uniform(size=1000)
    p_values[300:312] = 0.004
    assert len(found(p_values)) == 1
    assert found(p_values, rows_per_independent_row=4.0) == []


def test_blocks_of_rows_are_as_good_as_rows():
    p_values = RNG(6).uniform(size=4000)
    p_values[2000:2080] = 0.004
    evidence = row_evidence(p_values).reshape(-1, 8).sum(axis=1)
    (episode,) = find_episodes(evidence, np.full(500, 8))
    assert (episode.first, episode.last) == (250, 259)
    assert episode.by_chance < 1e-6


def test_no_rows_have_no_events():
    assert find_episodes(np.empty(0), np.empty(0, dtype=int)) == []
