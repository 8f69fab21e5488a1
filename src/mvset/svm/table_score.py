"""The score of rows of a table that has categories or missing values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mvset.parallel import Map
from mvset.row_encoding import RowEncoding
from mvset.svm.expansion import KernelExpansion
from mvset.svm.metric_expansion import MetricExpansion
from mvset.values import ArrayValue

Array = NDArray[np.float64]

_UNSEEN_SCORE = -1.0  # below every offset: those of kernels are not negative


@dataclass(frozen=True, eq=False)
class TableScore(ArrayValue):
    """The function of encoded rows, for rows of the table.

    The kernel of encoded rows is a product: a Gaussian of the numbers, and for each category column one if the values
    are equal and a constant less than one if they differ. A value that was not seen in the fit has a negative score.
    """

    encoding: RowEncoding
    function: KernelExpansion | MetricExpansion  # of encoded rows

    def __post_init__(self) -> None:
        """Check the parts, also of what a file holds."""
        owner = type(self).__name__
        if not isinstance(self.encoding, RowEncoding) or not isinstance(
            self.function, KernelExpansion | MetricExpansion
        ):
            raise ValueError(f"{owner} has parts of the wrong type.")
        if self.function.centres.shape[1] != self.encoding.layout.n_numeric + self.encoding.layout.n_codes:
            raise ValueError(f"{owner} has parts of different sizes.")

    @property
    def n_columns(self) -> int:
        """Number of columns of rows."""
        return self.encoding.n_columns

    def __call__(self, X: Array, run: Map = map) -> Array:
        """Values at rows of the table."""
        return self.marked(X, self.function(self.encoding.encoded(X), run))

    def marked(self, X: Array, scores: Array) -> Array:
        """Scores of encoded rows, negative where a row has a value that was not seen."""
        return np.where(self.encoding.categories.unseen(X).any(axis=1), _UNSEEN_SCORE, scores)
