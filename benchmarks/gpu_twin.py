"""The kernel expansion as a kernel of Triton, to compare with what torch compiles (`benchmarks/gpu.py`).

In a file of its own: Triton reads the source of the function.
"""

import triton
import triton.language as tl


@triton.jit
def kernel_sums(points, centres, weights, out, n, m, D: tl.constexpr, ROWS: tl.constexpr, CENTRES: tl.constexpr):
    """out[i] = Σ_j weights[j] exp(-|point i - centre j|²), points and centres one column after the other."""
    rows = (tl.program_id(0) * ROWS + tl.arange(0, ROWS)).to(tl.int64)
    here = rows < n
    sums = tl.zeros((ROWS, CENTRES), tl.float32)
    for start in range(0, m, CENTRES):
        columns = start + tl.arange(0, CENTRES)
        there = columns < m
        squares = tl.zeros((ROWS, CENTRES), tl.float32)
        for k in tl.static_range(D):
            point = tl.load(points + k * n + rows, mask=here, other=0.0)
            centre = tl.load(centres + k * m + columns, mask=there, other=0.0)
            difference = point[:, None] - centre[None, :]
            squares += difference * difference
        weight = tl.load(weights + columns, mask=there, other=0.0)
        sums += weight[None, :] * tl.exp(-squares)
    tl.store(out + rows, tl.sum(sums, axis=1), mask=here)
