r"""The scaling of the kernel: a linear map of the columns, fitted to training rows.

Paper: one bandwidth for all columns. Difference: distances are taken after a linear map A of the rows, so that columns
of different units, or correlated ones, can share a bandwidth. A linear map keeps Minimum Volume sets what they are: the
set of AX is A times the set of X. Like the one-class SVM itself it must be fitted to training rows only. Fitted to rows
that calibrate, it makes them look more normal than new rows are.
"""

from dataclasses import dataclass, field
from typing import Literal, Self

import numpy as np

from mvset.rows.layout import ColumnLayout
from mvset.values import Array, ArrayValue, Flags, Indices, array_rule

ScalingName = Literal["standard", "whiten"]

LARGEST = 1e100  # of mapped values: sums of their squares are finite
LEAST_SHRINKAGE = 1e-6  # columns that are exact combinations of others would have no inverse
_BLOCK_ROWS = 256  # that are mapped together
# Ranges between the 5 % and 95 % quantiles, beyond these; 8 standard deviations of a normal distribution. Quartiles
# would do harm: a valve that is closed most of the time has nearly none, and its correlations would be lost.
_FAR = 2.0


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
    def fitted(
        cls,
        name: ScalingName,
        X: Array,
        deviations: Array,
        layout: ColumnLayout | None = None,
        shrinkage: float = LEAST_SHRINKAGE,
    ) -> Self:
        """The scaling of a name, fitted to rows, which are encoded as `layout` says.

        A category column counts as much as a numeric one: whatever the scaling, two rows have the same mean squared
        distance in it as in a column of unit variance.

        Values far outside the range of most rows count as if they were nearer: one outlier must not set the scale of a
        split, because other splits hold it out.

        `deviations` are standard deviations to use for columns in which these rows do not vary. If they are also zero,
        the column is left as it is. For "whiten", `shrinkage` is the weight of uncorrelated columns.
        """
        if layout is not None and layout.sizes:
            n = layout.n_numeric
            numeric = cls.fitted(name, X[:, :n], deviations[:n], shrinkage=shrinkage)
            code_scales = [
                np.full(block.stop - block.start, _code_scale(X[:, block].var(axis=0), deviations[block] ** 2))
                for block in layout.blocks
            ]
            mixing = numeric.mixing
            if len(mixing):
                mixing = np.eye(X.shape[1])
                mixing[:n, :n] = numeric.mixing
            return cls(np.concatenate([numeric.scales, *code_scales]), mixing)
        X, scales, varying = standardised(X, deviations)
        mixing = np.empty((0, 0))
        if name == "whiten" and X.shape[1] > 1:
            factor = np.linalg.cholesky(shrunk(correlations(X, varying), shrinkage))
            mixing = np.ascontiguousarray(np.linalg.inv(factor).T)
        return cls(scales, mixing)

    def __call__(self, X: Array) -> Array:
        """Mapped rows."""
        with np.errstate(over="ignore"):
            scaled: Array = np.clip(X / self.scales, -LARGEST, LARGEST)
        return _product(scaled, self.mixing) if len(self.mixing) else scaled

    def log_determinant(self, columns: Indices) -> float:
        """Log volume in the units of these columns of a unit of volume in mapped ones; all others must be unmixed."""
        mixed = np.log(np.diag(self.mixing)[columns]).sum() if len(self.mixing) else 0.0
        return float(np.log(self.scales[columns]).sum() - mixed)

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
        return np.asarray((_product(mapped, self.mixing.T) if len(self.mixing) else mapped) / self.scales)


def _product(X: Array, matrix: Array) -> Array:
    """X @ matrix in products of one shape, so that no row depends on how many others there are."""
    blocks = np.zeros((-(-len(X) // _BLOCK_ROWS), _BLOCK_ROWS, len(matrix)))
    blocks.reshape(-1, len(matrix))[: len(X)] = X
    return np.asarray((blocks @ matrix).reshape(-1, len(matrix))[: len(X)])


def _code_scale(*variances: Array) -> float:
    """Scale of the codes of a category column, from their variances in some rows, or else in others.

    Scaled, the variances sum to one. Before, their sum is the probability that two rows differ.
    """
    return next((float(np.sqrt(each.sum())) for each in variances if each.any()), 1.0)


def standardised(X: Array, deviations: Array) -> tuple[Array, Array, Flags]:
    """Return rows with columns of mean zero and deviation one, far values moved nearer; the scales; and which vary."""
    lowest, low, high, highest = np.quantile(X, [0.01, 0.05, 0.95, 0.99], axis=0)
    ranges = np.where(high > low, high - low, highest - lowest)  # of columns that are mostly constant
    limit = np.where(ranges > 0, _FAR * ranges, np.inf)
    X = np.clip(X, low - limit, high + limit)
    scales = X.std(axis=0)
    varying = np.ptp(X, axis=0) > 0  # rounding in the mean leaves a tiny deviation on constant columns
    scales = np.where(varying & (scales > 0), scales, deviations)
    scales = np.where(scales > 0, scales, 1.0)
    return (X - X.mean(axis=0)) / scales, scales, varying


def correlations(standardised: Array, varying: Flags) -> Array:
    """Correlations of standardised columns: none of columns that do not vary."""
    found = standardised.T @ standardised / len(standardised)
    found[~varying], found[:, ~varying] = 0.0, 0.0
    np.fill_diagonal(found, 1.0)
    return np.asarray(found)


def shrunk(correlation: Array, shrinkage: float) -> Array:
    """Correlations moved towards none."""
    return np.asarray((1.0 - shrinkage) * correlation + shrinkage * np.eye(len(correlation)))
