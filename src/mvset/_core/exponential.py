"""exp(-t) for t >= 0, written so that LLVM vectorises it, in float32 and float64.

It underflows to zero and is never clipped: a clipped tail would put every point inside the set at a hopeless
bandwidth, where the true answer is the whole box.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload

from mvset._core.reduce import float_min

_LOG2E = 1.4426950408889634
_LN2_HIGH = 6.93147180369123816490e-01  # trailing zeros: k * _LN2_HIGH is exact
_LN2_LOW = 1.90821492927058770002e-10

_f32 = np.float32
_LOG2E_32 = _f32(_LOG2E)
_LN2_HIGH_32 = _f32(0.693359375)
_LN2_LOW_32 = _f32(-2.12194440e-4)
_LAST_32 = _f32(87.3)  # below exp(-87.3) float32 has no normal numbers
_LAST_64 = 750.0  # exp(-745.2) is the last denormal


@intrinsic
def _power_of_two(_context: Any, k: Any) -> Any:
    """2**k for a whole float k in the normal range, by writing the exponent bits."""
    bits, mantissa, bias, kind = (
        (32, 23, 127, ir.FloatType()) if k == types.float32 else (64, 52, 1023, ir.DoubleType())
    )

    def codegen(_ctx: Any, builder: Any, _signature: Any, args: Any) -> Any:
        integer = ir.IntType(bits)
        biased = builder.add(builder.fptosi(args[0], integer), ir.Constant(integer, bias))
        return builder.bitcast(builder.shl(biased, ir.Constant(integer, mantissa)), kind)

    return k(k), codegen


def exp_minus(t: float) -> float:
    """exp(-t) for t >= 0; only callable from compiled code."""
    raise NotImplementedError


@overload(exp_minus, inline="always")
def _exp_minus(t):
    return _exp_minus_32 if t == types.float32 else _exp_minus_64


def _exp_minus_32(t):
    x = -float_min(t, _LAST_32)
    k = np.floor(x * _LOG2E_32 + _f32(0.5))
    r = (x - k * _LN2_HIGH_32) - k * _LN2_LOW_32
    # minimax polynomial of Cephes' expf
    p = _f32(1.9875691500e-4)
    p = p * r + _f32(1.3981999507e-3)
    p = p * r + _f32(8.3334519073e-3)
    p = p * r + _f32(4.1665795894e-2)
    p = p * r + _f32(1.6666665459e-1)
    p = p * r + _f32(5.0000001201e-1)
    value = (p * r * r + r + _f32(1.0)) * _power_of_two(k)
    return value if t < _LAST_32 else _f32(0.0)


def _exp_minus_64(t):
    x = -float_min(t, _LAST_64)
    k = np.floor(x * _LOG2E + 0.5)
    r = (x - k * _LN2_HIGH) - k * _LN2_LOW
    # Taylor to degree 12: relative error below one ulp on |r| <= log(2)/2
    p = 1.0 / 479001600.0
    p = p * r + 1.0 / 39916800.0
    p = p * r + 1.0 / 3628800.0
    p = p * r + 1.0 / 362880.0
    p = p * r + 1.0 / 40320.0
    p = p * r + 1.0 / 5040.0
    p = p * r + 1.0 / 720.0
    p = p * r + 1.0 / 120.0
    p = p * r + 1.0 / 24.0
    p = p * r + 1.0 / 6.0
    p = p * r + 0.5
    half = np.floor(k * 0.5)  # two factors reach the denormals, one cannot
    return (p * r * r + r + 1.0) * _power_of_two(half) * _power_of_two(k - half)
