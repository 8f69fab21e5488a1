r"""Kernel expansions of rows on any device, by the functions of the array API.

One formula for every library, :math:`\sum_j c_j \exp(-\sum_k (x_k - x_{jk})^2)` with the columns scaled before. Squared
distances are sums of squared differences: :math:`|x|^2 + |c|^2 - 2 x \cdot c`, a matrix product, loses in float32 the
digits that a relative error of 10⁻⁵ needs. On a GPU torch compiles the formula into one kernel, which stores none of
the values of the kernel function.

With many columns a matrix product is several times as fast, and with few, too, where nothing is compiled. It is used
where rows and centres lie within a few bandwidths of their common origin. There
:math:`e^{-|x|^2} \sum_j (c_j e^{-|x_j|^2}) e^{2 x \cdot x_j}` has the digits: nothing cancels.

Rows are shifted and scaled in float64, whatever their type, as the compiled core does it: both then work on the same
coordinates, and differ only by the rounding of sums and exponentials. Scores are logarithms; where values are too small
for that, sums are taken relative to the kernel of the nearest centre.
"""

import importlib
import logging
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from mvset.devices.places import Place
from mvset.svm.compiled import scaled_columns
from mvset.svm.expansion import LEAST, LOWEST_LOG, SMALL, KernelExpansion, fits_single
from mvset.svm.scaling import LARGEST, Scaling
from mvset.svm.score import Score, View
from mvset.values import Array

_logger = logging.getLogger(__name__)

# Relative differences between values of functions here and on the CPU, at most: differences of their logarithms.
SINGLE_ERROR, DOUBLE_ERROR = 1e-5, 1e-12
# Where all exponents are large, float32 has too few digits for them; unless the CPU has rounded coordinates alike.
_SMALL = 1e-6
_WORKING_BYTES = 3 << 27  # beside rows and results
_STORED_BYTES = 1 << 26  # of them for values of the kernel function, where they are stored: a GPU's cache holds them
_INT32 = 2**31 - 1  # kernels are faster where indices fit
# Values of the kernel function: so many take torch about as long as compiling the formula, some seconds.
_MANY_VALUES = 1e11
_PRODUCT_BYTES = 1 << 28  # of matrix products that are stored: smaller ones take longer to start than to compute
# From so many columns on a matrix product is faster than sums of squares: computed step by step, or compiled.
_PRODUCT_COLUMNS, _COMPILED_PRODUCT_COLUMNS = 3, 20
# Largest squared length of rows and centres for it: twice their product, 32 at most, has an error below 10⁻⁵.
_PRODUCT_EXTENT = 16.0
_FUSED_COLUMNS = 64  # of one compiled kernel: its length, and the time to compile it, grow with them


@dataclass(frozen=True)
class _Part:
    """A kernel expansion in one scaling, as arrays of a device."""

    origin: Any
    scaling: tuple[Any, Any] | None  # scales, and mixing or None
    shift: Any
    unit: float
    single: tuple[Any, Any] | None  # centres, one column after the other, and weights
    double: tuple[Any, Any]
    product: tuple[Any, Any] | None  # of float32: twice the centres, and weights times exp(-|centre|²)


@dataclass(frozen=True)
class _View:
    """The parts of a view of a score, and what is taken in float32."""

    parts: list[_Part]
    shift: float
    slope: float
    in_single: bool
    is_rounded: bool  # whether the CPU or this evaluates some part in float32
    least: float  # smaller values are computed again in float64


