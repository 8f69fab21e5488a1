"""Missing values: filled from similar rows of the fit, and remembered where they are informative."""

from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from scipy.stats import ks_2samp

from mvset.rows.categories import Categories
from mvset.rows.validation import named_columns
from mvset.values import Array, ArrayValue, array_rule

_DONORS = 1000  # rows of the fit that missing values are filled from
_NEAREST = 5
_CHUNK = 4096  # rows filled at a time
# Missing values of a column are informative if they say something about another column: its values, or whether it is
# missing, too, are distributed differently where they are missing.
_MIN_DIFFERENCE = 0.3  # of the two distribution functions, at some value
_MAX_P_VALUE = 1e-3  # for all pairs of columns together
_MIN_ROWS = 20  # with the value, and without it
_TESTED_ROWS = 5000


@dataclass(frozen=True, eq=False)
class Imputation(ArrayValue):
    """Rows to fill missing values from, all of whose values are known; and the columns that have an indicator.

    A missing number becomes the mean over the nearest of these rows, by the columns that a row has; a missing category
    the most frequent value among them. An indicator is one more category column, after all others: 0 where the value
    was there, 1 where it was missing.
    """

    donors: Array = field(metadata=array_rule(2))
    scales: Array = field(metadata=array_rule(1, length=lambda self: self.donors.shape[1]))  # zero for categories
    indicators: Array = field(metadata=array_rule(1))  # indices of columns; float64 as every array in a model file

    def _check(self) -> None:
        valid = len(self.donors) and (self.scales >= 0).all()
        self._require(valid, " needs rows, and scales that are not negative.")
        indices = np.isin(self.indicators, np.arange(self.donors.shape[1])).all()
        self._require(indices, ".indicators must be indices of columns.")

    @classmethod
    def fitted(cls, X: Array, categories: Categories, rng: np.random.RandomState, names: Any = None) -> Self:
        """From rows with codes in place of categories."""
        missing = np.isnan(X)
        if missing.all(axis=0).any():
            empty = named_columns(names, np.flatnonzero(missing.all(axis=0)))
            raise ValueError(f"X has no values in {empty}: there is nothing to impute from. Drop it.")
        order = rng.permutation(len(X))
        order = order[np.argsort(missing[order].sum(axis=1), kind="stable")]  # complete rows first
        donors = X[order[:_DONORS]]
        is_category = np.isin(np.arange(X.shape[1]), categories.indices)
        typical = np.array([_typical(x[~np.isnan(x)], each) for x, each in zip(X.T, is_category, strict=True)])
        donors = np.where(np.isnan(donors), typical, donors)
        scales = np.where(is_category, 0.0, np.nanstd(X, axis=0))
        scales = np.where(is_category | (scales > 0), scales, 1.0)
        tested = order if len(X) <= _TESTED_ROWS else np.sort(rng.permutation(len(X))[:_TESTED_ROWS])
        informative = np.flatnonzero([not each and _is_informative(X[tested], j) for j, each in enumerate(is_category)])
        return cls(donors, scales, informative.astype(np.float64))

    def completed(self, X: Array) -> Array:
        """Rows without missing values, followed by the indicators."""
        missing = np.isnan(X)
        gaps = np.flatnonzero(missing.any(axis=1))
        completed = X
        if len(gaps):
            completed = X.copy()
            for start in range(0, len(gaps), _CHUNK):
                rows = gaps[start : start + _CHUNK]
                completed[rows] = self._filled(X[rows])
        if not len(self.indicators):
            return completed
        return np.hstack([completed, missing[:, self.indicators.astype(np.intp)].astype(np.float64)])

    def extended(self, categories: Categories, n_columns: int) -> Categories:
        """The category columns of completed rows: those of the table, and the indicators."""
        n_indicators = len(self.indicators)
        return replace(
            categories,
            columns=np.append(categories.columns, n_columns + np.arange(n_indicators, dtype=np.float64)),
            values=[*categories.values, *[["present", "missing"]] * n_indicators],
            n_columns=n_columns + n_indicators,
        )

    def _filled(self, rows: Array) -> Array:
        """Rows with missing values, filled."""
        known = ~np.isnan(rows)
        numeric = self.scales > 0
        units = np.where(numeric, self.scales, 1.0)
        scaled = np.where(known, rows, 0.0)[:, numeric] / units[numeric]
        donors = self.donors[:, numeric] / units[numeric]
        # Σ_j (x_j - d_j)² over known columns j; the squares of x are the same for all donors.
        distances = known[:, numeric].astype(float) @ (donors**2).T - 2.0 * scaled @ donors.T
        for j in np.flatnonzero(~numeric):
            distances += 2.0 * (known[:, [j]] & (rows[:, [j]] != self.donors[:, j]))
        n_nearest = min(_NEAREST, len(self.donors))
        nearest = np.argpartition(distances, n_nearest - 1, axis=1)[:, :n_nearest]
        filled = rows.copy()
        for j in np.flatnonzero(~known.all(axis=0)):
            gaps = np.flatnonzero(~known[:, j])
            values = self.donors[nearest[gaps], j]
            filled[gaps, j] = values.mean(axis=1) if numeric[j] else [_typical(each, True) for each in values]
        return filled


def _typical(values: Array, is_category: bool) -> float:
    """The most frequent category, or the median."""
    if not is_category:
        return float(np.median(values))
    distinct, counts = np.unique(values, return_counts=True)
    return float(distinct[counts.argmax()])


def _is_informative(X: Array, column: int) -> bool:
    """Whether the missing values of a column say something about another column."""
    missing = np.isnan(X[:, column])
    if min(missing.sum(), (~missing).sum()) < _MIN_ROWS:
        return False
    for other in np.delete(X, column, axis=1).T:
        if abs(np.isnan(other)[missing].mean() - np.isnan(other)[~missing].mean()) >= _MIN_DIFFERENCE:
            return True
        known = ~np.isnan(other)
        with_it, without = other[known & ~missing], other[known & missing]
        if min(len(with_it), len(without)) >= _MIN_ROWS:
            test = ks_2samp(with_it, without, method="asymp")
            if test.statistic >= _MIN_DIFFERENCE and test.pvalue * X.shape[1] ** 2 < _MAX_P_VALUE:
                return True
    return False
