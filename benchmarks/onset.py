"""Since when are rows unlike the fit: coverage of the 95 % interval, error of the estimate, width of the interval.

Rows are an AR(1) series of standard normal values whose mean changes by a shift at a given row; their level is that of
intervals around zero, by the ranks of calibration rows of the same kind. Only tables in which the drift test finds
drift count: others have no onset. Four minutes on one core.
"""

from __future__ import annotations

import argparse

import numpy as np
from scipy.signal import lfilter

from mvset.calibration.dependence import order_effects
from mvset.inference.drift import CountedScores, DriftCounter, EffectiveSizes
from mvset.inference.onset import find_onset
from mvset.summaries.timeline import level_bins

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


def one(rng, n, change, shift, correlation, n_calibration, per_block):
    """The estimate of one table: None without drift."""
    calibration = -np.abs(series(rng, n_calibration, correlation))
    scores = -np.abs(series(rng, n, correlation) + np.where(np.arange(n) >= change, shift, 0.0))
    effect = 1.0
    if correlation:
        threshold = np.quantile(calibration, [1.0 - MASS, 0.5])[::-1]
        effect = float(order_effects(calibration, threshold).max())
    if not drifted(scores, calibration, effect):
        return None
    levels = 1.0 - np.searchsorted(np.sort(calibration), scores) / n_calibration
    edges = level_bins(MASS)
    bins = np.searchsorted(edges[1:-1], levels, side="left")
    blocks = np.arange(n) // per_block
    counts = np.zeros((blocks[-1] + 1, len(edges) - 1), dtype=np.intp)
    np.add.at(counts, (blocks, bins), 1)
    onset = find_onset(counts, np.diff(edges), n_calibration / effect, effect)
    # A change within a block is found at its beginning or at that of the next.
    low = (onset.low - (per_block > 1)) * per_block
    return onset.first * per_block, max(0, low), onset.high * per_block + per_block - 1, onset.end < len(counts)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=400)
    parser.add_argument("--calibration-rows", type=int, default=2000)
    arguments = parser.parse_args()
    print(f"{arguments.tables} tables each, {arguments.calibration_rows} calibration rows")
    print("rows   change  rows/block  correlation  shift  drift found  coverage  median error  median width  'ended'")
    for n, change, per_block in ((1000, 600, 1), (1000, 0, 1), (1000, 950, 1), (20_000, 12_003, 8)):
        for correlation in (0.0, 0.7, 0.95):
            for shift in (0.5, 1.0, 2.0, 4.0):
                rng = np.random.default_rng(0)
                tables = [
                    one(rng, n, change, shift, correlation, arguments.calibration_rows, per_block)
                    for _ in range(arguments.tables)
                ]
                found = np.array([each for each in tables if each is not None])
                line = f"{n:<6} {change:<7} {per_block:<11} {correlation:<12} {shift:<6} "
                line += f"{len(found) / len(tables):<12.0%} "
                if len(found) >= 20:
                    first, low, high, ended = found.T
                    covered = np.mean((low <= change) & (change <= high))
                    line += f"{covered:<9.1%} {np.median(np.abs(first - change)):<13.0f} "
                    line += f"{np.median(high - low):<13.0f} {ended.mean():.0%}"
                print(line, flush=True)


if __name__ == "__main__":
    main()
