from __future__ import annotations

import numpy as np

from mvset.svm.compiled import INDEX_MASK, float_max, float_min, int_max, kernel, reciprocal_guess, tagged


@kernel
def tagged_argmax(values):
    best = np.int32(-(2**31))
    for p in range(values.shape[0]):
        best = int_max(best, tagged(values[p], p))
    return best & INDEX_MASK


@kernel
def extremes(values):
    low, high = values[0], values[0]
    for p in range(values.shape[0]):
        low, high = float_min(low, values[p]), float_max(high, values[p])
    return low, high


@kernel
def reciprocals(values, out):
    for p in range(values.shape[0]):
        out[p] = reciprocal_guess(values[p])


def test_extremes():
    values = np.random.default_rng(0).normal(size=1001).astype(np.float32)
    assert extremes(values) == (values.min(), values.max())


def test_tagged_argmax_is_within_its_precision():
    rng = np.random.default_rng(0)
    for _ in range(100):
        values = rng.exponential(size=2048).astype(np.float32)
        assert values[tagged_argmax(values)] >= values.max() * (1 - 2.0**-12)


def test_non_negative_values_win_against_negative_ones():
    values = np.full(100, -5.0, dtype=np.float32)
    values[17] = 0.0
    assert tagged_argmax(values) == 17


def test_reciprocal_guess():
    values = np.geomspace(1e-12, 1, 1000).astype(np.float32)
    out = np.empty_like(values)
    reciprocals(values, out)
    np.testing.assert_allclose(out * values, 1.0, atol=0.13)
