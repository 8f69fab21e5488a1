"""All compiled kernels of the one-class SVM: arrays in, arrays out, no checks.

They live in one file because numba keys its cache on the file of the function that it compiles, not on the files of the
functions that this one calls: spread over several files, a changed helper would leave stale code on disk.

Sections: compilation; reductions that LLVM vectorises; exp(-t); the Gaussian kernel; kernel expansions; the solver of
the dual.
"""

# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False, disallow-untyped-decorators=False
# mypy: check-untyped-defs=False
# (numba infers the types of compiled functions itself)

from collections.abc import Callable
from functools import cache
from pickle import UnpicklingError
from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic, overload
from numpy.typing import NDArray

from mvset.exceptions import MvsetWarning, warn

_f32 = np.float32


# ----------------------------------------------------------------------------------------------------------------------
# Compilation
# ----------------------------------------------------------------------------------------------------------------------

# "reassoc" is left out on purpose: a sum then has one order, whatever the machine's vector width, and the
# argument reduction of exp keeps its two-step subtraction.
_FASTMATH = {"nnan", "ninf", "nsz", "arcp", "contract", "afn"}


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile on first call, keep on disk, run without the GIL.

    ``error_model="numpy"`` drops the zero check of every division, which would stop vectorisation.
    """
    options: dict[str, Any] = {"nogil": True, "fastmath": _FASTMATH, "error_model": "numpy"}
    try:
        compiled: Any = njit(cache=True, **options)(function)
    except RuntimeError:  # numba found no folder it may write to
        _advise_on_cache()
        return njit(**options)(function)  # type: ignore[no-any-return]
    cached = getattr(compiled, "_cache", None)
    for step in ("load_overload", "save_overload"):
        if hasattr(cached, step):  # private names of numba: without them its own errors remain
            setattr(cached, step, _forgiving(getattr(cached, step)))
    return compiled  # type: ignore[no-any-return]


def _forgiving(step: Callable[..., Any]) -> Callable[..., Any]:
    """A step of numba's cache that may fail, because the disk is full or a file is broken: the kernel is compiled."""

    def attempt(*arguments: Any) -> Any:
        try:
            return step(*arguments)
        except (OSError, EOFError, UnpicklingError):
            _advise_on_cache()

    return attempt


@cache
def _advise_on_cache() -> None:
    warn(
        "numba cannot keep compiled kernels on disk, so every process compiles them again: set NUMBA_CACHE_DIR to a "
        "folder that can be written.",
        MvsetWarning,
    )


# ----------------------------------------------------------------------------------------------------------------------
# Reductions that LLVM vectorises: a comparison and a select, without a branch
# ----------------------------------------------------------------------------------------------------------------------


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


INDEX_BITS = 11  # `tagged` holds indices of arrays with at most 2**11 entries
INDEX_MASK = (1 << INDEX_BITS) - 1


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


# ----------------------------------------------------------------------------------------------------------------------
# exp(-t), without a branch: it underflows to zero and is never clipped
# ----------------------------------------------------------------------------------------------------------------------

_LOG2E = 1.4426950408889634
_LN2_HIGH = 6.93147180369123816490e-01  # trailing zeros: k * _LN2_HIGH is exact
_LN2_LOW = 1.90821492927058770002e-10
_LAST_64 = 750.0  # exp(-745.2) is the last denormal
_LOG2E_32 = _f32(_LOG2E)
_LN2_HIGH_32 = _f32(0.693359375)
_LN2_LOW_32 = _f32(-2.12194440e-4)
_LAST_32 = _f32(87.3)  # below exp(-87.3) float32 has no normal numbers


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


# ----------------------------------------------------------------------------------------------------------------------
# The Gaussian kernel
# ----------------------------------------------------------------------------------------------------------------------


