"""Since when are rows unlike the fit: coverage of the 95 % interval, error of the estimate, width of the interval.

Rows are an AR(1) series of standard normal values whose mean changes by a shift at a given row; their level is that of
intervals around zero, by the ranks of calibration rows of the same kind. Only tables in which the drift test finds
drift count: others have no onset. Four minutes on one core.
"""

import argparse
from dataclasses import dataclass

import numpy as np
from scipy.signal import lfilter

from mvset.calibration.dependence import order_effects
from mvset.inference.drift import CountedScores, DriftCounter, EffectiveSizes
from mvset.inference.onset import find_onset
from mvset.inference.timeline import level_bins
from text_table import print_head, print_row

MASS = 0.95


def series(rng, n, correlation):
    """A stationary AR(1) series of standard normal values."""
    noise = rng.normal(size=n) * np.sqrt(1.0 - correlation**2)
    noise[0] = rng.normal()
    return lfilter([1.0], [1.0, -correlation], noise)


def drifted(scores, calibration, effect):
    """Verdict of the drift test; the order of rows is known to it."""
    offset = -np.quantile(-calibration, MASS)
    sizes = EffectiveSizes(effect, effect)
    counter = DriftCounter(CountedScores.of(calibration), offset, np.inf, 0.01, sizes, sizes)
    counter.update(scores)
    return counter.report().drifted


@dataclass(frozen=True)
class Case:
    """A table: its rows, the row of the change, how long the change lasts and how long it takes, its size."""

    n: int
    change: int
    per_block: int
    correlation: float
    shift: float
    lasts: int | None = None
    takes: int = 0

    @property
    def kind(self):
        """What the change does after it has begun."""
        if self.lasts is not None:
            return f"ends after {self.lasts} rows"
        return f"takes {self.takes} rows" if self.takes else "lasts"

    def shifts(self):
        """The shift of every row."""
        row = np.arange(self.n) - self.change
        grown = np.clip((row + 1) / max(1, self.takes), 0.0, 1.0)
        ended = False if self.lasts is None else row >= self.lasts
        return np.where((row < 0) | ended, 0.0, self.shift * grown)


def one(rng, case, n_calibration):
    """The estimate of one table: first, low and high row, and where the change ended; None without drift."""
    calibration = -np.abs(series(rng, n_calibration, case.correlation))
    scores = -np.abs(series(rng, case.n, case.correlation) + case.shifts())
    effect = 1.0
    if case.correlation:
        threshold = np.quantile(calibration, [1.0 - MASS, 0.5])[::-1]
        effect = float(order_effects(calibration, threshold).max())
    if not drifted(scores, calibration, effect):
        return None
    levels = 1.0 - np.searchsorted(np.sort(calibration), scores) / n_calibration
    edges = level_bins(MASS)
    bins = np.searchsorted(edges[1:-1], levels, side="left")
    blocks = np.arange(case.n) // case.per_block
    counts = np.zeros((blocks[-1] + 1, len(edges) - 1), dtype=np.intp)
    np.add.at(counts, (blocks, bins), 1)
    onset = find_onset(counts, np.diff(edges), n_calibration / effect, effect)
    # A change within a block is found at its beginning or at that of the next.
    low = max(0, onset.low - (case.per_block > 1))
    end = onset.end * case.per_block if onset.end < len(counts) else np.nan
    return onset.first * case.per_block, low * case.per_block, (onset.high + 1) * case.per_block - 1, end


def print_case(case, n_tables, n_calibration):
    """One row of the table, if drift was found often enough to tell."""
    rng = np.random.default_rng(0)
    tables = [one(rng, case, n_calibration) for _ in range(n_tables)]
    found = np.array([each for each in tables if each is not None])
    if len(found) < 20:
        return
    first, low, high, end = found.T
    covered = np.mean((low <= case.change) & (case.change <= high))
    ended = f"{np.mean(~np.isnan(end)):.0%}"
    if case.lasts and (~np.isnan(end)).any():
        ended += f", off by {np.nanmedian(np.abs(end - case.change - case.lasts)):.0f}"
    print_row(
        case.n, case.change, case.kind, case.correlation, case.shift, f"{len(found) / len(tables):.0%}",
        f"{covered:.1%}", f"{np.median(np.abs(first - case.change)):.0f}", f"{np.median(high - low):.0f}", ended,
    )  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=400)
    parser.add_argument("--calibration-rows", type=int, default=2000)
    parser.add_argument("--quick", action="store_true", help="only changes that end, or take their time")
    arguments = parser.parse_args()
    print(f"{arguments.tables} tables each, {arguments.calibration_rows} calibration rows")
    print_head("rows", "change", "and", "ρ", "shift", "drift found", "coverage", "error", "width", "said to have ended")
    plain = [] if arguments.quick else [(1000, 600, 1), (1000, 0, 1), (20_000, 12_003, 8)]
    cases = [
        *(
            Case(*where, correlation, shift)
            for where in plain
            for correlation in (0.0, 0.7, 0.95)
            for shift in (0.5, 1.0, 2.0, 4.0)
        ),
        *(Case(1000, 600, 1, c, s, lasts=150) for c in (0.0, 0.7) for s in (1.0, 2.0, 4.0)),
        *(Case(1000, 600, 1, c, s, takes=200) for c in (0.0, 0.7) for s in (1.0, 2.0, 4.0)),
    ]
    for case in cases:
        print_case(case, arguments.tables, arguments.calibration_rows)


if __name__ == "__main__":
    main()
