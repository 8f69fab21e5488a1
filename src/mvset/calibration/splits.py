"""Splits into training rows and rows held out: at random, by whole groups, by blocks of time, by any splitter."""

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from mvset.calibration.dependence import decorrelation_lag
from mvset.exceptions import CalibrationWarning, warn
from mvset.values import Array, Indices
from mvset.wording import Message, are, counted

TEST_SIZE = 0.2  # share of the rows that a split holds out, as in the paper's experiments
N_BLOCKS = 10  # contiguous blocks of rows in time order
_SIMILAR = 0.3  # autocorrelation of rows that are too similar to be on both sides of a split
_MAX_GAP = 20  # the gap is at most this share of the rows: four of them around two blocks leave 60 % to train on
# More splits bring the rows held out, scored by a fifth of the models, closer to new rows, scored by all. That matters
# for few rows, where it costs little.
MIN_SPLITS, _MAX_SPLITS, _SPLIT_ROWS = 10, 50, 20_000
# In large tables each split trains on a sample of its own. The mean of many small models is as good as one large one,
# and costs far less (benchmarks/training_samples.py).
_LARGE_TABLE, _TRAIN_ROWS, _MANY_SPLITS = 4000, 1000, 20
_LEAST_ROWS = 10  # that are not reserved


@dataclass(frozen=True)
class Split:
    """Row indices of one split: `train` fits the one-class SVM, `held_out` sets its offset."""

    train: Indices
    held_out: Indices


def drawn_seed(rng: np.random.RandomState) -> int:
    """A seed for another random number generator."""
    return int(rng.randint(2**31 - 1))


class Splitting(Protocol):
    """A way to split rows."""

    def splits(self, rows: Indices, rng: np.random.RandomState) -> list[Split]:
        """Splits of these rows of the table, as indices into `rows`."""

    def reserve(self, n_rows: int, share: float, rng: np.random.RandomState) -> tuple[Indices, Indices]:
        """Rows to fit with, and about this share of rows reserved for calibration."""


@dataclass(frozen=True)
class RandomSplitting:
    """Rows are exchangeable: any of them may be held out."""

    n_splits: int
    test_size: float
    max_train: int | None = None

    def splits(self, rows: Indices, rng: np.random.RandomState) -> list[Split]:
        """Random splits; if training rows are limited, all other rows are held out."""
        n_rows = len(rows)
        if self.max_train is None or n_rows - int(np.ceil(self.test_size * n_rows)) <= self.max_train:
            return random_splits(n_rows, self.n_splits, self.test_size, rng)
        return [
            Split(train, np.setdiff1d(np.arange(n_rows), train, assume_unique=True))
            for train in _balanced(n_rows, self.n_splits, self.max_train, rng)
        ]

    def reserve(self, n_rows: int, share: float, rng: np.random.RandomState) -> tuple[Indices, Indices]:
        """A random share of the rows, and all that would train no split."""
        n_reserved = int(np.ceil(share * n_rows - 1e-9))
        n_kept = n_rows - n_reserved if self.max_train is None else min(n_rows - n_reserved, self.n_trained)
        # By keys, as `RowSample` draws rows that come in batches.
        kept = np.zeros(n_rows, bool)
        kept[np.argpartition(np.random.default_rng(drawn_seed(rng)).random(n_rows), n_kept)[:n_kept]] = True
        return np.flatnonzero(kept), np.flatnonzero(~kept)

    @property
    def n_trained(self) -> int:
        """How many rows train some split, if training rows are limited and there are enough."""
        return max(_LEAST_ROWS, self.n_splits * (self.max_train or 0))

    def leaves_most(self, n_rows: int) -> bool:
        """Whether most rows train no split, so that they can calibrate: new rows are exchangeable with them."""
        return self.max_train is not None and n_rows >= 2 * self.n_trained


@dataclass(frozen=True)
class GroupSplitting:
    """Rows of one group (a machine, a batch, a day) are alike: they stay on one side."""

    n_splits: int
    test_size: float
    groups: Indices  # of every row of the table, counted from 0

    def splits(self, rows: Indices, rng: np.random.RandomState) -> list[Split]:
        """Random splits of whole groups."""
        return [Split(*sides) for sides in self._sides(self.groups[rows], self.n_splits, self.test_size, rng)]

    def reserve(self, n_rows: int, share: float, rng: np.random.RandomState) -> tuple[Indices, Indices]:
        """A random share of the groups."""
        return next(iter(self._sides(self.groups, 1, share, rng)))

    def _sides(
        self, groups: Indices, n_splits: int, share: float, rng: np.random.RandomState
    ) -> list[tuple[Indices, Indices]]:
        present = np.unique(groups)
        if len(present) < 2:
            message = Message(
                "{groups} has {values} in {rows}; at least 2 are needed, one to train on and one to hold out.",
                "Leave out {groups} if the rows do not belong together.",
                values=counted(len(present), "distinct value"),
                rows=counted(len(groups), "row"),
            )
            raise ValueError(message)
        n_held_out = _held_out(len(present), share)
        held_out = [np.isin(groups, present[drawn]) for drawn in _balanced(len(present), n_splits, n_held_out, rng)]
        if min(np.sum(~held) for held in held_out) < 2:
            message = Message(
                "{groups} leaves a split with a single row to train on: {n_groups} groups in {n_rows} rows.",
                "Use more groups, or leave out {groups}.",
                n_groups=len(present),
                n_rows=len(groups),
            )
            raise ValueError(message)
        return [(np.flatnonzero(~held), np.flatnonzero(held)) for held in held_out]


