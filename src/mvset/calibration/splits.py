"""Random splits into training rows and rows held out."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mvset.exceptions import CalibrationWarning


@dataclass(frozen=True)
class Split:
    """Row indices of one split: `train` fits the one-class SVM, `held_out` sets its offset."""

    train: NDArray[np.intp]
    held_out: NDArray[np.intp]


def can_split(n_rows: int, test_size: float) -> bool:
    """Whether so many rows leave two to train on in every split."""
    return n_rows - int(np.ceil(test_size * n_rows)) >= 2


def random_splits(n_rows: int, n_splits: int, test_size: float, rng: np.random.RandomState) -> list[Split]:
    """Draw B random splits of equal sizes that hold out each row equally often, up to one.

    Paper: first line of the loop over b in Fig. 3; 80 % train and 20 % held out in its experiments. Difference: its
    splits are independent. Each of ours is the same uniform draw, but together they are balanced: all rows calibrate
    equally often. Ten balanced splits vary about as little as fifty independent ones.
    """
    n_held_out = int(np.ceil(test_size * n_rows))
    if not can_split(n_rows, test_size):
        raise ValueError(
            f"n_samples={n_rows} rows with test_size={test_size} leave {n_rows - n_held_out} to train on and "
            f"{n_held_out} to calibrate with; at least 2 and 1 are needed. Give more rows or another test_size."
        )
    rows = np.arange(n_rows)
    waiting = rows[:0]  # rows not yet held out in this round
    splits = []
    for _ in range(n_splits):
        if len(waiting) < n_held_out:
            # A new round: rows left over from the last one come first, and are drawn last in the new one.
            drawn = rng.permutation(n_rows)
            again = np.isin(drawn, waiting)
            waiting = np.concatenate([waiting, drawn[~again], drawn[again]])
        # Sorted indices cost nothing statistically and keep memory access in order.
        held_out, waiting = np.sort(waiting[:n_held_out]), waiting[n_held_out:]
        splits.append(Split(np.setdiff1d(rows, held_out), held_out))
    return splits


def mean_by_row(splits: Sequence[Split], scores: Iterable[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Mean score of each row over the splits that hold it out; rows that none does are left out.

    One score per row, however many splits: the rows are independent of each other, the splits are not.
    """
    n_rows = len(splits[0].train) + len(splits[0].held_out)
    total, times = np.zeros(n_rows), np.zeros(n_rows)
    for split, some in zip(splits, scores, strict=True):
        total[split.held_out] += some
        times[split.held_out] += 1.0
    return np.asarray(total[times > 0] / times[times > 0])


def warn_if_unresolved(mass: float, n_held_out: int, test_size: float) -> None:
    """Warn if too few rows are held out to tell the mass asked for from the next one.

    The offset is then their least score.
    """
    if mass <= 1.0 - 1.0 / n_held_out:
        return
    needed = int(np.ceil(1.0 / (1.0 - mass) - 1e-9))
    warnings.warn(
        f"{n_held_out} held-out rows cannot resolve mass={mass:g}: the set will hold less of new rows. At least "
        f"{needed} are needed, i.e. {int(np.ceil(needed / test_size - 1e-9))} rows with test_size={test_size:g}. Give "
        "more rows, or raise test_size.",
        CalibrationWarning,
        stacklevel=4,
    )
