"""Step 6: the aggregated set. What everything downstream takes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mvset.calibration.guarantees import SHARES_HELD, Promise, is_claimed
from mvset.calibration.offsets import level_at, offset_at, offsets_by_rank
from mvset.calibration.splits import Split
from mvset.parallel import Map
from mvset.svm.compiled import expansion, mean_shift, scaled_columns
from mvset.svm.dual import Dual

_CHUNK = 1024  # rows per task: large enough to hide the cost of a task, a multiple of the kernel's block
_NEGLIGIBLE = 1e-8  # of the border's score


@dataclass(frozen=True)
class KernelExpansion:
    r"""The function :math:`x \mapsto \sum_j c_j k_\sigma(x, x_j)` with its centres x_j and weights c_j.

    `origin` is subtracted from everything first, for accuracy far from zero. `dtype` is the precision of evaluation:
    float32 is enough to rank bandwidths; in float64 values far from the data, below the range of float32, still order
    points.
    """

    centres: NDArray[np.float64]
    weights: NDArray[np.float64]
    sigma: float
    origin: NDArray[np.float64]
    dtype: type = np.float64

    def __call__(self, X: NDArray[np.float64], run: Map = map) -> NDArray[np.float64]:
        """Values at the rows of X; no row's value depends on the others or on how many threads `run` uses."""
        return np.concatenate([np.empty(0), *self._by_chunk(expansion, X, run, ())])

    def mean_shift(self, X: NDArray[np.float64], run: Map = map) -> NDArray[np.float64]:
        """For each row of X the mean of the centres, each with its weight times its kernel there."""
        means = np.hstack([np.empty((X.shape[1], 0)), *self._by_chunk(mean_shift, X, run, (X.shape[1],))]).T
        return np.asarray(self.origin + np.sqrt(2.0) * self.sigma * means)

    def _by_chunk(
        self, kernel: Callable[..., None], X: NDArray[np.float64], run: Map, shape: tuple[int, ...]
    ) -> Iterable[NDArray[Any]]:
        """What a kernel fills, an array of `shape` for each point, for one chunk of rows after the other."""
        scaled_centres = np.ascontiguousarray(scaled_columns(self.centres, self.origin, self.sigma, self.dtype).T)
        weights: NDArray[Any] = self.weights.astype(self.dtype)
        if weights.shape != (len(scaled_centres),):  # kernels do not check, and files may hold anything
            raise ValueError(f"{len(self.centres)} centres have weights of shape {weights.shape}.")

        def values(start: int) -> NDArray[Any]:
            points = scaled_columns(X[start : start + _CHUNK], self.origin, self.sigma, self.dtype)
            out: NDArray[Any] = np.empty((*shape, points.shape[1]), self.dtype)
            kernel(points, scaled_centres, weights, out)
            return out

        return run(values, range(0, len(X), _CHUNK))


class ScoreFunction(Protocol):
    """A score of every row, high where the rows are."""

    def __call__(self, X: NDArray[np.float64], run: Map = map) -> NDArray[np.float64]:
        """Values at the rows of X."""


Function = TypeVar("Function", bound=ScoreFunction)


@dataclass(frozen=True)
class LevelSets(Generic[Function]):
    """Nested sets {function >= offset(mass)}, one for every mass in (0, 1)."""

    function: Function
    split_offsets: NDArray[np.float64]  # one row per split, by rank: see offsets.py
    promise: Promise = SHARES_HELD

    @cached_property
    def offsets(self) -> NDArray[np.float64]:
        """Mean over splits of the offsets by rank."""
        return np.asarray(self.split_offsets.mean(axis=0))

    def offset(self, mass: ArrayLike) -> NDArray[np.float64]:
        """Offset of the set of each mass."""
        return offset_at(self.offsets, mass, self._claims)

    def level(self, scores: ArrayLike) -> NDArray[np.float64]:
        """Smallest mass whose set holds a point of this score."""
        return level_at(self.offsets, scores, self._claims)

    def can_claim(self, mass: float) -> bool:
        """Whether there are enough calibration rows for this mass."""
        return is_claimed(mass, self._claims)

    @cached_property
    def _claims(self) -> NDArray[np.float64]:
        return self.promise.claims(self.split_offsets.shape[1])


def kernel_expansion(
    X: NDArray[np.float64], coefficients: NDArray[np.float64], sigma: float, dtype: type = np.float64
) -> KernelExpansion:
    """Expansion over the rows of X with non-zero coefficients."""
    support = np.flatnonzero(coefficients)
    return KernelExpansion(X[support], coefficients[support], sigma, X.mean(axis=0), dtype)


def _held_out_score(X: NDArray[np.float64], split: Split, dual: Dual, sigma: float, dtype: type) -> NDArray[np.float64]:
    """f_b at the held-out rows of one split.

    In float32 the solver has it already: its gradient. A score far below that on the border of the set is rounded to
    what float64 can hold beside it, zero in the end: the training rows say nothing there. At a hopelessly narrow
    bandwidth the offsets then are zero, the sets the whole box, and their area rejects it, where a union of tiny balls
    would look small while it covers every row.
    """
    total, border = dual.alpha.sum(dtype=np.float64), dual.rho
    if dtype is np.float32:
        values = dual.gradient[split.held_out] / total
    else:
        values = kernel_expansion(X, dual.coefficients, sigma)(X[split.held_out])
    rounded = ((total * values - border) + border) / total
    return np.asarray(np.where(total * values > _NEGLIGIBLE * border, values, rounded))


def held_out_scores(
    X: NDArray[np.float64],
    splits: Sequence[Split],
    duals: Sequence[Dual],
    sigma: float,
    dtype: type = np.float64,
    run: Map = map,
) -> list[NDArray[np.float64]]:
    """Scores f_b of the rows that each split holds out."""
    return list(run(lambda split, dual: _held_out_score(X, split, dual, sigma, dtype), splits, duals))


def aggregate(
    X: NDArray[np.float64],
    duals: Sequence[Dual],
    scores: Sequence[NDArray[np.float64]],
    sigma: float,
    dtype: type = np.float64,
) -> LevelSets[KernelExpansion]:
    r"""Mean of the models of all splits: :math:`F^B = \frac1B \sum_b (f_b - \hat\rho^b)`.

    Paper: Section II-D, Fig. 3. The mean is itself one kernel expansion, with weights the mean of the γ_b and offset
    the mean of the ρ_b, so its cost is that of the union of the support vectors whatever B is. `scores` are those that
    each split holds out.
    """
    coefficients = np.mean([dual.coefficients for dual in duals], axis=0)
    return LevelSets(kernel_expansion(X, coefficients, sigma, dtype), offsets_by_rank(scores))
