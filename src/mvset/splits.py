"""Step 1: random train/test splits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import ShuffleSplit


@dataclass(frozen=True)
class Split:
    """Row indices of one split: `train` fits the one-class SVM, `held_out` sets its offset."""

    train: NDArray[np.intp]
    held_out: NDArray[np.intp]


def random_splits(n_rows: int, n_splits: int, test_size: float, rng: np.random.RandomState) -> list[Split]:
    """Draw B independent splits of equal sizes.

    Paper: first line of the loop over b in Fig. 3; 80 % train and 20 % held out in its experiments.
    """
    n_held_out = int(np.ceil(test_size * n_rows))
    if n_held_out < 1 or n_rows - n_held_out < 2:
        raise ValueError(
            f"n_samples={n_rows} rows with test_size={test_size} leave {n_rows - n_held_out} to train on and "
            f"{n_held_out} to calibrate with; at least 2 and 1 are needed. Give more rows or another test_size."
        )
    shuffle = ShuffleSplit(n_splits=n_splits, test_size=n_held_out, random_state=rng)
    # Sorted indices cost nothing statistically and keep memory access in order.
    return [Split(np.sort(train), np.sort(held_out)) for train, held_out in shuffle.split(np.empty(n_rows))]
