"""All compiled kernels of the one-class SVM: arrays in, arrays out, no checks.

They live in one file because numba keys its cache on the file of the function it compiles, not on the files of the
functions that this one calls: spread over several files, a changed helper would leave stale code on disk.

In order: how kernels are compiled; reductions and exp(-t) written so that LLVM vectorises them; the Gaussian kernel;
the solver of the dual.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic, overload
from numpy.typing import NDArray

# "reassoc" is left out on purpose: a sum then has one order, whatever the machine's vector width, and the
# argument reduction of exp keeps its two-step subtraction.
_FASTMATH = {"nnan", "ninf", "nsz", "arcp", "contract", "afn"}


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile on first call, keep on disk, run without the GIL.

    ``error_model="numpy"`` drops the zero check of every division, which would stop vectorisation.
    """
    options: dict[str, Any] = {"nogil": True, "fastmath": _FASTMATH, "error_model": "numpy"}
    try:
        compiled: Callable[..., Any] = njit(cache=True, **options)(function)
    except RuntimeError:  # numba found no folder it may write to
        warnings.warn(
            "numba cannot keep compiled kernels on disk, so every process compiles them again: set NUMBA_CACHE_DIR to "
            "a folder that can be written.",
            stacklevel=2,
        )
        compiled = njit(**options)(function)
    return compiled

INDEX_BITS = 11  # arrays reduced with `tagged` have at most 2**11 entries
INDEX_MASK = (1 << INDEX_BITS) - 1


def _fast_select(operator: str) -> Any:
    @intrinsic
    def select(_context: Any, a: Any, b: Any) -> Any:
        def codegen(_ctx: Any, builder: Any, _signature: Any, args: Any) -> Any:
            holds = builder.fcmp_ordered(operator, args[0], args[1], flags=["fast"])
            return builder.select(holds, args[0], args[1], flags=["fast"])

        return a(a, b), codegen

    return select


float_max = _fast_select(">")
float_min = _fast_select("<")


@intrinsic
def int_max(_context: Any, a: Any, b: Any) -> Any:
    """Larger of two integers."""

    def codegen(_ctx: Any, builder: Any, _signature: Any, args: Any) -> Any:
        return builder.select(builder.icmp_signed(">", args[0], args[1]), args[0], args[1])

    return a(a, b), codegen


@intrinsic
def tagged(_context: Any, value: Any, index: Any) -> Any:
    """Integer ordered like the float32 `value` >= 0 (to 12 bits), with `index` in its low bits.

    Negative values give negative integers: any non-negative one wins against them.
    """

    def codegen(_ctx: Any, builder: Any, _signature: Any, args: Any) -> Any:
        i32 = ir.IntType(32)
        bits = builder.and_(builder.bitcast(args[0], i32), ir.Constant(i32, ~INDEX_MASK))
        return builder.or_(bits, builder.trunc(args[1], i32))

    return types.int32(types.float32, index), codegen


@intrinsic
def reciprocal_guess(_context: Any, value: Any) -> Any:
    """1/value for a positive float32, to 12 %: one integer subtraction, to be refined by a Newton step."""

    def codegen(_ctx: Any, builder: Any, _signature: Any, args: Any) -> Any:
        i32 = ir.IntType(32)
        bits = builder.sub(ir.Constant(i32, 0x7EF311C7), builder.bitcast(args[0], i32))
        return builder.bitcast(bits, ir.FloatType())

    return types.float32(types.float32), codegen

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

_BLOCK = 256  # points scored together: their coordinates, distances and sums stay in the first-level cache


def scaled_columns(X: NDArray[Any], centre: NDArray[Any], sigma: float, dtype: Any = np.float64) -> NDArray[Any]:
    """Columns whose squared distances are |x - y|²/(2 sigma²).

    Subtracting the centre first, in float64, keeps float32 accurate for data far from the origin. Coordinates whose
    square would overflow are cut: the kernel is zero long before.
    """
    largest = 1e18 if dtype == np.float32 else 1e150
    with np.errstate(over="ignore"):
        scaled = np.clip((X - centre) / (sigma * np.sqrt(2.0)), -largest, largest)
    return np.ascontiguousarray(scaled.T, dtype=dtype)


@kernel
def squared_distances(point, columns, out):
    """out[j] = |point - column j|²."""
    n = out.shape[0]
    for j in range(n):
        difference = columns[0, j] - point[0]
        out[j] = difference * difference
    for f in range(1, point.shape[0]):
        for j in range(n):
            difference = columns[f, j] - point[f]
            out[j] += difference * difference


