"""Did columns change together? The test of each column, applied to sums and differences of columns.

A change of correlation leaves every column as it was, and changes the spread of sums of columns with signs. The signs
are random: principal directions of the rows of the fit would have other variances in new rows, by their choice.
"""

from dataclasses import dataclass, field

import numpy as np

from mvset.inference.columns import ColumnCounter, ColumnReference, simes_p_value
from mvset.values import Array, ArrayValue, array_rule

_FAR = 3.0  # interquartile ranges from the median, at which values are clipped
_N_SUMS = 24  # at most


@dataclass(frozen=True, eq=False)
class Projections(ArrayValue):
    """Sums of standardised columns.

    Attributes
    ----------
    centre, scale : ndarray of shape (n_columns,)
        Median and interquartile range of each column.
    directions : ndarray of shape (n_directions, n_columns)
        Weights of the columns.
    """

    centre: Array = field(metadata=array_rule(1))
    scale: Array = field(metadata=array_rule(1, length=lambda self: len(self.centre)))
    directions: Array = field(metadata=array_rule(2))

    def _check(self) -> None:
        self._require((self.scale > 0).all(), ".scale must be positive.")
        self._require(self.directions.shape[1] == len(self.centre), ".directions must have a weight for each column.")

    @classmethod
    def of(cls, rows: Array) -> "Projections":
        """All signs of few columns, up to one for all, or some of many."""
        known = np.isfinite(rows).any(axis=0)
        low, centre, high = np.nan_to_num(np.nanquantile(np.where(known, rows, 0.0), [0.25, 0.5, 0.75], axis=0))
        scale = np.where(high > low, high - low, 1.0)
        varying = np.flatnonzero(known & (np.fmin.reduce(rows, axis=0) < np.fmax.reduce(rows, axis=0)))
        d = len(varying)
        signs = np.where(np.random.RandomState(0).uniform(size=(_N_SUMS, d)) < 0.5, -1.0, 1.0)
        if 2 ** (d - 1) <= _N_SUMS:  # all of them
            signs = 1.0 - 2.0 * (np.arange(2 ** (d - 1))[:, np.newaxis] >> np.arange(d) & 1)
        directions = np.zeros((len(signs) if d > 1 else 0, rows.shape[1]))
        directions[:, varying] = signs[: len(directions)] / np.sqrt(max(d, 1))
        return cls(centre, scale, directions)

    def __call__(self, rows: Array) -> Array:
        """Projected rows; a missing value counts as the median."""
        with np.errstate(over="ignore"):  # near the limits of float64
            standardised = np.clip((rows - self.centre) / self.scale, -_FAR, _FAR)
        return np.asarray(np.nan_to_num(standardised) @ self.directions.T)


@dataclass(frozen=True, eq=False)
class RowReference(ArrayValue):
    """What the rows of a fit are like: each column, and sums of columns."""

    columns: ColumnReference
    projections: Projections
    sums: ColumnReference

    def _check(self) -> None:
        kinds = {"columns": ColumnReference, "projections": Projections, "sums": ColumnReference}
        typed = all(isinstance(getattr(self, name), kind) for name, kind in kinds.items())
        self._require(typed, " has parts of the wrong type.")
        directions = self.projections.directions
        fit = directions.shape[1] == len(self.columns.steps) and len(directions) == len(self.sums.steps)
        self._require(fit, " has parts of different sizes.")

    @classmethod
    def of(cls, rows: Array, *, ordered: bool, thinned: float = 1.0) -> "RowReference":
        """From rows as :class:`ColumnReference` takes them."""
        projections = Projections.of(rows)
        columns, sums = (
            ColumnReference.of(each, ordered=ordered, thinned=thinned) for each in (rows, projections(rows))
        )
        return cls(columns, projections, sums)


class RowCounter:
    """Counts the rows of a batch, part by part, in bounded memory."""

    def __init__(self, reference: RowReference) -> None:
        self.columns, self._sums = ColumnCounter(reference.columns), ColumnCounter(reference.sums)
        self._projections = reference.projections

    def update(self, rows: Array) -> None:
        """Count more rows."""
        self.columns.update(rows)
        self._sums.update(self._projections(rows))

    @property
    def counts(self) -> tuple[Array, Array]:
        """What was counted."""
        return self.columns.counts, self._sums.counts

    def add_counts(self, counts: tuple[Array, Array]) -> None:
        """Count what another counter has counted."""
        self.columns.counts += counts[0]
        self._sums.counts += counts[1]

    @property
    def columns_p_value(self) -> float:
        """P-value of all columns together."""
        return simes_p_value(self.columns.p_values())

    @property
    def sums_p_value(self) -> float:
        """P-value of all sums of columns together."""
        return simes_p_value(self._sums.p_values())