@dataclass(frozen=True)
class BlockSplitting:
    """Rows in time order: contiguous blocks are held out, and training rows keep a distance of `gap` rows from them."""

    n_splits: int
    test_size: float
    gap: int
    is_wide: bool = True  # whether rows that far apart are hardly similar

    def splits(self, rows: Indices, rng: np.random.RandomState) -> list[Split]:
        """Random splits of ten blocks."""
        blocks = [Split(*sides) for sides in self._sides(rows, self.n_splits, self.test_size, rng)]
        if min(len(split.train) for split in blocks) < 2:
            raise ValueError(
                f"{len(rows)} rows in time order are too few to train on with a gap of {counted(self.gap, 'row')}."
            )
        return blocks

    def reserve(self, n_rows: int, share: float, rng: np.random.RandomState) -> tuple[Indices, Indices]:
        """A random share of the blocks, without the rows near them."""
        return next(iter(self._sides(np.arange(n_rows), 1, share, rng)))

    def _sides(
        self, rows: Indices, n_splits: int, share: float, rng: np.random.RandomState
    ) -> list[tuple[Indices, Indices]]:
        n_blocks = min(N_BLOCKS, len(rows))
        block = np.repeat(np.arange(n_blocks), [len(part) for part in np.array_split(rows, n_blocks)])
        found = []
        for drawn in _balanced(n_blocks, n_splits, _held_out(n_blocks, share), rng):
            held_out = np.flatnonzero(np.isin(block, drawn))
            after = np.searchsorted(rows[held_out], rows)
            neighbours = np.pad(rows[held_out], 1, constant_values=(-self.gap - 1, rows[-1] + self.gap + 1))
            distance = np.minimum(np.abs(rows - neighbours[after]), np.abs(neighbours[after + 1] - rows))
            distance[held_out] = 0
            found.append((np.flatnonzero(distance > self.gap), held_out))
        return found


@dataclass(frozen=True)
class CustomSplitting:
    """Any splitter of scikit-learn."""

    splitter: Any
    X: Any
    groups: Any = None

    def splits(self, rows: Indices, rng: np.random.RandomState) -> list[Split]:
        """The splits that it makes of these rows."""
        groups = None if self.groups is None else self.groups[rows]
        found = [
            Split(np.sort(train), np.sort(held)) for train, held in self._seeded(rng).split(self.X[rows], None, groups)
        ]
        for split in found:
            if len(split.train) < 2 or not len(split.held_out) or np.isin(split.held_out, split.train).any():
                raise ValueError(
                    f"splits={self.splitter!r} makes a split of {len(split.train)} rows to train on and "
                    f"{len(split.held_out)} to hold out; at least 2 and 1 are needed, and no row in both."
                )
        if not found:
            raise ValueError(f"splits={self.splitter!r} makes no splits of {len(rows)} rows.")
        return found

    def reserve(self, n_rows: int, share: float, rng: np.random.RandomState) -> tuple[Indices, Indices]:
        """Rows that its splits hold out, one split after the other, until they are the share."""
        splits = self.splits(np.arange(n_rows), rng)
        reserved, train = splits[0].held_out, splits[0].train
        for split in splits[1:]:
            if len(reserved) >= share * n_rows - 1e-9:
                break
            reserved, train = np.union1d(reserved, split.held_out), np.intersect1d(train, split.train)
        return np.setdiff1d(train, reserved), reserved

    def _seeded(self, rng: np.random.RandomState) -> Any:
        """The splitter, with a seed if it takes one and has none."""
        splitter = copy.copy(self.splitter)
        if getattr(splitter, "random_state", 0) is None:
            splitter.random_state = rng.randint(2**31 - 1)
        return splitter