@kernel
def kernel_row(point, columns, out):
    """out[j] = k(point, column j)."""
    squared_distances(point, columns, out)
    for j in range(out.shape[0]):
        out[j] = exp_minus(out[j])


@kernel
def kernel_row_at(columns, chosen, p, out):
    """out[t] = k(column chosen[p], column chosen[t])."""
    for t in range(chosen.shape[0]):
        out[t] = 0.0
    for f in range(columns.shape[0]):
        own = columns[f, chosen[p]]
        for t in range(chosen.shape[0]):
            difference = columns[f, chosen[t]] - own
            out[t] += difference * difference
    for t in range(chosen.shape[0]):
        out[t] = exp_minus(out[t])


@kernel
def fill_gram(columns, start, stop, gram):
    """Rows start…stop of the Gram matrix."""
    point = np.empty(columns.shape[0], columns.dtype)
    for i in range(start, stop):
        for f in range(columns.shape[0]):
            point[f] = columns[f, i]
        kernel_row(point, columns, gram[i])


@kernel
def expansion(points, centres, weights, out):
    """out[i] = sum_j weights[j] k(points[:, i], centres[j]).

    Every point passes through a full block, padded if need be, and sums over the centres in their order: its score
    does not depend on which rows are scored beside it.
    """
    d, n = points.shape
    block = np.zeros((d, _BLOCK), points.dtype)
    values = np.empty(_BLOCK, points.dtype)
    sums = np.empty(_BLOCK, points.dtype)
    for start in range(0, n, _BLOCK):
        size = min(_BLOCK, n - start)
        for f in range(d):
            for p in range(size):
                block[f, p] = points[f, start + p]
        sums[:] = 0.0
        for j in range(centres.shape[0]):
            kernel_row(centres[j], block, values)
            for p in range(_BLOCK):
                sums[p] += weights[j] * values[p]
        for p in range(size):
            out[start + p] = sums[p]


@kernel
def mean_shift(points, centres, weights, out):
    """out[:, i] = mean of the centres, each with its weight times k(points[:, i], centre).

    Kernels are taken relative to that of the nearest centre: far from all of them, where each alone underflows, the
    mean is still right.
    """
    d, n = points.shape
    block = np.zeros((d, _BLOCK), points.dtype)
    sums = np.empty((d, _BLOCK), points.dtype)
    values = np.empty(_BLOCK, points.dtype)
    nearest = np.empty(_BLOCK, points.dtype)
    total = np.empty(_BLOCK, points.dtype)
    for start in range(0, n, _BLOCK):
        size = min(_BLOCK, n - start)
        for f in range(d):
            for p in range(size):
                block[f, p] = points[f, start + p]
        squared_distances(centres[0], block, nearest)
        for j in range(1, centres.shape[0]):
            squared_distances(centres[j], block, values)
            for p in range(_BLOCK):
                nearest[p] = float_min(nearest[p], values[p])
        sums[:] = 0.0
        total[:] = 0.0
        for j in range(centres.shape[0]):
            squared_distances(centres[j], block, values)
            for p in range(_BLOCK):
                values[p] = weights[j] * exp_minus(values[p] - nearest[p])
                total[p] += values[p]
            for f in range(d):
                for p in range(_BLOCK):
                    sums[f, p] += values[p] * centres[j, f]
        for f in range(d):
            for p in range(size):
                out[f, start + p] = sums[f, p] / total[p]

_FAR = 1e300  # in place of infinity, which the compiler may assume away
_HUGE = _f32(1e30)
_TINY = _f32(1e-12)
_MASK = np.int32(INDEX_MASK)
_MOST_NEGATIVE = np.int32(-(2**31))

MAX_BLOCK = 1 << INDEX_BITS
# A block is solved to this share of the gap it started from: solving it further fits variables that the next block
# will move again.
_BLOCK_PRECISION = 0.1
# and the last blocks to this share of the tolerance.
_LAST_PRECISION = 0.95
# When the gap has not shrunk for so many blocks and is this small beside the gradient, float32 has no more to give.
_PATIENCE = 50
_RESOLUTION = 1e-6


@kernel
def _move_and_find(gradient, up, down, rows, pair, step, reference):
    """Apply the last pair step to the gradient and find the next pair's first member in the same pass.

    Returns the index of the smallest gradient among the variables that may grow (where `up` is zero) and the largest
    gradient among those that may shrink (where `down` is). `reference` is a number just above the gradients of
    interest.
    """
    i, j = pair
    first = _MOST_NEGATIVE
    largest = -_HUGE
    for p in range(gradient.shape[0]):
        value = gradient[p] + step * (rows[i, p] - rows[j, p])
        gradient[p] = value
        largest = float_max(largest, value - down[p])
        first = int_max(first, tagged(reference - value - up[p], p))
    return np.int64(first & _MASK), largest


