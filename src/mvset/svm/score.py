"""The score of rows of a table: the logarithm of F^B of the paper, or the smaller of two, brought to one scale."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from numbers import Real

import numpy as np

from mvset.parallel import Map
from mvset.rows.encoding import RowEncoding
from mvset.svm.expansion import KernelExpansion, Part, Precision, check_kernel, log_sum, rough_logs, sum_of
from mvset.svm.scaling import Scaling
from mvset.values import Array, ArrayValue, Indices, array_rule, cached_property

_UNSEEN_SCORE = -1e300  # below every offset
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class View(ArrayValue):
    r"""The function :math:`F(x) = \sum_b \sum_j c_{bj} k_\sigma(A_b x, A_b x_j)` with scalings A_b of one kind.

    There are no scalings, one for all splits, or one for each. One scaling costs the union of the splits' support
    vectors, several cost their sum. In a score, the view stands for ``shift + slope * log F(x)``.
    """

    weights: Array = field(metadata=array_rule(2))  # one row per scaling; one without scalings
    sigma: float
    scalings: list[Scaling]
    precision: Precision = "double"
    shift: float = 0.0
    slope: float = 1.0

    def _check(self) -> None:
        check_kernel(self)
        listed = isinstance(self.scalings, list) and all(isinstance(each, Scaling) for each in self.scalings)
        self._require(listed, ".scalings must be a list of scalings.")
        self._require(len(self.weights) == max(1, len(self.scalings)), " needs weights for each scaling.")
        self._require(self.weights.any(axis=1).all(), " needs at least one centre for each scaling.")
        # The weights of a split's function have sum one, and so has their mean over splits, weighted with mean one.
        total = self.weights.sum()
        self._require(abs(total - 1.0) <= _ROUNDING, f" must have weights whose sum is one; got {total!r}.")
        numbers = isinstance(self.shift, Real) and isinstance(self.slope, Real)
        self._require(numbers and np.isfinite([self.shift, self.slope]).all(), " needs a finite shift and slope.")
        self._require(self.slope > 0, ".slope must be positive.")


@dataclass(frozen=True, eq=False)
class Score(ArrayValue):
    r"""The smallest of one or two views of a row: of one view, the logarithm of its function.

    x is a row as `encoding` encodes it. Its kernel is a product: a Gaussian of the numbers, and for each category
    column one if the values are equal and a constant less than one if they differ. A row with a value that the training
    rows did not have scores below every offset. The centres serve all views. `origin` is subtracted from
    everything first, for accuracy far from zero.
    """

    encoding: RowEncoding
    centres: Array = field(metadata=array_rule(2))  # encoded
    origin: Array = field(metadata=array_rule(1, length=lambda self: self.centres.shape[1]))
    views: list[View]

    def _check(self) -> None:
        self._require(isinstance(self.encoding, RowEncoding), " has parts of the wrong type.")
        listed = isinstance(self.views, list) and self.views and all(isinstance(each, View) for each in self.views)
        self._require(listed, ".views must be a list of at least one view.")
        n_centres, n_columns = self.centres.shape
        sizes = {self.encoding.layout.n_encoded, *(len(each.scales) for view in self.views for each in view.scalings)}
        counts = {view.weights.shape[1] for view in self.views}
        self._require(sizes == {n_columns} and counts == {n_centres}, " has parts of different sizes.")

    @cached_property
    def parts(self) -> list[list[tuple[Scaling | None, KernelExpansion]]]:
        """For each view the function of each scaling, of rows that were mapped by it."""
        return [[self._part(view, *each) for each in _scaled(view)] for view in self.views]

    def _part(self, view: View, scaling: Scaling | None, weights: Array) -> tuple[Scaling | None, KernelExpansion]:
        support = np.flatnonzero(weights)
        centres = self.mapped(scaling, self.centres[support])
        origin = self.origin if scaling is None else np.zeros(len(self.origin))
        return scaling, KernelExpansion(centres, weights[support], view.sigma, origin, view.precision)

    @property
    def n_columns(self) -> int:
        """Number of columns of the table."""
        return self.encoding.n_columns

    def units(self, view: View) -> Array:
        """Unit of distance along each encoded column in a view."""
        if not view.scalings:
            return np.ones(self.centres.shape[1])
        return np.asarray(np.mean([scaling.conditional_scales for scaling in view.scalings], axis=0))

    def mapped(self, scaling: Scaling | None, encoded: Array) -> Array:
        """Rows as the function of a scaling takes them."""
        return encoded if scaling is None else scaling(encoded - self.origin)

    def __call__(self, X: Array, run: Map = map) -> Array:
        """Scores of rows of the table."""
        return self.marked(X, self.of_encoded(self.encoding.encoded(X), run))

    def of_encoded(self, encoded: Array, run: Map = map) -> Array:
        """Scores of encoded rows."""
        return self.smallest(self.by_view(encoded, run))

    def by_view(self, encoded: Array, run: Map = map) -> list[Array]:
        """Logarithms of the function of each view at encoded rows."""
        return [log_sum(encoded, parts, run) for parts in self._mapped_parts]

    def roughly(self, encoded: Array, run: Map = map) -> Array:
        """Scores of encoded rows, without an order of those so far out that values underflow: this costs less."""
        return self.smallest([rough_logs(sum_of(encoded, parts, run)) for parts in self._mapped_parts])

    @property
    def _mapped_parts(self) -> list[list[Part]]:
        return [[(partial(self.mapped, scaling), part) for scaling, part in parts] for parts in self.parts]

    def on_scale(self, logs: Sequence[Array]) -> list[Array]:
        """Logarithms of the functions, one of each view, on the scale of the score."""
        return [view.shift + view.slope * each for view, each in zip(self.views, logs, strict=True)]

    def smallest(self, logs: Sequence[Array]) -> Array:
        """Scores from the logarithms of the functions."""
        return np.asarray(np.min(self.on_scale(logs), axis=0))

    @property
    def on_encoded(self) -> "Score":
        """The same function of rows that are encoded already."""
        return replace(self, encoding=RowEncoding(self.centres.shape[1]))

    def evaluated_in(self, precision: Precision) -> "Score":
        """Return the same function, evaluated in another precision."""
        return replace(self, views=[replace(view, precision=precision) for view in self.views])

    def marked(self, X: Array, scores: Array) -> Array:
        """Scores of encoded rows, below every offset where a row of the table has a category that was not seen."""
        if not self.encoding.categories:
            return scores
        return np.where(self.encoding.categories.unseen(X).any(axis=1), _UNSEEN_SCORE, scores)

    def deciding(self, encoded: Array, run: Map = map) -> Indices:
        """Return the number of the view that decides about each row."""
        if len(self.views) == 1:
            return np.zeros(len(encoded), np.intp)
        return np.asarray(np.argmin(self.on_scale(self.by_view(encoded, run)), axis=0))

    def displacement(self, encoded: Array, run: Map = map) -> tuple[Array, Array]:
        r"""Return how far each column of each row is from the mean of the centres around it; and the unit of that.

        One mean-shift step, :math:`(x - m(x)) / \sigma = -\sigma \nabla \log F(x)`, in the view that decides about the
        row. Kernels are taken relative to the kernel of the nearest centre, so the step is right far out.

        In a scaling A the gradient is taken with respect to the columns of X and multiplied by their conditional
        scales. It is how far a value is from what is normal given all other columns. With several scalings it is the
        mean over them. The unit is the bandwidth times these scales.
        """
        steps, units = np.zeros(encoded.shape), np.ones(encoded.shape)
        deciding = self.deciding(encoded, run)
        for number, (view, parts) in enumerate(zip(self.views, self.parts, strict=True)):
            rows = np.flatnonzero(deciding == number)
            for scaling, part in parts if len(rows) else []:
                mapped = self.mapped(scaling, encoded[rows])
                step = (mapped - part.mean_shift(mapped, run)) / part.sigma
                step = step if scaling is None else scaling.gradient(step) * scaling.conditional_scales
                steps[rows] += step / len(parts)
            units[rows] = view.sigma * self.units(view)
        return steps, units


def _scaled(view: View) -> list[tuple[Scaling | None, Array]]:
    scalings: list[Scaling] | list[None] = view.scalings or [None]
    return list(zip(scalings, view.weights, strict=True))
