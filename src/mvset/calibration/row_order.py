"""What the order of the rows of a fit says about dependence.

Scores do not show all of it. The rows of twenty days, each with a centre of its own, have independent scores if every
day trains the model, and the rows of a new day lie outside.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom, rankdata

from mvset.calibration.calibration import Calibration
from mvset.calibration.dependence import Dependence, first_lag_p_value
from mvset.calibration.splits import BlockSplitting, RandomSplitting, Splitting, warn_if_unresolved
from mvset.exceptions import DependenceWarning, warn
from mvset.inference.projections import RowReference
from mvset.values import Array
from mvset.wording import Message, columns_named, counted

_SIGNIFICANCE = 0.001  # of both tests together, so that hardly any fit to independent rows warns
_MIN_ROWS = 20
_NEARBY = 5  # rows on either side
_COMPARED_ROWS = 1000  # whose nearest neighbours are found
_SERIES_ROWS = 10_000  # whose columns are tested


@dataclass(frozen=True)
class RowOrder:
    """What the order of the rows of a table says.

    Attributes
    ----------
    is_dependent : bool
        Whether neighbouring rows are similar, by tests or by what the user said.
    sorted_by : int or None
        A column in whose order the rows are: the order is then no sign of dependence.
    reference : RowReference
        What the rows are like, and how similar neighbouring rows are.
    has_strata : bool
        Whether rows have strata, whose scores differ.
    """

    is_dependent: bool
    sorted_by: int | None
    reference: RowReference
    has_strata: bool = False

    @classmethod
    def of(
        cls,
        rows: Array,
        *,
        time_order: bool = False,
        groups: NDArray[Any] | None = None,
        strata: NDArray[Any] | None = None,
        thinned: float = 1.0,
    ) -> "RowOrder":
        """From rows in the order in which they came, or one of so many; rows of a group are put together.

        Strata differ from each other, and are often contiguous: a row is compared with the others of its stratum.
        """
        sorted_by = None if time_order or groups is not None else _sorting_column(rows)
        told = time_order or groups is not None
        dependent = told or (sorted_by is None and _are_dependent(_within(rows, strata)))
        if groups is not None:
            rows = rows[np.argsort(groups, kind="stable")]
        reference = RowReference.of(rows, ordered=dependent, thinned=thinned)
        return cls(dependent, sorted_by, reference, strata is not None)

    def dependence(self, rule: Splitting) -> Dependence:
        """What calibration needs to know.

        If rows that depend on each other are split at random, the scores of rows held out are as good as the scores
        of their neighbours that train. The columns show how many independent rows there are.
        """
        columns = self.reference.columns
        effects = columns.n_rows / columns.independent_rows if isinstance(rule, RandomSplitting) else np.ones(1)
        ordered = True if self.is_dependent else None if self.sorted_by is None and not self.has_strata else False
        return Dependence(ordered, float(effects.max()))


def _are_dependent(rows: Array) -> bool:
    """Whether neighbouring rows are similar: by the rows that are nearest to each row, and by each column."""
    if len(rows) < _MIN_ROWS:
        return False
    varying = np.flatnonzero(np.ptp(np.nan_to_num(rows), axis=0))
    rows = np.nan_to_num(rows[:, varying])
    nearest = [_follow_neighbours(part) for part in _parts(rows, _COMPARED_ROWS)]
    columns = [first_lag_p_value(column) for part in _parts(rows, _SERIES_ROWS) for column in part.T]
    least = min([1.0, *(len(nearest) * each for each in nearest), *(len(columns) * each for each in columns)])
    return least < 0.5 * _SIGNIFICANCE


def _within(rows: Array, strata: NDArray[Any] | None) -> Array:
    """Values as ranks among the rows of their stratum, from zero to one."""
    if strata is None:
        return rows
    ranks = np.empty_like(rows)
    for label in np.unique(strata):
        own = np.flatnonzero(strata == label)
        ranks[own] = rankdata(np.nan_to_num(rows[own]), axis=0) / (len(own) + 1.0)
    return ranks


def _parts(rows: Array, size: int) -> Iterator[Array]:
    """The first rows, and rows at equal distances: neighbours may be similar over few rows or over many."""
    yield rows[:size]
    if len(rows) > size:
        yield rows[:: -(-len(rows) // size)]


def _follow_neighbours(rows: Array) -> float:
    """P-value of how many rows have their nearest neighbour a few rows before or after them."""
    n_rows = len(rows)
    if n_rows < _MIN_ROWS or not rows.shape[1]:
        return 1.0
    ranks = rankdata(rows, axis=0)  # in which outliers do not hide the others
    order = np.random.RandomState(0).permutation(n_rows)  # rows at equal distances come in any order
    shuffled = ranks[order]
    # Not by scikit-learn, whose threads hang in a process that was forked. Ranks and their products are exact.
    squares = np.sum(shuffled**2, axis=1)
    distances = squares[:, np.newaxis] + squares - 2.0 * shuffled @ shuffled.T
    np.fill_diagonal(distances, np.inf)
    near = int(np.sum(np.abs(order[distances.argmin(axis=1)] - order) <= _NEARBY))
    # Two rows are often nearest to each other: they count as one.
    return float(binom.sf(-(-near // 2) - 1, n_rows // 2, min(1.0, 2.0 * _NEARBY / (n_rows - 1))))


def _sorting_column(rows: Array) -> int | None:
    """A column of many values that ascends or descends from row to row."""
    if len(rows) < _MIN_ROWS:
        return None
    steps = np.diff(rows, axis=0)
    monotone = (steps >= 0).all(axis=0) | (steps <= 0).all(axis=0)
    found = np.flatnonzero(monotone & (np.count_nonzero(steps, axis=0) > 0.5 * len(rows)))
    return int(found[0]) if len(found) else None


def warn_about_order(order: RowOrder, calibration: Calibration, mass: float, rule: Splitting, names: Any) -> None:
    """Warn if the set may contain less of new rows than requested: for the order of the rows, or their number."""
    if order.sorted_by is not None:
        warn(
            f"The rows are sorted by column {names[order.sorted_by]}. If it is a time or a counter, leave it out, "
            "because otherwise all new rows will lie outside. If you sorted the table, ignore this warning.",
            DependenceWarning,
        )
    wandering = np.flatnonzero(order.reference.columns.wandering).tolist()
    sentences = _problem(rule, calibration, wanders=bool(wandering))
    warn_if_unresolved(mass, calibration.n_rows, np.inf if sentences else calibration.independent_rows(mass))
    if not sentences:
        return
    if wandering:
        which = f"{columns_named(names[j] for j in wandering[:5])}{' and others' if len(wandering) > 5 else ''}"
        verb = "wanders or trends" if len(wandering) == 1 else "wander or trend"
        it = "it" if len(wandering) == 1 else "them"
        advice = f"Use the differences from row to row, or leave {it} out."
        sentences.insert(1, f"{which} {verb}, so new values may leave the range of the fit. {advice}")
    message = Message(
        *sentences,
        n_rows=calibration.n_rows,
        effective=counted(calibration.effective_size(mass), "independent one"),
        gap=counted(getattr(rule, "gap", 0), "row"),
    )
    warn(message, DependenceWarning)


def _problem(rule: Splitting, calibration: Calibration, *, wanders: bool) -> list[str]:
    """What is wrong, and what to do; nothing if training rows tell nothing about rows held out."""
    so_few = "{n_rows} calibration rows count for about {effective}, so more new rows may lie outside than requested."
    if isinstance(rule, RandomSplitting) and calibration.decorrelation > 1:
        return [
            f"Neighbouring rows are similar. The {so_few}",
            "If rows are in time order, use {time_order:True}; if several belong together, {groups:...}.",
            "Shuffle them only if their order means nothing.",
        ]
    if isinstance(rule, BlockSplitting) and (wanders or not rule.is_wide):
        if rule.is_wide:
            return [f"The series is short for its memory. The {so_few}"]
        return [f"Rows are still similar after {{gap}}, and the table is too short for a longer gap. The {so_few}"]
    return []
