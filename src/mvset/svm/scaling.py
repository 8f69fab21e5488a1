r"""The scaling of the kernel: a linear map of the columns, fitted to training rows.

Paper: one bandwidth for all columns. Difference: distances are taken after a linear map A of the rows, so that columns
of different units, or correlated ones, can share a bandwidth. A linear map keeps Minimum Volume sets what they are: the
set of AX is A times the set of X. Like the one-class SVM itself it must be fitted to training rows only. Fitted to rows
that calibrate, it makes them look more normal than new rows are.
"""

from dataclasses import dataclass, field
from typing import Literal, Self

import numpy as np
from sklearn.covariance import ledoit_wolf_shrinkage

from mvset.rows.layout import ColumnLayout
from mvset.values import Array, ArrayValue, Flags, array_rule

ScalingName = Literal["standard", "whiten"]
SCALINGS: tuple[ScalingName, ...] = ("standard", "whiten")  # the first if volumes do not differ

LARGEST = 1e100  # of mapped values: sums of their squares are finite
_LEAST_SHRINKAGE = 1e-6  # columns that are exact combinations of others would have no inverse
_FAR = 10.0  # interquartile ranges beyond the quartiles; 14 standard deviations of a normal distribution


@dataclass(frozen=True, eq=False)
class Scaling(ArrayValue):
    """The map x → (x / scales) @ mixing; without `mixing`, an array of no rows, each column is only scaled."""

    scales: Array = field(metadata=array_rule(1))
    mixing: Array = field(metadata=array_rule(2))

    def _check(self) -> None:
        shape = (len(self.scales), len(self.scales))
        self._require((self.scales > 0).all(), ".scales must be positive.")
        self._require(self.mixing.shape in ((0, 0), shape), f".mixing must be empty or of shape {shape}.")

    @classmethod
    def fitted(cls, name: ScalingName, X: Array, deviations: Array, layout: ColumnLayout | None = None) -> Self:
        """The scaling of a name, fitted to rows, which are encoded as `layout` says.

        A category column counts as much as a numeric one: whatever the scaling, the mean squared distance of two rows
        in it is that of two rows in a column of unit variance.

        Values far outside the quartiles count as if they were nearer: one outlier must not set the scale of a split,
        and make it another than that of the splits which hold the outlier out.

        `deviations` are standard deviations to use for columns in which these rows do not vary; where they are zero as
        well the column is left as it is.
        """
        if layout is not None and layout.sizes:
            n = layout.n_numeric
            numeric = cls.fitted(name, X[:, :n], deviations[:n])
            code_scales = [
                np.full(block.stop - block.start, _code_scale(X[:, block].var(axis=0), deviations[block] ** 2))
                for block in layout.blocks
            ]
            mixing = numeric.mixing
            if len(mixing):
                mixing = np.eye(X.shape[1])
                mixing[:n, :n] = numeric.mixing
            return cls(np.concatenate([numeric.scales, *code_scales]), mixing)
        lowest, low, high, highest = (np.quantile(X, share, axis=0) for share in (0.01, 0.25, 0.75, 0.99))
        quartile_ranges = high - low
        ranges = np.where(quartile_ranges > 0, quartile_ranges, highest - lowest)  # of columns that are mostly constant
        limit = np.where(ranges > 0, _FAR * ranges, np.inf)
        X = np.clip(X, low - limit, high + limit)
        scales = X.std(axis=0)
        varying = np.ptp(X, axis=0) > 0  # rounding in the mean leaves a tiny deviation on constant columns
        scales = np.where(varying & (scales > 0), scales, deviations)
        scales = np.where(scales > 0, scales, 1.0)
        mixing = np.empty((0, 0))
        if name == "whiten" and X.shape[1] > 1:
            factor = np.linalg.cholesky(_shrunk_correlation((X - X.mean(axis=0)) / scales, varying))
            mixing = np.ascontiguousarray(np.linalg.inv(factor).T)
        return cls(scales, mixing)

    def __call__(self, X: Array) -> Array:
        """Mapped rows."""
        with np.errstate(over="ignore"):
            scaled: Array = np.clip(X / self.scales, -LARGEST, LARGEST)
        return np.asarray(scaled @ self.mixing) if len(self.mixing) else scaled

    @property
    def n_parameters(self) -> int:
        """Number of scales and correlations."""
        return len(self.scales) + int(np.count_nonzero(np.triu(self.mixing, 1)))

    @property
    def conditional_scales(self) -> Array:
        """Unit of distance along each column: its scale given the other columns, where these are correlated."""
        if not len(self.mixing):
            return self.scales
        return np.asarray(self.scales / np.linalg.norm(self.mixing, axis=1))

    def gradient(self, mapped: Array) -> Array:
        """Gradients with respect to the columns of X, from those with respect to mapped ones."""
        return np.asarray((mapped @ self.mixing.T if len(self.mixing) else mapped) / self.scales)


def _code_scale(*variances: Array) -> float:
    """Scale of the codes of a category column, from their variances in some rows, or else in others.

    Scaled, the variances sum to one. Before, their sum is the probability that two rows differ.
    """
    return next((float(np.sqrt(each.sum())) for each in variances if each.any()), 1.0)


def _shrunk_correlation(standardised: Array, varying: Flags) -> Array:
    """Correlations, shrunk towards none by the rule of Ledoit and Wolf (2004): between scaling and whitening."""
    correlation = standardised.T @ standardised / len(standardised)
    np.fill_diagonal(correlation, 1.0)  # also of columns that do not vary
    if varying.sum() < 2:
        return np.eye(len(correlation))
    shrinkage = float(ledoit_wolf_shrinkage(standardised[:, varying], assume_centered=True))
    shrinkage = max(_LEAST_SHRINKAGE, shrinkage)
    return np.asarray((1.0 - shrinkage) * correlation + shrinkage * np.eye(len(correlation)))