def scaled_columns(X: NDArray[Any], centre: NDArray[Any], sigma: float, dtype: Any = np.float64) -> NDArray[Any]:
    """Columns whose squared distances are |x - y|²/(2 sigma²).

    Subtracting the centre first, in float64, keeps float32 accurate for data far from the origin. Coordinates whose
    square would overflow are clipped: the kernel is zero long before.
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


# ----------------------------------------------------------------------------------------------------------------------
# Kernel expansions
# ----------------------------------------------------------------------------------------------------------------------

_BLOCK = 256  # points evaluated together: their coordinates, distances and sums stay in the first-level cache
_GROUP = 64  # centres summed before they are added to the total: a sum of thousands in float32 would lose digits


@kernel
def expansion(points, centres, weights, out):
    """out[i] = sum_j weights[j] k(points[:, i], centres[j]).

    Every block has full length (the last one is padded) and every sum runs over the centres in their order, so the
    value at a point does not depend on the other points in the call.
    """
    d, n = points.shape
    block = np.zeros((d, _BLOCK), points.dtype)
    values = np.empty(_BLOCK, points.dtype)
    sums = np.empty(_BLOCK, points.dtype)
    total = np.empty(_BLOCK, points.dtype)
    for start in range(0, n, _BLOCK):
        size = min(_BLOCK, n - start)
        for f in range(d):
            for p in range(size):
                block[f, p] = points[f, start + p]
        total[:] = 0.0
        for first in range(0, centres.shape[0], _GROUP):
            sums[:] = 0.0
            for j in range(first, min(first + _GROUP, centres.shape[0])):
                kernel_row(centres[j], block, values)
                for p in range(_BLOCK):
                    sums[p] += weights[j] * values[p]
            for p in range(_BLOCK):
                total[p] += sums[p]
        for p in range(size):
            out[start + p] = total[p]


@kernel
def _nearest_squares(centres, block, values, nearest):
    """nearest[p] = squared distance of the centre nearest to point p of a block; `values` is memory."""
    squared_distances(centres[0], block, nearest)
    for j in range(1, centres.shape[0]):
        squared_distances(centres[j], block, values)
        for p in range(_BLOCK):
            nearest[p] = float_min(nearest[p], values[p])


@kernel
def log_expansion(points, centres, weights, out):
    """out[i] = log Σ_j weights[j] k(points[:, i], centres[j]), for weights above zero.

    Kernel values are relative to the value of the nearest centre, so that the logarithm falls on where every k
    underflows.
    """
    d, n = points.shape
    block = np.zeros((d, _BLOCK), points.dtype)
    values = np.empty(_BLOCK, points.dtype)
    nearest = np.empty(_BLOCK, points.dtype)
    total = np.empty(_BLOCK, points.dtype)
    for start in range(0, n, _BLOCK):
        size = min(_BLOCK, n - start)
        for f in range(d):
            for p in range(size):
                block[f, p] = points[f, start + p]
        _nearest_squares(centres, block, values, nearest)
        total[:] = 0.0
        for j in range(centres.shape[0]):
            squared_distances(centres[j], block, values)
            for p in range(_BLOCK):
                total[p] += weights[j] * exp_minus(values[p] - nearest[p])
        for p in range(size):
            out[start + p] = np.log(total[p]) - nearest[p]


@kernel
def mean_shift(points, centres, weights, out):
    """out[:, i] = Σ_j w_j centres[j] / Σ_j w_j with w_j = weights[j] k(points[:, i], centres[j]).

    Kernel values are relative to the value of the nearest centre, so the mean stays accurate where every k underflows.
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
        _nearest_squares(centres, block, values, nearest)
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


# ----------------------------------------------------------------------------------------------------------------------
# The solver of the dual: blocks of variables in float64, SMO inside a block in float32
# ----------------------------------------------------------------------------------------------------------------------
#
# `source` is (columns, gram, known): the scaled columns, the Gram matrix (empty when it does not fit in memory) and a
# mark for each of its rows that is already computed.

_FAR = 1e300  # in place of infinity, which fast math may assume away
_HUGE = _f32(1e30)
_TINY = _f32(1e-12)

MAX_BLOCK = 1 << INDEX_BITS


@kernel
def _full_row(source, i, buffer):
    """Row i of the Gram matrix; computed into `buffer` when the matrix is not kept."""
    columns, gram, known = source
    if gram.shape[0] == 0:
        kernel_row(columns[:, i].copy(), columns, buffer)
        return buffer
    if not known[i]:
        kernel_row(columns[:, i].copy(), columns, gram[i])
        known[i] = True
    return gram[i]