@kernel
def _best_partner(gradient, down, rows, i, smallest):
    """Second-order choice: the variable whose exact pair step lowers the objective most (Fan, Chen and Lin, 2005)."""
    best = np.int32(0)
    for p in range(gradient.shape[0]):
        violation = float_max(gradient[p] - down[p] - smallest, _f32(0.0))
        # Duplicate rows make the curvature zero: keep the gain finite.
        curvature = float_max(_f32(1.0) - rows[i, p], _TINY)
        guess = reciprocal_guess(curvature)
        inverse = guess * (_f32(2.0) - curvature * guess)
        best = int_max(best, tagged(violation * violation * inverse, p))
    return np.int64(best & _MASK)


@kernel
def _full_row(source, i, buffer):
    """Row i of the Gram matrix, in `buffer` when there is no matrix to keep it."""
    columns, gram, known = source
    if gram.shape[0] == 0:
        kernel_row(columns[:, i].copy(), columns, buffer)
        return buffer
    if not known[i]:
        kernel_row(columns[:, i].copy(), columns, gram[i])
        known[i] = True
    return gram[i]


@kernel
def _copy_row(source, chosen, p, rows):
    """Row p of the block's Gram matrix."""
    columns, gram, _ = source
    if gram.shape[0] > 0:
        row = _full_row(source, chosen[p], rows[p])
        for t in range(chosen.shape[0]):
            rows[p, t] = row[chosen[t]]
    else:
        kernel_row_at(columns, chosen, p, rows[p])


@kernel
def _solve_block(source, chosen, problem, rows, copied, tol, max_iter):
    """SMO on the chosen variables alone, in place; returns the number of pair steps.

    `rows` is room for their Gram matrix; a row is `copied` into it when first needed, and many never are.
    """
    gradient, alpha, upper = problem
    q = gradient.shape[0]
    up = np.empty(q, np.float32)  # zero where the variable may grow, huge where it may not
    down = np.empty(q, np.float32)  # zero where it may shrink
    for p in range(q):
        up[p] = _f32(0.0) if alpha[p] < upper[p] else _HUGE
        down[p] = _f32(0.0) if alpha[p] > _f32(0.0) else _HUGE
    if not copied[0]:
        rows[0] = 0.0  # the first pass moves nothing, along any finite row
    pair = (0, 0)
    step = _f32(0.0)
    reference = _f32(0.0)
    iterations = 0
    while True:
        i, largest = _move_and_find(gradient, up, down, rows, pair, step, reference)
        if up[i] != _f32(0.0) or gradient[i] >= reference:
            # The reference fell behind the gradients: look again from where they are now.
            i, largest = _move_and_find(gradient, up, down, rows, pair, _f32(0.0), largest)
        smallest = gradient[i]
        if up[i] != _f32(0.0) or largest - smallest < tol or iterations >= max_iter:
            return iterations
        reference = largest + _f32(0.5) * (largest - smallest)
        if not copied[i]:
            _copy_row(source, chosen, i, rows)
            copied[i] = True
        j = _best_partner(gradient, down, rows, i, smallest)
        if not copied[j]:
            _copy_row(source, chosen, j, rows)
            copied[j] = True
        room = upper[i] - alpha[i]
        step = (gradient[j] - smallest) / max(_f32(2.0) - _f32(2.0) * rows[i, j], _TINY)
        step = min(step, min(room, alpha[j]))
        # Bounds are reached exactly, so that "at the bound" stays a plain comparison.
        alpha[j] = _f32(0.0) if step == alpha[j] else alpha[j] - step
        alpha[i] = upper[i] if step == room else alpha[i] + step
        up[i] = _f32(0.0) if alpha[i] < upper[i] else _HUGE
        down[i] = _f32(0.0)
        up[j] = _f32(0.0)
        down[j] = _f32(0.0) if alpha[j] > _f32(0.0) else _HUGE
        pair = (i, j)
        iterations += 1


@kernel
def add_rows(source, rows, weights, out):
    """out += Σ_s weights[s] K[rows[s]], four rows at a time to read and write `out` less often."""
    n = out.shape[0]
    buffers = np.empty((4, n if source[1].shape[0] == 0 else 0), np.float32)
    whole = rows.shape[0] - rows.shape[0] % 4
    for s in range(0, whole, 4):
        first = _full_row(source, rows[s], buffers[0])
        second = _full_row(source, rows[s + 1], buffers[1])
        third = _full_row(source, rows[s + 2], buffers[2])
        fourth = _full_row(source, rows[s + 3], buffers[3])
        a, b, c, d = weights[s], weights[s + 1], weights[s + 2], weights[s + 3]
        for p in range(n):
            out[p] += (a * first[p] + b * second[p]) + (c * third[p] + d * fourth[p])
    for s in range(whole, rows.shape[0]):
        first = _full_row(source, rows[s], buffers[0])
        for p in range(n):
            out[p] += weights[s] * first[p]