class ArrayExpansion:
    """A score as a function of rows on a device.

    Parameters
    ----------
    score : Score
        What is evaluated, of encoded rows.
    place : Place
        The library of the rows, and their device.
    single : bool, default=False
        Whether the rows are float32. Those of "mixed" functions are evaluated in float32 in any case, as on the CPU,
        and no rows if the centres spread too far for it.
    n_rows : int, default=0
        How many rows there will be, if that is known. Torch compiles the formula for rows on a GPU if they are many, or
        once so many have come that compiling would not have taken longer.
    """

    def __init__(self, score: Score, place: Place, *, single: bool = False, n_rows: int = 0) -> None:
        self.place = place
        self.n_centres = sum(len(each.centres) for parts in score.parts for _, each in parts)
        self._n_columns = int(score.centres.shape[1])
        self._views = [self._view(score, *each, single) for each in zip(score.views, score.parts, strict=True)]
        self._is_long = n_rows * self.n_centres >= _MANY_VALUES

    @property
    def error(self) -> float:
        """Difference from the scores of the CPU, at most; beside a relative difference of `DOUBLE_ERROR`."""
        return max(view.slope * (SINGLE_ERROR if view.is_rounded else DOUBLE_ERROR) for view in self._views)

    @property
    def chunk_rows(self) -> int:
        """How many rows to give at a time, in bounded memory."""
        return max(16, _WORKING_BYTES // (32 * self._n_columns))

    def __call__(self, rows: Any) -> Any:
        """Scores of rows, as float64."""
        xp, rows = self.place.xp, self.place.double(rows)
        if self.place.is_cuda:
            _Compiler.n_values += rows.shape[0] * self.n_centres
        first, *others = (view.shift + view.slope * self._logs(view, rows) for view in self._views)
        for other in others:
            first = xp.minimum(first, other)
        return first

    def _logs(self, view: _View, rows: Any) -> Any:
        """Logarithms of the function of a view."""
        xp, values = self.place.xp, self._values(view, rows, single=view.in_single)
        if view.in_single:
            small = values < view.least
            if bool(xp.any(small)):
                values[small] = self._values(view, rows[small], single=False)
        far = values <= LEAST
        logs = xp.log(xp.where(far, self.place.array(1.0), values))
        if bool(xp.any(far)):
            logs[far] = self._far_logs(view, rows[far])
        return logs

    def _view(
        self, score: Score, view: View, parts: list[tuple[Scaling | None, KernelExpansion]], single: bool
    ) -> _View:
        expansions = [each for _, each in parts]
        if view.precision == "mixed":  # the CPU evaluates each part in float32 that fits it
            fits = [fits_single(each) for each in expansions]
            in_single, is_rounded, least = all(fits), any(fits), SMALL
        else:  # the CPU's coordinates are in float64, and those here are to differ by less
            in_single = is_rounded = single and all(fits_single(each, 0.5) for each in expansions)
            least = _SMALL
        found = [self._part(score, scaling, each, in_single) for scaling, each in parts]
        return _View(found, view.shift, view.slope, in_single, is_rounded, least)

    def _part(self, score: Score, scaling: Scaling | None, part: KernelExpansion, in_single: bool) -> _Part:
        array = self.place.array

        def centres(dtype: Any) -> tuple[Any, Any]:
            columns = scaled_columns(part.centres, part.origin, part.sigma, dtype)
            return array(columns), array(part.weights.astype(dtype))

        mapped = None
        if scaling is not None:
            mapped = array(scaling.scales), array(scaling.mixing) if len(scaling.mixing) else None
        single = centres(np.float32) if in_single else None
        return _Part(
            array(score.origin if scaling is not None else np.zeros(len(score.origin))),
            mapped,
            array(part.origin),
            float(part.sigma * np.sqrt(2.0)),
            single,
            centres(np.float64),
            None if single is None else self._product(part),
        )

    def _product(self, part: KernelExpansion) -> tuple[Any, Any] | None:
        """What a matrix product needs, if it pays and is accurate."""
        columns = scaled_columns(part.centres, part.origin, part.sigma, np.float64)
        squares = np.sum(columns**2, axis=0)
        if len(columns) < _PRODUCT_COLUMNS or squares.max() > _PRODUCT_EXTENT or not self.place.multiplies_exactly:
            return None
        weights = part.weights * np.exp(-squares)
        return self.place.array(2.0 * columns.astype(np.float32)), self.place.array(weights.astype(np.float32))

    def _values(self, view: _View, rows: Any, *, single: bool) -> Any:
        total = self.place.xp.zeros(rows.shape[0], dtype=self.place.xp.float64, device=self.place.device)
        for part in view.parts:
            total = total + self.place.double(self._part_values(part, rows, single))
        return total

    def _far_logs(self, view: _View, rows: Any) -> Any:
        """The same where values underflow: relative to the kernel of the nearest centre, step by step."""
        xp, total = self.place.xp, None
        for part in view.parts:
            points, (centres, weights) = self._scaled(part, rows, 1e150), part.double
            size, found = _stored_rows(weights, single=False), []
            for some in blocks(points.shape[0], size):
                squares = _squared_distances(xp, points[some, :], centres)
                nearest = xp.min(squares, axis=1)
                sums = _weighted_exponentials(xp, nearest[:, None] - squares, weights)
                found.append(xp.log(sums) - nearest)
            logs = _joined(xp, found)
            total = logs if total is None else xp.logaddexp(total, logs)
        return xp.maximum(total, self.place.array(LOWEST_LOG))

    @property
    def _is_compiled(self) -> bool:
        """Whether torch compiles the formula."""
        return self.place.is_cuda and (self._is_long or _Compiler.n_values >= _MANY_VALUES)

    def _part_values(self, part: _Part, rows: Any, single: bool) -> Any:
        """The sums of one part, block by block."""
        points = self._scaled(part, rows, 1e18 if single else 1e150)
        least_columns = _COMPILED_PRODUCT_COLUMNS if self._is_compiled else _PRODUCT_COLUMNS
        if not single or part.product is None or points.shape[1] < least_columns:
            return self._sums_of_squares(part, points, single)
        xp = self.place.xp
        squares = xp.sum(points * points, axis=1)
        far = squares > _PRODUCT_EXTENT
        values = xp.exp(-squares) * self.place.double(self._sums_of_products(part.product, points))
        if bool(xp.any(far)):
            values[far] = self.place.double(self._sums_of_squares(part, points[far], single))
        return values

    def _sums_of_squares(self, part: _Part, points: Any, single: bool) -> Any:
        is_compiled = self._is_compiled
        xp, formula = self.place.xp, _compiled_formula if is_compiled else _kernel_sums
        centres, weights = part.single if single and part.single is not None else part.double
        points = xp.astype(points, centres.dtype)
        fused = is_compiled and points.shape[1] <= _FUSED_COLUMNS
        size = _INT32 // weights.shape[0] if fused else _stored_rows(weights, single)
        found = [formula(xp, points[rows, :], centres, weights) for rows in blocks(points.shape[0], size)]
        return _joined(xp, found)

    def _sums_of_products(self, product: tuple[Any, Any], points: Any) -> Any:
        centres, weights = product
        xp, sums = self.place.xp, _compiled_exponentials if self._is_compiled else _weighted_exponentials
        points = xp.astype(points, centres.dtype)
        size = max(1, _PRODUCT_BYTES // (4 * int(weights.shape[0])))
        return _joined(xp, [sums(xp, points[rows, :] @ centres, weights) for rows in blocks(points.shape[0], size)])

    def _scaled(self, part: _Part, rows: Any, largest: float) -> Any:
        """Rows whose squared distances are the exponents."""
        rows = rows - part.origin
        if part.scaling is not None:
            scales, mixing = part.scaling
            rows = self._clipped(rows / scales, LARGEST)
            rows = rows if mixing is None else rows @ mixing
        return self._clipped((rows - part.shift) / part.unit, largest)

    def _clipped(self, X: Any, largest: float) -> Any:
        """`clip` of the array API copies, and marks, and assigns: slow on a GPU."""
        xp, bound = self.place.xp, self.place.array(largest)
        return xp.minimum(xp.maximum(X, -bound), bound)


def _squared_distances(xp: Any, points: Any, centres: Any, squares: Any = None) -> Any:
    """Squared distances between points, as rows, and centres, as columns, added to those in other columns."""
    for k in range(centres.shape[0]):
        difference = points[:, k, None] - centres[k, None, :]
        squares = difference * difference if squares is None else squares + difference * difference
    return squares


def _kernel_sums(xp: Any, points: Any, centres: Any, weights: Any, squares: Any = None) -> Any:
    """Σ_j weights[j] exp(-|point - centre j|²) for every point."""
    return _weighted_exponentials(xp, -_squared_distances(xp, points, centres, squares), weights)


def _weighted_exponentials(xp: Any, exponents: Any, weights: Any) -> Any:
    """Σ_j weights[j] exp(exponents[i, j]) for every i."""
    return xp.sum(xp.exp(exponents) * weights, axis=1)


def _compiled_exponentials(xp: Any, exponents: Any, weights: Any) -> Any:
    """The same, compiled by torch."""
    return _Compiler.first_that_works(
        lambda: _Compiler.compiled(_weighted_exponentials)(exponents, weights),
        lambda: _weighted_exponentials(xp, exponents, weights),
    )


def _compiled_formula(xp: Any, points: Any, centres: Any, weights: Any) -> Any:
    """Sums of kernels, compiled by torch; many columns in groups, of which the last makes the sums."""

    def compiled() -> Any:
        last, squares = (points.shape[1] - 1) // _FUSED_COLUMNS * _FUSED_COLUMNS, None
        for start in range(0, last, _FUSED_COLUMNS):
            group = slice(start, start + _FUSED_COLUMNS)
            squares = _Compiler.compiled(_squared_distances)(points[:, group], centres[group, :], squares)
        sums = _Compiler.compiled(_kernel_sums, points.shape[1] - last)
        return sums(points[:, last:], centres[last:, :], weights, squares)

    def step_by_step() -> Any:
        size = _stored_rows(weights, points.dtype == xp.float32)
        found = [_kernel_sums(xp, points[rows, :], centres, weights) for rows in blocks(points.shape[0], size)]
        return _joined(xp, found)

    return _Compiler.first_that_works(compiled, step_by_step)


class _Compiler:
    """Compiled functions, one for each number of columns."""

    works = True  # until it fails, as without a C compiler on the machine
    n_values = 0  # of the kernel function, so far, on GPUs

    @classmethod
    def first_that_works(cls, compiled: Callable[[], Any], step_by_step: Callable[[], Any]) -> Any:
        """What the compiled function returns, or, once torch could not compile, what the other does."""
        if cls.works:
            try:
                return compiled()
            except Exception as error:
                if "out of memory" in str(error):
                    raise
                cls.works = False
                _logger.debug("torch cannot compile the kernel: it is evaluated step by step.", exc_info=True)
        return step_by_step()

    @staticmethod
    @cache
    def compiled(function: Callable[..., Any], n_columns: int = 0) -> Any:
        """A function of arrays of torch, for a number of columns that it needs to know."""
        torch: Any = importlib.import_module("torch")

        def call(*arrays: Any) -> Any:
            return function(torch, *arrays)

        # torch keeps what it compiles with the code of a function, and gives up after eight variants: hence a copy.
        code, closure = call.__code__.replace(), call.__closure__
        return torch.compile(types.FunctionType(code, call.__globals__, None, None, closure), dynamic=True)


def _stored_rows(weights: Any, single: bool) -> int:
    """How many points at a time if the values of their kernels are stored, with some more for what leads to them."""
    return max(1, _STORED_BYTES // (4 * (4 if single else 8) * int(weights.shape[0])))


def _joined(xp: Any, parts: list[Any]) -> Any:
    return parts[0] if len(parts) == 1 else xp.concat(parts)


def blocks(n_rows: int, size: int) -> Iterator[slice]:
    """Slices of about equal length, `size` at most; an empty one if there are no rows."""
    count = max(1, -(-n_rows // max(1, size)))
    length = max(1, -(-n_rows // count))
    return (slice(start, min(start + length, n_rows)) for start in range(0, max(1, n_rows), length))


def doubtful_edges(offsets: Array, error: float) -> Array:
    """Ends of the intervals of scores so near an offset that rounding may decide: begin, end, begin and so on.

    An odd number of them lies below a score in doubt. They reach four times as far as the error, so that they hold
    for scores of the CPU, which are rounded as well.
    """
    reach = 4.0 * (error + DOUBLE_ERROR * np.abs(offsets))
    begins, ends = np.sort(offsets - reach), np.sort(offsets + reach)
    apart = begins[1:] > ends[:-1]
    return np.column_stack([begins[np.append(True, apart)], ends[np.append(apart, True)]]).ravel()