@kernel
def add_rows(source, rows, weights, out):
    """out += Σ_s weights[s] K[rows[s]], eight rows at a time to read and write `out` less often."""
    n = out.shape[0]
    buffers = np.empty((8, n if source[1].shape[0] == 0 else 0), np.float32)
    whole = rows.shape[0] - rows.shape[0] % 8
    for s in range(0, whole, 8):
        r0 = _full_row(source, rows[s], buffers[0])
        r1 = _full_row(source, rows[s + 1], buffers[1])
        r2 = _full_row(source, rows[s + 2], buffers[2])
        r3 = _full_row(source, rows[s + 3], buffers[3])
        r4 = _full_row(source, rows[s + 4], buffers[4])
        r5 = _full_row(source, rows[s + 5], buffers[5])
        r6 = _full_row(source, rows[s + 6], buffers[6])
        r7 = _full_row(source, rows[s + 7], buffers[7])
        w0, w1, w2, w3 = weights[s], weights[s + 1], weights[s + 2], weights[s + 3]
        w4, w5, w6, w7 = weights[s + 4], weights[s + 5], weights[s + 6], weights[s + 7]
        for p in range(n):
            first = (w0 * r0[p] + w1 * r1[p]) + (w2 * r2[p] + w3 * r3[p])
            second = (w4 * r4[p] + w5 * r5[p]) + (w6 * r6[p] + w7 * r7[p])
            out[p] += first + second
    for s in range(whole, rows.shape[0]):
        r0 = _full_row(source, rows[s], buffers[0])
        for p in range(n):
            out[p] += weights[s] * r0[p]


# Inside a block. `up` is zero where a variable may grow and huge where it is at its upper bound; `down` is zero where
# it may shrink. Adding them to the gradient removes variables from a reduction without a branch.

_MASK = np.int32(INDEX_MASK)
_MOST_NEGATIVE = np.int32(-(2**31))


@kernel
def _move_and_find(gradient, up, down, rows, pair, step, reference):
    """Apply the last pair step to the gradient and find the first member of the next pair in the same pass.

    Returns the index of the smallest gradient among the variables that may grow, and the largest gradient among those
    that may shrink. `reference` is a number just above the gradients of interest.
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
        best = int_max(best, tagged(violation * violation / curvature, p))
    return np.int64(best & _MASK)


@kernel
def _copy_row(source, chosen, p, rows):
    """Row p of the Gram matrix of the block."""
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

    `rows` holds their Gram matrix. A row is copied into it when first needed, and many never are.
    """
    gradient, alpha, upper = problem
    q = gradient.shape[0]
    up = np.empty(q, np.float32)
    down = np.empty(q, np.float32)
    for p in range(q):
        up[p] = _f32(0.0) if alpha[p] < upper[p] else _HUGE
        down[p] = _f32(0.0) if alpha[p] > _f32(0.0) else _HUGE
    if not copied[0]:
        rows[0] = 0.0  # the first pass has step zero, and needs a finite row
    pair = (0, 0)
    step = _f32(0.0)
    reference = _f32(0.0)
    iterations = 0
    while True:
        i, largest = _move_and_find(gradient, up, down, rows, pair, step, reference)
        if up[i] != _f32(0.0) or gradient[i] >= reference:
            # The gradients have passed the reference: search again with a new one.
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
        slack = upper[i] - alpha[i]
        step = (gradient[j] - smallest) / max(_f32(2.0) - _f32(2.0) * rows[i, j], _TINY)
        step = min(step, min(slack, alpha[j]))
        # Bounds are reached exactly, so that a comparison tells whether a variable is at its bound.
        alpha[j] = _f32(0.0) if step == alpha[j] else alpha[j] - step
        alpha[i] = upper[i] if step == slack else alpha[i] + step
        up[i] = _f32(0.0) if alpha[i] < upper[i] else _HUGE
        down[i] = _f32(0.0)
        up[j] = _f32(0.0)
        down[j] = _f32(0.0) if alpha[j] > _f32(0.0) else _HUGE
        pair = (i, j)
        iterations += 1


# Around the blocks.

# A block is solved to this fraction of the gap it started from: solving it further fits variables that the next block
# moves again.
_BLOCK_PRECISION = 0.1
# The last blocks are solved to this fraction of the tolerance.
_LAST_PRECISION = 0.95
# float32 resolves no further step when the gap has not shrunk for so many blocks and is this small beside the gradient.
_PATIENCE = 50
_RESOLUTION = 1e-6


@kernel
def _extremes(gradient, alpha, upper):
    """Smallest gradient among the variables that may grow, and largest among those that may shrink."""
    smallest = _FAR
    largest = -_FAR
    for p in range(gradient.shape[0]):
        smallest = float_min(smallest, gradient[p] if alpha[p] < upper[p] else _FAR)
        largest = float_max(largest, gradient[p] if alpha[p] > 0.0 else -_FAR)
    return smallest, largest


