"""The Gram matrix of one bandwidth, shared by all splits: k(x_i, x_j) in eq. (3) of the paper."""

import threading
from collections import deque
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mvset.parallel import Map
from mvset.svm.compiled import fill_gram, scaled_columns
from mvset.values import Array, Flags

MAX_GRAM_BYTES = 2**30  # 16 384 rows; with more, kernel rows are computed when the solver asks for them
_CHUNK_ENTRIES = 2**19  # kernel values per task: about 0.2 ms
# Each thread keeps its working memory between solves: the first write to a new page of 4 KiB costs a page fault, which
# for small problems is more than the arithmetic.
KEPT_BYTES = 2**24  # at most this much per thread and purpose; larger requests are not kept
_thread = threading.local()


@dataclass(frozen=True)
class GaussianGram:
    """k(x_i, x_j) = exp(-|x_i - x_j|² / (2σ²)) in float32.

    `columns` are the scaled rows of the data, `known` the rows of `values` already computed. `values` is empty when it
    would not fit `MAX_GRAM_BYTES`.
    """

    columns: NDArray[np.float32]
    values: NDArray[np.float32]
    known: Flags

    @property
    def passing(self) -> "GaussianGram":
        """The same matrix for a single pass over its rows.

        Rows of a large matrix that are not known yet are computed but not stored: writing them to memory that has not
        been used before costs more than computing them again.
        """
        keep = self.values.nbytes <= KEPT_BYTES or self.known.all()
        return self if keep else GaussianGram(self.columns, self.values[:0, :0], self.known[:0])

    @property
    def source(self) -> tuple[NDArray[np.float32], NDArray[np.float32], Flags]:
        """The matrix in the form that the compiled solver takes."""
        return self.columns, self.values, self.known


def _kept_rows(n: int) -> int:
    return n if 4 * n * n <= MAX_GRAM_BYTES else 0


def _unknown_gram(X: Array, sigma: float, values: NDArray[np.float32]) -> GaussianGram:
    columns = scaled_columns(X, X.mean(axis=0), sigma, np.float32)
    return GaussianGram(columns, values, np.zeros(len(values), np.bool_))


def lazy_gram(X: Array, sigma: float) -> GaussianGram:
    """Gram matrix for one solve, whose rows are computed when first needed.

    It is valid until the same thread calls this function again, which reuses the memory.
    """
    return _unknown_gram(X, sigma, scratch("gram", _kept_rows(len(X))))


def gaussian_gram(X: Array, sigma: float, run: Map = map, recycle: GaussianGram | None = None) -> GaussianGram:
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


def scratch(purpose: str, n: int) -> NDArray[np.float32]:
    """An uninitialised (n, n) matrix, valid until this thread asks again for the same purpose."""
    if 4 * n * n > KEPT_BYTES:
        return np.empty((n, n), np.float32)
    kept: NDArray[np.float32] | None = getattr(_thread, purpose, None)
    if kept is None or kept.size < n * n:
        kept = np.empty(n * n, np.float32)
        setattr(_thread, purpose, kept)
    return kept[: n * n].reshape(n, n)
