"""The solution function of the one-class SVM, and the mean of several: a kernel expansion."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from numbers import Real
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from mvset.parallel import Map
from mvset.svm.compiled import expansion, log_expansion, mean_shift, scaled_columns
from mvset.values import Array, ArrayValue, array_rule

Precision = Literal["double", "single", "mixed"]
PRECISIONS = ("double", "single", "mixed")
# float32 has 2e-6 of an error in a coordinate of 32, and relative errors of 1e-5 in the kernels of points at the border
# of the data.
_EXTENT = 32.0  # of the centres, in bandwidths
# Smaller values are computed in logarithms: in float64 they have no normal numbers, in float32 too few digits.
LEAST = 1e-300
NO_KERNEL = -1000.0  # in place of the logarithm of zero, where the order of points so far out does not matter
LOWEST_LOG = -1e290  # logarithms stop here: sums of their squares would not
SMALL = 1e-20  # smaller values have exponents that float32 rounds too coarsely for a relative error of 1e-5
# Rows per task: large enough to hide the cost of a task, or, of few rows, small enough that all threads have some.
# Both are multiples of the kernel's block.
_CHUNK, _SMALL_CHUNK = 1024, 256


@dataclass(frozen=True, eq=False)
class KernelExpansion(ArrayValue):
    r"""The function :math:`x \mapsto \sum_j c_j k_\sigma(x, x_j)` with its centres x_j and weights c_j.

    `origin` is subtracted from everything first, for accuracy far from zero. `precision` is that of evaluation:
    "single" is float32, which is enough to compare bandwidths; in float64, "double", values far from the data, below
    the range of float32, still order points. "mixed" has both: float32, twice as fast and right to about 10⁻⁵, and
    float64 for points of small values, or everywhere if the centres spread too far for float32.
    """

    centres: Array = field(metadata=array_rule(2))
    weights: Array = field(metadata=array_rule(1, length=lambda self: len(self.centres)))
    sigma: float
    origin: Array = field(metadata=array_rule(1, length=lambda self: self.centres.shape[1]))
    precision: Precision = "double"

    def _check(self) -> None:
        check_kernel(self)
        self._require(len(self.centres), " needs at least one centre.")

    @property
    def dtype(self) -> Any:
        """Type of values."""
        return np.float32 if self.precision == "single" else np.float64

    @property
    def n_columns(self) -> int:
        """Number of columns of rows."""
        return int(self.centres.shape[1])

    def __call__(self, X: Array, run: Map = map) -> Array:
        """Values at the rows of X; no row's value depends on the others or on how many threads `run` uses."""
        if self.precision != "mixed":
            return np.concatenate([np.empty(0), *self._by_chunk(expansion, X, run, ())])
        double = replace(self, precision="double")
        if not fits_single(self):
            return double(X, run)
        values = replace(self, precision="single")(X, run)
        small = np.flatnonzero(values < SMALL)
        values[small] = double(X[small], run)
        return values

    def logs(self, X: Array, run: Map = map) -> Array:
        """Logarithms of the values, finite wherever a point is; slower than the values."""
        double = replace(self, precision="double")
        found = np.concatenate([np.empty(0), *double._by_chunk(log_expansion, X, run, ())])
        return np.asarray(np.maximum(found, LOWEST_LOG))

    def mean_shift(self, X: Array, run: Map = map) -> Array:
        """For each row of X the mean of the centres, each with its weight times its kernel there."""
        means = np.hstack([np.empty((X.shape[1], 0)), *self._by_chunk(mean_shift, X, run, (X.shape[1],))]).T
        return np.asarray(self.origin + np.sqrt(2.0) * self.sigma * means)

    def _by_chunk(
        self, kernel: Callable[..., None], X: Array, run: Map, shape: tuple[int, ...]
    ) -> Iterable[NDArray[Any]]:
        """What a kernel fills, an array of `shape` for each point, for one chunk of rows after the other."""
        dtype = self.dtype
        scaled_centres = np.ascontiguousarray(scaled_columns(self.centres, self.origin, self.sigma, dtype).T)
        weights: NDArray[Any] = self.weights.astype(dtype)
        size = _CHUNK if len(X) >= 16 * _CHUNK else _SMALL_CHUNK

        def values(start: int) -> NDArray[Any]:
            points = scaled_columns(X[start : start + size], self.origin, self.sigma, dtype)
            out: NDArray[Any] = np.empty((*shape, points.shape[1]), dtype)
            kernel(points, scaled_centres, weights, out)
            return out

        return run(values, range(0, len(X), size))


Part = tuple[Callable[[Array], Array], KernelExpansion]  # how rows are mapped, and a function of mapped rows


def sum_of(X: Array, parts: Sequence[Part], run: Map = map) -> Array:
    """Sum of several functions of the rows of X."""
    values = np.zeros(len(X))
    for mapped, function in parts:
        values += function(mapped(X), run)
    return values


def rough_logs(values: Array) -> Array:
    """Logarithms of values that may have underflowed."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.maximum(np.log(values), NO_KERNEL))


def log_sum(X: Array, parts: Sequence[Part], run: Map = map) -> Array:
    """Logarithms of the same sums, which order rows wherever they are."""
    values = sum_of(X, parts, run)
    least = SMALL if any(function.precision == "single" for _, function in parts) else LEAST
    far = np.flatnonzero(values < least)
    with np.errstate(divide="ignore"):
        logs: Array = np.log(values)
    if len(far):
        logs[far] = np.logaddexp.reduce([function.logs(mapped(X[far]), run) for mapped, function in parts])
    return logs


def fits_single(function: KernelExpansion, share: float = 1.0) -> bool:
    """Whether the centres spread so little that float32 is accurate; or only a share of that."""
    return bool(np.abs(function.centres - function.origin).max() <= share * _EXTENT * function.sigma)


def is_bandwidth(sigma: Any) -> bool:
    """Whether a value is positive and finite."""
    return isinstance(sigma, Real) and 0.0 < float(sigma) < np.inf


def check_kernel(value: Any) -> None:
    """Refuse a value whose bandwidth, weights or precision are none."""
    value._require(is_bandwidth(value.sigma), f".sigma must be positive; got {value.sigma!r}.")
    value._require((value.weights >= 0).all(), ".weights must not be negative.")
    value._require(value.precision in PRECISIONS, f".precision must be one of {PRECISIONS}; got {value.precision!r}.")


def kernel_expansion(
    X: Array, coefficients: Array, sigma: float, *, precision: Precision = "double"
) -> KernelExpansion:
    """Expansion over the rows of X with non-zero coefficients."""
    centres, weights = distinct_centres(X, coefficients[np.newaxis])
    return KernelExpansion(centres, weights[0], float(sigma), X.mean(axis=0), precision)


def distinct_centres(X: Array, coefficients: Array) -> tuple[NDArray[Any], NDArray[Any]]:
    """Rows of X with a non-zero coefficient in any function (rows), each once; and their coefficients."""
    support = np.flatnonzero(coefficients.any(axis=0))
    centres, weights = X[support], np.ascontiguousarray(coefficients[:, support])
    # A sum over columns tells cheaply whether any rows may be equal.
    if len(np.unique(centres.sum(axis=1))) == len(centres):
        return centres, weights
    distinct, position = np.unique(centres, axis=0, return_inverse=True)
    return distinct, np.stack([np.bincount(position.ravel(), each) for each in weights])
