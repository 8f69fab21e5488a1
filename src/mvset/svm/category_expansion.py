"""The score of rows with categories: that of the encoded rows, and none where a value was never seen."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mvset.categories import Categories
from mvset.parallel import Map
from mvset.svm.expansion import KernelExpansion
from mvset.svm.metric_expansion import MetricExpansion
from mvset.values import ArrayValue

Array = NDArray[np.float64]

_UNSEEN_SCORE = -1.0  # below every offset: those of kernels are not negative


@dataclass(frozen=True, eq=False)
class CategoryExpansion(ArrayValue):
    """The function of rows in which codes stand for the values of categories.

    The kernel of encoded rows is a product: a Gaussian of the numbers, and for each category column one if the values
    are equal and a constant less than one if they differ.
    """

    categories: Categories
    function: KernelExpansion | MetricExpansion  # of encoded rows

    def __post_init__(self) -> None:
        """Check the parts, also of what a file holds."""
        owner, layout = type(self).__name__, self.categories.layout
        if not isinstance(self.function, KernelExpansion | MetricExpansion):
            raise ValueError(f"{owner}.function is of the wrong type.")
        if self.function.centres.shape[1] != layout.n_numeric + layout.n_codes:
            raise ValueError(f"{owner} has parts of different sizes.")

    def __call__(self, X: Array, run: Map = map) -> Array:
        """Values at rows with codes."""
        scores = self.function(self.categories.encoded(X), run)
        return np.where(self.categories.unseen(X).any(axis=1), _UNSEEN_SCORE, scores)
