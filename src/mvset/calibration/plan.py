"""Which rows train, and which calibrate: from what was asked for and the number of rows."""

import sys
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mvset.calibration.guarantees import RESERVED_SHARE, CalibrationMode, Guarantee, reserved_rows
from mvset.calibration.row_order import RowOrder
from mvset.calibration.splits import (
    MIN_SPLITS,
    RandomSplitting,
    Split,
    Splitting,
    limited,
    max_train_rows,
    splitting,
    trained_rows,
    within,
)
from mvset.calibration.ways import CalibratingRows, HeldOutRows, ReservedRows, StreamedRows
from mvset.rows.encoding import RowEncoding
from mvset.rows.survey import Survey
from mvset.values import Array, Indices

_FEW_ROWS = 1000
_SEARCH_SPLITS = 10  # splits that choose the bandwidth, of those that splits="auto" makes
_ROWS_PER_PARAMETER = 500  # of the scaling: with more, a row that calibrates moves the mass by less than 0.001


@dataclass(frozen=True)
class TableRows:
    """Rows of any kind as encoded numbers: all of a table, or those that were sampled of a stream to train."""

    encoding: RowEncoding
    table: Array  # before they are encoded
    encoded: Array
    lowest: Array  # value of each column of the table
    highest: Array
    groups: NDArray[Any] | None = None
    strata: NDArray[Any] | None = None
    surveyed: Survey | None = None  # of which the other rows calibrate

    @property
    def n_rows(self) -> int:
        """Number of rows of the table."""
        return len(self.encoded) if self.surveyed is None else self.surveyed.n_rows


@dataclass(frozen=True)
class Division:
    """The rows that train, the splits of these, and the rows that calibrate."""

    training: Array  # encoded
    splits: list[Split]
    n_search_splits: int  # the first so many choose the bandwidth
    rows_per_parameter: float  # with so many training rows, one scaling serves all splits
    calibrating: CalibratingRows
    rule: Splitting
    order: RowOrder

    @property
    def is_random(self) -> bool:
        """Whether any row may be held out."""
        return isinstance(self.rule, RandomSplitting)


@dataclass(frozen=True)
class CalibrationPlan:
    """The parameters of an estimator that decide which rows train and which calibrate."""

    mass: float
    mode: CalibrationMode
    confidence: float
    splits: Any
    max_train_samples: Any
    time_order: bool

    @property
    def samples_streams(self) -> bool:
        """Whether most rows of a long stream may train nothing, so that a sample of it suffices."""
        automatic = isinstance(self.splits, str | Integral)
        return automatic and not self.time_order and self.max_train_samples is not None

    @property
    def sample_size(self) -> int:
        """How many rows of a stream to keep; with fewer rows than that all are needed."""
        n_splits = MIN_SPLITS if isinstance(self.splits, str) else int(self.splits)
        return max(2 * n_splits * (max_train_rows(self.max_train_samples, sys.maxsize) or 0), _FEW_ROWS)

    def n_trained(self, n_rows: int) -> int | None:
        """How many rows of a stream train; None if all are needed."""
        rule = self._splitting(np.empty((0, 0)), n_rows, None)
        assert isinstance(rule, RandomSplitting)
        guarantee = self._guarantee(rule, n_rows)
        n_kept = min(rule.n_trained, n_rows - int(np.ceil(RESERVED_SHARE * n_rows - 1e-9)))
        large = rule.leaves_most(n_rows) and guarantee.reserves_rows
        return n_kept if large and guarantee.reaches(self.mass, n_rows - n_kept) else None

    def divided(self, rows: TableRows, rng: np.random.RandomState) -> Division:
        """Divide rows into those that train and those that calibrate."""
        X, n_rows = rows.encoded, rows.n_rows
        rule = self._splitting(X, n_rows, rows.groups)
        guarantee = self._guarantee(rule, n_rows)
        kept, reserved = np.arange(len(X)), np.arange(0)
        if guarantee.reserves_rows and rows.surveyed is None:
            kept, reserved = reserved_rows(guarantee, self.mass, rule, len(X), rng)
        max_train = max_train_rows(self.max_train_samples, n_rows)
        splits = limited(rule.splits(kept, rng), len(kept), max_train, rng)
        table = X[kept]
        trained = trained_rows(splits, len(kept))
        parts, order = within(splits, trained), self._order(rows, kept[trained], rule, guarantee)
        dependence = order.dependence(rule)
        calibrating: CalibratingRows
        if rows.surveyed is not None:
            calibrating = StreamedRows(rows.surveyed, guarantee, dependence)
        elif guarantee.reserves_rows:
            calibrating = ReservedRows(X, reserved, guarantee, rows.groups, dependence)
        else:
            groups = None if rows.groups is None else rows.groups[kept]
            calibrating = HeldOutRows(table, kept, splits, groups, dependence)
        return Division(
            table[trained],
            parts,
            _SEARCH_SPLITS if isinstance(self.splits, str) else len(parts),
            _rows_per_parameter(rule, guarantee),
            calibrating,
            rule,
            order,
        )

    def _order(self, rows: TableRows, trained: Indices, rule: Splitting, guarantee: Guarantee) -> RowOrder:
        """What the order of the rows says: of all, or of those that train if these are a sample of a large table."""
        table, labels = rows.table, {"groups": rows.groups, "strata": rows.strata}
        large = isinstance(rule, RandomSplitting) and rule.leaves_most(rows.n_rows) and guarantee.reserves_rows
        if large or rows.surveyed is not None:
            table = table[trained]
            labels = {name: None if each is None else each[trained] for name, each in labels.items()}
        return RowOrder.of(table, time_order=self.time_order, **labels, thinned=rows.n_rows / len(table))

    def _splitting(self, X: Array, n_rows: int, groups: Any) -> Splitting:
        max_train = max_train_rows(self.max_train_samples, n_rows)
        return splitting(self.splits, X, n_rows, groups=groups, time_order=self.time_order, max_train=max_train)

    def _guarantee(self, rule: Splitting, n_rows: int) -> Guarantee:
        """What is guaranteed: more than asked for if most rows train nothing, and are enough for it."""
        asked, conformal = Guarantee(self.mode, self.confidence), Guarantee("conformal")
        if self.mode != "cross" or not isinstance(rule, RandomSplitting) or not rule.leaves_most(n_rows):
            return asked
        return conformal if conformal.reaches(self.mass, n_rows // 2) else asked


def _rows_per_parameter(rule: Splitting, guarantee: Guarantee) -> float:
    """Return how many rows for each of its parameters let one scaling serve all splits.

    None are needed if other rows calibrate. No number suffices if rows depend on each other.
    """
    if guarantee.reserves_rows:
        return 0.0
    return _ROWS_PER_PARAMETER if isinstance(rule, RandomSplitting) else np.inf
