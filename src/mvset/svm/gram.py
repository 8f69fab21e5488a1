"""The Gram matrix of one bandwidth, shared by all splits: k(x_i, x_j) in eq. (3) of the paper."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mvset.parallel import Map
from mvset.svm.compiled import fill_gram, scaled_columns
from mvset.svm.scratch import KEPT_BYTES, scratch

MAX_GRAM_BYTES = 2**30  # 16 384 rows; with more, kernel rows are computed when the solver asks for them
_CHUNK_ENTRIES = 2**19  # kernel values per task: about 0.2 ms


@dataclass(frozen=True)
class GaussianGram:
    """k(x_i, x_j) = exp(-|x_i - x_j|² / (2σ²)) in float32.

    `columns` are the scaled rows of the data, `known` the rows of `values` already computed. `values` is empty when it
    would not fit `MAX_GRAM_BYTES`.
    """

    columns: NDArray[np.float32]
    values: NDArray[np.float32]
    known: NDArray[np.bool_]

    @property
    def passing(self) -> GaussianGram:
        """The same matrix for a single pass over its rows.

        Rows of a large matrix that are not known yet are computed but not stored: writing them to memory that has not
        been used before costs more than computing them again.
        """
        keep = self.values.nbytes <= KEPT_BYTES or self.known.all()
        return self if keep else GaussianGram(self.columns, self.values[:0, :0], self.known[:0])

    @property
    def source(self) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.bool_]]:
        """The matrix in the form that the compiled solver takes."""
        return self.columns, self.values, self.known


def _kept_rows(n: int) -> int:
    return n if 4 * n * n <= MAX_GRAM_BYTES else 0


def _unknown_gram(X: NDArray[np.float64], sigma: float, values: NDArray[np.float32]) -> GaussianGram:
    columns = scaled_columns(X, X.mean(axis=0), sigma, np.float32)
    return GaussianGram(columns, values, np.zeros(len(values), np.bool_))


def lazy_gram(X: NDArray[np.float64], sigma: float) -> GaussianGram:
    """Gram matrix for one solve, whose rows are computed when first needed.

    It is valid until the same thread calls this function again, which reuses the memory.
    """
    return _unknown_gram(X, sigma, scratch("gram", _kept_rows(len(X))))


def gaussian_gram(
    X: NDArray[np.float64], sigma: float, run: Map = map, recycle: GaussianGram | None = None
) -> GaussianGram:
    """Gram matrix with all its rows, which solves on several threads may share.

    It takes over the memory of `recycle`, a matrix of as many rows that is no longer needed.
    """
    n = _kept_rows(len(X))
    gram = _unknown_gram(X, sigma, np.empty((n, n), np.float32) if recycle is None else recycle.values)
    chunk = max(1, _CHUNK_ENTRIES // max(1, n))
    starts = range(0, n, chunk)
    deque(run(lambda start: fill_gram(gram.columns, start, min(start + chunk, n), gram.values), starts), maxlen=0)
    gram.known[:] = True
    return gram
