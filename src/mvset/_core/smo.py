"""The one-class dual, by sequential minimal optimisation in blocks.

    minimise ½ αᵀKα   subject to   0 <= α_i <= upper_i,  Σ α_i constant

in LIBSVM's scale (α in [0, 1], Σα = νn), so that `tol` means what it means there. The outer loop takes the most
violating variables, copies their small Gram matrix into the cache, and lets SMO with second-order pair choice run on
it: an iteration then touches a few kilobytes instead of two rows of the full matrix.

A `source` of kernel values is (scaled columns, Gram matrix, which of its rows are known). A row that is not known is
computed when first asked for and kept. The matrix may also be empty, of shape (0, 0): rows are then computed again each
time, and memory stays O(nd).
"""

from __future__ import annotations

import numpy as np

from mvset._core.jit import kernel
from mvset._core.rbf import kernel_row, kernel_row_at
from mvset._core.reduce import INDEX_BITS, INDEX_MASK, float_max, int_max, reciprocal_guess, tagged

_f32 = np.float32
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
