from __future__ import annotations

import numpy as np
import pytest

from mvset.svm.compiled import exp_minus, kernel


@kernel
def apply(t, out):
    for i in range(t.shape[0]):
        out[i] = exp_minus(t[i])


def compiled(t):
    out = np.empty_like(t)
    apply(t, out)
    return out


@pytest.mark.parametrize(
    ("dtype", "last", "tolerance"), [(np.float32, 87.0, 2e-7), (np.float64, 700.0, 1e-15)], ids=["float32", "float64"]
)
def test_relative_accuracy(dtype, last, tolerance):
    t = np.concatenate([np.linspace(0, last, 100_001), np.geomspace(1e-30, last, 1001)]).astype(dtype)
    np.testing.assert_allclose(compiled(t), np.exp(-t.astype(np.float64)), rtol=tolerance)


def test_float64_reaches_through_the_denormals_to_zero():
    t = np.linspace(700.0, 800.0, 10_001)
    np.testing.assert_allclose(compiled(t), np.exp(-t), rtol=1e-15, atol=1e-323)
    np.testing.assert_array_equal(compiled(np.array([746.0, 1e4, 1e300])), 0.0)


def test_float32_underflows_to_zero_and_is_never_clipped():
    np.testing.assert_array_equal(compiled(np.array([87.4, 100.0, 1e30], dtype=np.float32)), 0.0)


def test_monotone():
    values = compiled(np.linspace(0, 760, 1_000_001))
    assert (np.diff(values) <= 0).all()
