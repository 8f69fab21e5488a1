import numpy as np
import pytest

from mvset.rows.sample import RowSample


def sampled(rows, size, seed=0, batches=()):
    sample = RowSample(size, seed)
    for part in np.split(rows, batches):
        sample.add(part)
    return sample.rows()


def test_all_rows_if_there_are_few():
    rows = np.arange(20.0).reshape(10, 2)
    for size in (10, 11, 1000):
        np.testing.assert_array_equal(sampled(rows, size, batches=[3]), rows)


@pytest.mark.parametrize("batches", [(500,), (1, 2, 3), (0, 999), tuple(range(0, 1000, 7))])
def test_batches_make_no_difference(batches):
    rows = np.arange(1000.0)[:, np.newaxis]
    np.testing.assert_array_equal(sampled(rows, 30, batches=batches), sampled(rows, 30))


def test_rows_stay_in_their_order_and_the_seed_decides_which():
    rows = np.arange(1000.0)[:, np.newaxis]
    first, again, other = sampled(rows, 50), sampled(rows, 50), sampled(rows, 50, seed=1)
    assert len(first) == 50
    assert (np.diff(first[:, 0]) > 0).all()
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


def test_every_row_has_the_same_probability():
    n_draws, size = 4000, 5
    rows = np.arange(20.0)[:, np.newaxis]
    drawn = np.concatenate([sampled(rows, size, seed, batches=[3, 4, 11])[:, 0] for seed in range(n_draws)])
    counts = np.bincount(drawn.astype(int), minlength=20)
    expected = n_draws * size / 20
    # Five standard deviations of a binomial count.
    assert np.abs(counts - expected).max() < 5 * np.sqrt(expected * (1 - size / 20))


def test_memory_does_not_grow_with_the_rows():
    sample = RowSample(10)
    for _ in range(100):
        sample.add(np.zeros((7, 2)))
        assert sum(map(len, sample._rows)) <= 47


def test_an_empty_sample():
    assert sampled(np.zeros((9, 2)), 0).shape == (0, 2)


def shrunk(rows, size, smaller, seed=0, batches=()):
    sample = RowSample(size, seed)
    for part in np.split(rows, batches):
        sample.add(part)
    sample.shrink(smaller)
    return sample.rows()


@pytest.mark.parametrize("batches", [(), (500,), tuple(range(0, 1000, 7))], ids=len)
@pytest.mark.parametrize("smaller", [0, 1, 30, 99])
def test_a_shrunk_sample_is_that_of_the_smaller_size(smaller, batches):
    rows = np.arange(1000.0)[:, np.newaxis]
    np.testing.assert_array_equal(shrunk(rows, 100, smaller, batches=batches), sampled(rows, smaller))


@pytest.mark.parametrize("larger", [100, 101, 10_000])
def test_a_sample_does_not_grow_when_it_shall_shrink(larger):
    rows = np.arange(1000.0)[:, np.newaxis]
    np.testing.assert_array_equal(shrunk(rows, 100, larger, batches=[5]), sampled(rows, 100))


def test_a_shrunk_sample_takes_more_rows():
    rows = np.arange(1000.0)[:, np.newaxis]
    sample = RowSample(100)
    sample.add(rows[:600])
    sample.shrink(20)
    sample.add(rows[600:])
    np.testing.assert_array_equal(sample.rows(), sampled(rows, 20))