@kernel
def _count_violating(gradient, alpha, upper, extremes):
    """Number of variables that may move towards the other end of the gap."""
    smallest, largest = extremes
    count = 0
    for p in range(gradient.shape[0]):
        grows = (alpha[p] < upper[p]) & (gradient[p] < largest)
        shrinks = (alpha[p] > 0.0) & (gradient[p] > smallest)
        count += grows | shrinks
    return count


@kernel
def _take_smallest(keys, bound, quota, taken):
    """Mark the up to `quota` smallest keys below `bound`, ties in order."""
    below = 0
    for p in range(keys.shape[0]):
        below += keys[p] < bound
    # Mostly all of them fit, and need not be sorted.
    last = np.partition(keys, quota - 1)[quota - 1] if below > quota else _FAR
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
def _block_problem(gradient, alpha, upper, chosen, middle):
    """Gradient, alpha and upper bound of the chosen variables in float32.

    Gradients are relative to the middle of the gap, so that float32 spends its digits on what is left to do.
    """
    q = chosen.shape[0]
    block_gradient = np.empty(q, np.float32)
    block_alpha = np.empty(q, np.float32)
    block_upper = np.empty(q, np.float32)
    for s in range(q):
        block_gradient[s] = gradient[chosen[s]] - middle
        block_alpha[s] = alpha[chosen[s]]
        block_upper[s] = upper[chosen[s]]
    return block_gradient, block_alpha, block_upper


@kernel
def _accept(source, chosen, block_alpha, alpha, gradient):
    """Copy the solution of a block to `alpha` and update the gradient; returns the number of variables that moved."""
    moved = np.empty(chosen.shape[0], np.int64)
    change = np.empty(chosen.shape[0], np.float64)
    count = 0
    for s in range(chosen.shape[0]):
        p = chosen[s]
        if block_alpha[s] != alpha[p]:
            moved[count] = p
            change[count] = block_alpha[s] - alpha[p]
            alpha[p] = block_alpha[s]
            count += 1
    add_rows(source, moved[:count], change[:count], gradient)
    return count


@kernel
def solve(source, upper, alpha, gradient, room, tol, max_iter):
    """Solve one dual in place, from a feasible `alpha` and its `gradient` = Kα, in blocks of up to sqrt(len(room)).

    `room` is memory for the Gram matrix of a block. Returns (pair steps, KKT gap). The solver stops short of `tol` when
    `max_iter` is reached or when float32 resolves no further step.
    """
    n = gradient.shape[0]
    block_size = int(np.sqrt(room.shape[0]))
    for p in range(n):
        alpha[p] = _f32(alpha[p])  # the blocks are in float32: at a bound there must be at the bound here
    iterations = 0
    idle = 0
    least_gap = _FAR
    while True:
        smallest, largest = _extremes(gradient, alpha, upper)
        gap = largest - smallest
        if gap < tol or iterations >= max_iter:
            return iterations, gap
        idle = 0 if gap < 0.99 * least_gap else idle + 1
        least_gap = min(least_gap, gap)
        if idle > _PATIENCE and gap < _RESOLUTION * max(1.0, abs(largest)):
            return iterations, gap
        extremes = (smallest, largest)
        one_block = n <= MAX_BLOCK and source[1].shape[0] > 0
        if one_block and 2 * _count_violating(gradient, alpha, upper, extremes) > n:
            # Longer rows cost less than choosing and copying them.
            chosen = np.arange(n)
            rows, copied = source[1], source[2]
        else:
            chosen = _most_violating(gradient, alpha, upper, extremes, block_size)
            q = chosen.shape[0]
            # Packed closely: rows a whole page apart would compete for the same cache lines.
            rows, copied = room[: q * q].reshape(q, q), np.zeros(q, np.bool_)
        problem = _block_problem(gradient, alpha, upper, chosen, 0.5 * (smallest + largest))
        target = _f32(max(_BLOCK_PRECISION * gap, _LAST_PRECISION * tol))
        iterations += _solve_block(source, chosen, problem, rows, copied, target, max_iter - iterations)
        if _accept(source, chosen, problem[1], alpha, gradient) == 0:
            return iterations, gap
