import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reference
from mvset.calibration.offsets import half_ranks, level_at, offset_at, offsets_by_rank, order_statistics

MASSES = np.linspace(0.01, 0.99, 99)


@pytest.mark.parametrize("m", [1, 2, 20, 100, 101])
def test_against_trying_every_offset(m):
    scores = np.random.default_rng(m).uniform(size=(3, m))
    expected = [np.mean([reference.offset(row, mass) for row in scores]) for mass in MASSES]
    np.testing.assert_allclose(offset_at(offsets_by_rank(scores).mean(axis=0), MASSES), expected)


@pytest.mark.parametrize("m", [10, 100, 397])
def test_held_out_mass_reaches_what_was_asked_with_no_row_to_spare(m):
    scores = np.random.default_rng(0).normal(size=m)
    offsets = offset_at(offsets_by_rank(scores)[0], MASSES)
    held = (scores >= offsets[:, None]).sum(axis=1)
    assert (held / m >= MASSES - 1e-12).all()
    assert ((held - 1) / m < MASSES).all()


def test_expected_mass_of_new_rows():
    """Uniform scores: the mass of {score >= offset} is 1 - offset; its mean is (k + 1/2)/(m + 1)."""
    scores = np.random.default_rng(0).uniform(size=(20_000, 100))
    masses = 1 - np.array([offset_at(row, 0.95) for row in offsets_by_rank(scores)])
    assert masses.mean() == pytest.approx(95.5 / 101, abs=4 * masses.std() / np.sqrt(20_000))


@given(
    scores=st.lists(st.sampled_from([0.0, 1e-300, 0.1, 0.25, 0.5, 1.0]), min_size=1, max_size=40),
    mass=st.floats(0, 1, exclude_min=True, exclude_max=True),
    new=st.floats(-1, 2),
)
@settings(deadline=None)
def test_level_is_the_smallest_mass_that_contains_the_point(scores, mass, new):
    """Exactly, ties and all."""
    ranked = offsets_by_rank(scores)[0]
    for score in [*ranked, new]:
        assert (level_at(ranked, score) <= mass) == (score >= offset_at(ranked, mass))


def test_level_ends():
    ranked = offsets_by_rank([0.1, 0.2, 0.3, 0.4])[0]
    np.testing.assert_allclose(level_at(ranked, [1.0, 0.22, 0.1, 0.05]), [0.0, 0.5, 0.75, 1.0])


def test_order_statistics_are_the_scores_descending():
    scores = np.random.default_rng(0).normal(size=50)
    ranked = order_statistics(scores)
    np.testing.assert_allclose(ranked, np.sort(scores)[::-1], rtol=1e-11)
    np.testing.assert_array_equal((scores >= ranked[:, np.newaxis]).sum(axis=1), np.arange(1, 51))


@pytest.mark.parametrize("m", [1, 2, 50])
def test_half_ranks_are_order_statistics_and_the_middles_between_them(m):
    scores = np.random.default_rng(0).normal(size=m)
    ranked = half_ranks(scores)
    np.testing.assert_array_equal(ranked[::2], order_statistics(scores))
    np.testing.assert_allclose(ranked[1::2], 0.5 * (ranked[:-1:2] + ranked[2::2]), atol=1e-11)
    np.testing.assert_array_equal((scores >= ranked[:, np.newaxis]).sum(axis=1), np.arange(2, 2 * m + 1) // 2)


def test_offsets_decrease_with_mass():
    ranked = offsets_by_rank(np.random.default_rng(0).lognormal(sigma=30, size=(7, 50)))
    assert (np.diff(ranked) <= 0).all()
