from __future__ import annotations

import numpy as np
import pytest

from mvset.calibration.splits import random_splits


@pytest.mark.parametrize(("n", "n_splits", "test_size"), [(500, 10, 0.2), (506, 25, 0.2), (7, 4, 0.3), (100, 3, 0.75)])
def test_splits_partition_the_rows_in_equal_sizes(n, n_splits, test_size):
    splits = random_splits(n, n_splits, test_size, np.random.RandomState(0))
    assert len(splits) == n_splits
    for split in splits:
        assert len(split.held_out) == np.ceil(test_size * n)
        np.testing.assert_array_equal(np.union1d(split.train, split.held_out), np.arange(n))
        assert len(split.train) + len(split.held_out) == n


@pytest.mark.parametrize("n_splits", [1, 5, 10, 13])
def test_rows_are_held_out_equally_often(n_splits):
    splits = random_splits(503, n_splits, 0.2, np.random.RandomState(0))
    times = np.bincount(np.concatenate([split.held_out for split in splits]), minlength=503)
    assert times.max() - times.min() <= 1


def test_each_split_is_a_uniform_draw():
    """Chance of row 0 in the third of three splits, which straddles two rounds: 0.4 ± 4 standard errors."""
    hits = [0 in random_splits(10, 3, 0.4, np.random.RandomState(seed))[2].held_out for seed in range(3000)]
    assert abs(np.mean(hits) - 0.4) < 4 * np.sqrt(0.4 * 0.6 / 3000)


def test_same_seed_same_splits():
    first, second = (random_splits(50, 4, 0.2, np.random.RandomState(3)) for _ in range(2))
    for a, b in zip(first, second, strict=True):
        np.testing.assert_array_equal(a.held_out, b.held_out)


@pytest.mark.parametrize(("n", "test_size"), [(2, 0.2), (10, 0.95)])
def test_too_few_rows(n, test_size):
    with pytest.raises(ValueError, match=rf"n_samples={n} rows with test_size={test_size}"):
        random_splits(n, 3, test_size, np.random.RandomState(0))