@kernel
def _take_smallest(keys, bound, quota, taken):
    """Mark the up to `quota` smallest keys below `bound`, ties in order."""
    last = np.partition(keys, quota - 1)[quota - 1] if quota < keys.shape[0] else _FAR
    limit = min(last, bound)
    for p in range(keys.shape[0]):
        if keys[p] < limit:
            taken[p] = True
            quota -= 1
    if last < bound:
        for p in range(keys.shape[0]):
            if keys[p] == last:
                taken[p] = True
                quota -= 1
                if quota == 0:
                    return


@kernel
def _most_violating(gradient, alpha, upper, extremes, size):
    """A block of variables: the lowest gradients that may grow and the highest that may shrink, in equal parts."""
    n = gradient.shape[0]
    grow = np.empty(n, np.float64)
    shrink = np.empty(n, np.float64)
    for p in range(n):
        grow[p] = gradient[p] if alpha[p] < upper[p] else _FAR
        shrink[p] = -gradient[p] if alpha[p] > 0.0 else _FAR
    smallest, largest = extremes
    taken = np.zeros(n, np.bool_)
    half = max(1, size // 2)
    _take_smallest(grow, largest, half, taken)
    _take_smallest(shrink, -smallest, half, taken)
    return np.flatnonzero(taken)


@kernel
def solve(source, upper, alpha, gradient, room, tol, max_iter):
    """Solve one dual in place, from a feasible `alpha` and its `gradient` = Kα, in blocks of up to sqrt(len(room)).

    Returns (pair steps, KKT gap). It stops short of `tol` when `max_iter` is reached or when float32 can resolve no
    further step.
    """
    n = gradient.shape[0]
    block = int(np.sqrt(room.shape[0]))
    for p in range(n):
        alpha[p] = _f32(alpha[p])  # what is at a bound in the blocks must be at it here
    iterations = 0
    idle = 0
    least_gap = _FAR
    while True:
        smallest = _FAR
        largest = -_FAR
        for p in range(n):
            if alpha[p] < upper[p]:
                smallest = min(smallest, gradient[p])
            if alpha[p] > 0.0:
                largest = max(largest, gradient[p])
        gap = largest - smallest
        if gap < tol or iterations >= max_iter:
            return iterations, gap
        idle = 0 if gap < 0.99 * least_gap else idle + 1
        least_gap = min(least_gap, gap)
        if idle > _PATIENCE and gap < _RESOLUTION * max(1.0, abs(largest)):
            return iterations, gap
        chosen = _most_violating(gradient, alpha, upper, (smallest, largest), block)
        whole = 2 * chosen.shape[0] > n and n <= MAX_BLOCK and source[1].shape[0] > 0
        if whole:
            # More than half of all variables: longer rows cost less than copying them.
            chosen = np.arange(n)
        q = chosen.shape[0]
        # Gradients relative to the middle of the gap: float32 then spends its digits on what is left to do.
        middle = 0.5 * (smallest + largest)
        small_gradient = np.empty(q, np.float32)
        small_alpha = np.empty(q, np.float32)
        small_upper = np.empty(q, np.float32)
        for s in range(q):
            small_gradient[s] = gradient[chosen[s]] - middle
            small_alpha[s] = alpha[chosen[s]]
            small_upper[s] = upper[chosen[s]]
        target = _f32(max(_BLOCK_PRECISION * gap, _LAST_PRECISION * tol))
        problem = (small_gradient, small_alpha, small_upper)
        if whole:
            rows, copied = source[1], source[2]
        else:
            # Packed closely: rows a whole page apart would compete for the same cache lines.
            rows, copied = room[: q * q].reshape(q, q), np.zeros(q, np.bool_)
        steps = _solve_block(source, chosen, problem, rows, copied, target, max_iter - iterations)
        iterations += steps
        moved = np.empty(q, np.int64)
        change = np.empty(q, np.float64)
        count = 0
        for s in range(q):
            p = chosen[s]
            if small_alpha[s] != alpha[p]:
                moved[count] = p
                change[count] = small_alpha[s] - alpha[p]
                alpha[p] = small_alpha[s]
                count += 1
        if count == 0:
            return iterations, gap
        add_rows(source, moved[:count], change[:count], gradient)
