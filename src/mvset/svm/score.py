"""The score of rows of a table: the mean over splits of their solution functions, F^B of the paper without offset."""

from dataclasses import dataclass, field, replace

import numpy as np

from mvset.parallel import Map
from mvset.rows.encoding import RowEncoding
from mvset.svm.expansion import KernelExpansion, Precision, check_kernel, distinct_centres
from mvset.svm.scaling import Scaling
from mvset.values import Array, ArrayValue, array_rule, cached_property

_UNSEEN_SCORE = -1.0  # below every offset, because offsets of kernels are not negative
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Score(ArrayValue):
    r"""The function :math:`x \mapsto \sum_b \sum_j c_{bj} k_\sigma(A_b x, A_b x_j)` with centres x_j and scalings A_b.

    There are no scalings, one for all splits, or one for each. One scaling costs the union of the splits' support
    vectors, several cost their sum. x is a row as `encoding` encodes it. Its kernel is a product: a Gaussian of the
    numbers, and for each category column one if the values are equal and a constant less than one if they differ. A row
    with a value that the training rows did not have scores below every offset. `origin` and `precision` are as in
    :class:`KernelExpansion`.
    """

    encoding: RowEncoding
    centres: Array = field(metadata=array_rule(2))  # encoded
    weights: Array = field(metadata=array_rule(2))  # one row per scaling; one without scalings
    sigma: float
    origin: Array = field(metadata=array_rule(1, length=lambda self: self.centres.shape[1]))
    scalings: list[Scaling]
    precision: Precision = "double"

    def _check(self) -> None:
        check_kernel(self)
        self._require(isinstance(self.encoding, RowEncoding), " has parts of the wrong type.")
        listed = isinstance(self.scalings, list) and all(isinstance(each, Scaling) for each in self.scalings)
        self._require(listed, ".scalings must be a list of scalings.")
        n_columns, shape = self.centres.shape[1], (max(1, len(self.scalings)), len(self.centres))
        sizes = {self.encoding.layout.n_encoded, *(len(each.scales) for each in self.scalings)}
        self._require(sizes == {n_columns} and self.weights.shape == shape, " has parts of different sizes.")
        self._require(self.weights.any(axis=1).all(), " needs at least one centre for each scaling.")
        # The weights of a split's function have sum one, and so has their mean over splits, weighted with mean one.
        total = self.weights.sum()
        self._require(abs(total - 1.0) <= _ROUNDING, f" must have weights whose sum is one; got {total!r}.")

    @cached_property
    def parts(self) -> list[tuple[Scaling | None, KernelExpansion]]:
        """The function of each scaling, of rows that were mapped by it."""
        if not self.scalings:
            return [(None, KernelExpansion(self.centres, self.weights[0], self.sigma, self.origin, self.precision))]
        return [(each, self._part(each, weights)) for each, weights in zip(self.scalings, self.weights, strict=True)]

    def _part(self, scaling: Scaling, weights: Array) -> KernelExpansion:
        support = np.flatnonzero(weights)
        centres = self.mapped(scaling, self.centres[support])
        return KernelExpansion(centres, weights[support], self.sigma, np.zeros(centres.shape[1]), self.precision)

    @property
    def n_columns(self) -> int:
        """Number of columns of the table."""
        return self.encoding.n_columns

    @property
    def units(self) -> Array:
        """Unit of distance along each encoded column."""
        if not self.scalings:
            return np.ones(self.centres.shape[1])
        return np.asarray(np.mean([scaling.conditional_scales for scaling in self.scalings], axis=0))

    def mapped(self, scaling: Scaling | None, encoded: Array) -> Array:
        """Rows as the function of a scaling takes them."""
        return encoded if scaling is None else scaling(encoded - self.origin)

    def __call__(self, X: Array, run: Map = map) -> Array:
        """Scores of rows of the table."""
        return self.marked(X, self.of_encoded(self.encoding.encoded(X), run))

    def of_encoded(self, encoded: Array, run: Map = map) -> Array:
        """Scores of encoded rows."""
        values = np.zeros(len(encoded))
        for scaling, part in self.parts:
            values += part(self.mapped(scaling, encoded), run)
        return values

    @property
    def on_encoded(self) -> "Score":
        """The same function of rows that are encoded already."""
        return replace(self, encoding=RowEncoding(self.centres.shape[1]))

    def marked(self, X: Array, scores: Array) -> Array:
        """Scores of encoded rows, negative where a row of the table has a category that was not seen."""
        if not self.encoding.categories:
            return scores
        return np.where(self.encoding.categories.unseen(X).any(axis=1), _UNSEEN_SCORE, scores)

    def displacement(self, encoded: Array, run: Map = map) -> Array:
        r"""Return how far each column of each row is from the mean of the centres around it, in bandwidths.

        One mean-shift step, :math:`(x - m(x)) / \sigma = -\sigma \nabla \log f(x)`. Kernels are taken relative to the
        kernel of the nearest centre, so the step is right where the score itself underflows to zero.

        In a scaling A the gradient is taken with respect to the columns of X and multiplied by their conditional
        scales. It is how far a value is from what is normal given all other columns. With several scalings it is the
        mean over them.
        """
        total = np.zeros(encoded.shape)
        for scaling, part in self.parts:
            mapped = self.mapped(scaling, encoded)
            step = (mapped - part.mean_shift(mapped, run)) / part.sigma
            total += step if scaling is None else scaling.gradient(step) * scaling.conditional_scales
        return total / len(self.parts)


def mean_score(
    encoding: RowEncoding | None,
    X: Array,
    coefficients: Array,
    sigma: float,
    scalings: list[Scaling],
    precision: Precision = "double",
) -> Score:
    """Score over the encoded rows of X with a non-zero coefficient in any scaling (rows of `coefficients`)."""
    centres, weights = distinct_centres(X, coefficients)
    encoding = RowEncoding(X.shape[1]) if encoding is None else encoding
    return Score(encoding, centres, weights, float(sigma), X.mean(axis=0), scalings, precision)