def splitting(
    splits: Any,
    X: Array,
    n_rows: int | None = None,
    *,
    groups: Any = None,
    time_order: bool = False,
    max_train: int | None = None,
) -> Splitting:
    """The way to split the rows of X that the parameters of an estimator ask for; `n_rows` if X is a sample of them."""
    if isinstance(splits, str) and splits != "auto":
        raise ValueError(f"splits must be 'auto', a number or a splitter of scikit-learn; got {splits!r}.")
    custom = hasattr(splits, "split") and not isinstance(splits, str)
    if time_order and (groups is not None or custom):
        own_splits = "{time_order:True} makes its own splits, so leave out {groups}."
        message = Message(own_splits, "Set {splits} to a number.")
        raise ValueError(message)
    if custom:
        return CustomSplitting(splits, X, groups)
    n_splits = _n_splits(n_rows or len(X), max_train) if isinstance(splits, str) else int(splits)
    if time_order:
        gap = min(decorrelation_lag(X), len(X) // _MAX_GAP)
        return BlockSplitting(n_splits, TEST_SIZE, gap, decorrelation_lag(X, _SIMILAR) <= gap)
    if groups is not None:
        return GroupSplitting(n_splits, TEST_SIZE, np.unique(groups, return_inverse=True)[1])
    return RandomSplitting(n_splits, TEST_SIZE, max_train)


def max_train_rows(asked: Any, n_rows: int) -> int | None:
    """How many rows a split may train on, if that is limited."""
    if isinstance(asked, str):
        return _TRAIN_ROWS if n_rows > _LARGE_TABLE else None
    return None if asked is None else int(asked)


def _n_splits(n_rows: int, max_train: int | None = None) -> int:
    if max_train is not None and 2 * max_train < n_rows < _MANY_SPLITS * max_train:
        return _MANY_SPLITS
    return int(np.clip(_SPLIT_ROWS // n_rows, MIN_SPLITS, _MAX_SPLITS))


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
            f"{n_rows} rows leave {n_rows - n_held_out} to train on and {n_held_out} to calibrate with; at least 2 and "
            "1 are needed. Use more rows."
        )
    rows = np.arange(n_rows)
    return [
        Split(np.setdiff1d(rows, held_out), held_out)
        for held_out in _balanced(n_rows, n_splits, _held_out(n_rows, test_size), rng)
    ]


def subsample(
    splits: Sequence[Split], n_rows: int, size: int, rng: np.random.RandomState
) -> tuple[Indices, list[Split]]:
    """Random rows, at most `size`, and the parts of the splits in these rows.

    If a split would lose all rows on one side, all rows are kept.
    """
    rows = np.sort(rng.permutation(n_rows)[:size])
    parts = within(splits, rows)
    usable = all(len(part.train) > 1 and len(part.held_out) for part in parts)
    return (rows, parts) if usable else (np.arange(n_rows), list(splits))


def limited(splits: Sequence[Split], n_rows: int, max_train: int | None, rng: np.random.RandomState) -> list[Split]:
    """The same splits with so many training rows each at most: different ones, as long as there are any."""
    if max_train is None:
        return list(splits)
    times, found = np.zeros(n_rows), []
    for split in splits:
        train = split.train
        if len(train) > max_train:
            train = np.sort(train[np.lexsort((rng.uniform(size=len(train)), times[train]))[:max_train]])
        times[train] += 1.0
        found.append(Split(train, split.held_out))
    return found


def trained_rows(splits: Sequence[Split], n_rows: int) -> Indices:
    """The rows that train some split: all that the shape of the sets depends on.

    All rows if some split holds out none of them: offsets in the search for the bandwidth need some.
    """
    trained = np.unique(np.concatenate([split.train for split in splits]))
    usable = all(np.isin(split.held_out, trained).any() for split in splits)
    return trained if usable else np.arange(n_rows)


def within(splits: Sequence[Split], rows: Indices) -> list[Split]:
    """The parts of splits in these rows, ascending, as indices into them."""
    return [
        Split(*(np.searchsorted(rows, np.intersect1d(side, rows)) for side in (split.train, split.held_out)))
        for split in splits
    ]


def _held_out(n_rows: int, share: float) -> int:
    """How many rows to hold out; at least one is left."""
    return min(int(np.ceil(share * n_rows)), n_rows - 1)


def _balanced(n_rows: int, n_splits: int, size: int, rng: np.random.RandomState) -> list[Indices]:
    """Random subsets of one size, in which each row is equally often, up to one."""
    waiting = np.arange(0)  # rows not yet drawn in this round
    subsets = []
    for _ in range(n_splits):
        if len(waiting) < size:
            # A new round: rows left over from the last one come first, and are drawn last in the new one.
            drawn = rng.permutation(n_rows)
            again = np.isin(drawn, waiting)
            waiting = np.concatenate([waiting, drawn[~again], drawn[again]])
        # Sorted indices cost nothing statistically and keep memory access in order.
        subsets.append(np.sort(waiting[:size]))
        waiting = waiting[size:]
    return subsets


def warn_if_unresolved(mass: float, n_held_out: int, n_independent: float = np.inf) -> None:
    """Warn if too few rows are held out to tell the mass asked for from the next one.

    The offset is then their least score. Rows that depend on each other count for `n_independent`.
    """
    needed = int(np.ceil(mass / (1.0 - mass) - 1e-9))
    if min(n_held_out, n_independent) >= needed:
        return
    few = "{held_out} cannot resolve {mass:{asked:g}}: the set will contain {share:.3g} of new rows."
    if n_held_out >= needed:
        few = "{held_out} count for {independent}, too few to resolve {mass:{asked:g}}, so fewer rows may be inside."
    message = Message(
        few,
        "At least {needed} {are} needed.",
        "Use more rows, or a smaller {mass}.",
        held_out=counted(n_held_out, "held-out row"),
        independent=counted(n_independent, "independent one"),
        asked=mass,
        share=n_held_out / (n_held_out + 1),
        needed=needed,
        are=are(needed),
    )
    warn(message, CalibrationWarning)
