"""How often each test of drift finds a change, and how often it gives a false alarm.

A fit to 800 rows, then 200 new rows, at a false-alarm rate of 0.01. "Columns" is the test of all columns together,
"sums" the test of sums of columns, "levels" and "share" the tests of scores, each at a quarter of the rate.
"check_drift" is all of them. Beside them are the test of Kolmogorov and Smirnov per column with Bonferroni's
correction, and the energy distance by 200 permutations in 50 of the draws.

In series, the new rows follow those of the fit, and the model knows their order (``time_order=True``).

    python benchmarks/drift.py [--draws N] -- [changes] [series] [order]
"""

import argparse
import sys
import warnings
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from scipy.signal import lfilter
from scipy.spatial.distance import cdist
from scipy.stats import ks_2samp

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from mvset import MinimumVolumeSet
from mvset.exceptions import DependenceWarning
from text_table import print_head, print_row

RATE, N_COLUMNS, N_ENERGY = 0.01, 4, 50
DISTRIBUTIONS = {
    "normal": lambda rng, size: rng.normal(size=size),
    "gamma": lambda rng, size: (rng.gamma(2.0, size=size) - 2.0) / np.sqrt(2.0),
    "t(5)": lambda rng, size: rng.standard_t(5, size=size) / np.sqrt(5 / 3),
    "lognormal": lambda rng, size: (rng.lognormal(size=size) - np.exp(0.5)) / np.sqrt((np.e - 1.0) * np.e),
    "uniform": lambda rng, size: rng.uniform(-np.sqrt(3), np.sqrt(3), size=size),
}
CHANGES = {
    "none": lambda rows: rows,
    "shift of 0.5, all columns": lambda rows: rows + 0.5,
    "shift of 0.5, one column": lambda rows: rows + np.array([0.5, 0.0, 0.0, 0.0]),
    "spread × 1.3": lambda rows: 1.3 * rows,
    "correlation 0.5": lambda rows: rows @ np.linalg.cholesky(0.5 + 0.5 * np.eye(N_COLUMNS)).T,
}


def autoregressive(rng, n, memory):
    steps = rng.normal(size=(n + 300, N_COLUMNS)) * np.sqrt(1.0 - memory**2)
    return lfilter([1.0], [1.0, -memory], steps, axis=0)[300:]


def seasonal(rng, n):
    phase = 2 * np.pi * ((np.arange(n) + rng.uniform(0, 144)) / 144)[:, np.newaxis] + np.arange(N_COLUMNS)
    return np.sin(phase) + 0.3 * rng.normal(size=(n, N_COLUMNS))


def garch(rng, n):
    rows, variance = np.zeros((n + 300, N_COLUMNS)), np.ones(N_COLUMNS)
    for i, step in enumerate(rng.normal(size=(n + 300, N_COLUMNS))):
        rows[i] = np.sqrt(variance) * step
        variance = 0.05 + 0.1 * rows[i] ** 2 + 0.85 * variance
    return rows[300:]


def regimes(rng, n):
    state = np.cumsum(rng.uniform(size=n) < 0.02) % 2
    return 2.0 * state[:, np.newaxis] + rng.normal(size=(n, N_COLUMNS))


def days(rng, n, size=50):
    centres = 2.0 * rng.normal(size=(-(-n // size), N_COLUMNS))
    return (np.repeat(centres, size, axis=0) + rng.normal(size=(len(centres) * size, N_COLUMNS)))[:n]


SERIES = {
    "AR(0.5)": lambda rng, n: autoregressive(rng, n, 0.5),
    "AR(0.9)": lambda rng, n: autoregressive(rng, n, 0.9),
    "AR(0.97)": lambda rng, n: autoregressive(rng, n, 0.97),
    "seasonal": seasonal,
    "GARCH": garch,
    "regimes": regimes,
    "days": days,
}
ORDERS = {
    "independent": lambda rng, n: rng.normal(size=(n, N_COLUMNS)),
    "days, shuffled": lambda rng, n: rng.permutation(days(rng, n)),
    "sorted": lambda rng, n: (rows := rng.normal(size=(n, N_COLUMNS)))[np.argsort(rows[:, 0])],
    **SERIES,
    "random walk": lambda rng, n: np.cumsum(rng.normal(size=(n, N_COLUMNS)), axis=0),
    "trend": lambda rng, n: rng.normal(size=(n, N_COLUMNS)) + np.linspace(0.0, 2.0, n)[:, np.newaxis],
}


def fitted(rows, **parameters):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = MinimumVolumeSet(sigma=1.0, splits=10, n_volume_points=500, random_state=0, **parameters).fit(rows)
    return model, any(each.category is DependenceWarning for each in caught)


def energy_p_value(before, now, rng, n_permutations=200):
    """Of the energy distance, by permutations."""
    rows = np.concatenate([before, now])
    distances, n = cdist(rows, rows), len(now)

    def statistic(chosen):
        other = np.setdiff1d(np.arange(len(rows)), chosen)
        across = distances[np.ix_(chosen, other)].mean()
        return 2 * across - distances[np.ix_(chosen, chosen)].mean() - distances[np.ix_(other, other)].mean()

    observed = statistic(np.arange(len(before), len(rows)))
    by_chance = [statistic(rng.choice(len(rows), n, replace=False)) for _ in range(n_permutations)]
    return (1 + np.sum(np.array(by_chance) >= observed)) / (1 + n_permutations)


def one_change(draw, seed, with_energy):
    rng = np.random.default_rng(seed)
    before, now = draw(rng, (800, N_COLUMNS)), draw(rng, (200, N_COLUMNS))
    model, _ = fitted(before)
    found = {}
    for name, change in CHANGES.items():
        changed = change(now)
        report = model.check_drift(changed, false_alarm_rate=RATE)
        by_test = [report.columns_p_value, report.sums_p_value, report.distribution_p_value, report.share_p_value]
        smirnov = min(ks_2samp(before[:, j], changed[:, j]).pvalue for j in range(N_COLUMNS)) * N_COLUMNS
        energy = energy_p_value(before, changed, rng) if with_energy else np.nan
        # 200 permutations have no p-value below 0.005.
        found[name] = [report.drifted, *(p <= RATE / 4 for p in by_test), smirnov <= RATE, energy <= RATE]
    return found


def changes(n_draws):
    print_head("distribution", "change", "check_drift", "columns", "sums", "levels", "share", "KS per column", "energy")
    for name, draw in DISTRIBUTIONS.items():
        found = Parallel(n_jobs=-1)(delayed(one_change)(draw, seed, seed < N_ENERGY) for seed in range(n_draws))
        for change in CHANGES:
            shares = np.array([each[change] for each in found], dtype=float)
            energy = shares[:N_ENERGY, -1].mean()
            print_row(name, change, *(f"{each:.3f}" for each in shares[:, :-1].mean(axis=0)), f"{energy:.2f}")


def one_series(draw, seed, shift):
    rows = draw(np.random.default_rng(seed), 1200)
    model, _ = fitted(rows[:1000], time_order=True)
    drifted = [model.check_drift(rows[1000:] + moved * rows[:1000].std(axis=0)).drifted for moved in (0.0, shift)]
    found = model.events(rows[1000:])
    return [*drifted, len(found.events) > 0, found.status == "cannot tell"]


def series(n_draws):
    print_head("series", "false alarms", "shift of 1 found", "false events", "cannot tell")
    for name, draw in SERIES.items():
        found = np.array(Parallel(n_jobs=-1)(delayed(one_series)(draw, seed, 1.0) for seed in range(n_draws)))
        print_row(name, *(f"{each:.3f}" for each in found.mean(axis=0)))


def one_order(draw, seed):
    rng = np.random.default_rng(seed)
    model, warned = fitted(draw(rng, 1000))
    interval = model.mass_interval_
    return [warned, interval.effective_rows, interval.high - interval.low]


def order(n_draws):
    print_head("rows", "warned", "count for", "width of the interval")
    for name, draw in ORDERS.items():
        found = np.array(Parallel(n_jobs=-1)(delayed(one_order)(draw, seed) for seed in range(n_draws)))
        print_row(name, f"{found[:, 0].mean():.3f}", f"{np.median(found[:, 1]):.0f}", f"{np.median(found[:, 2]):.3f}")


SECTIONS = {"changes": changes, "series": series, "order": order}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("sections", nargs="*", choices=[*SECTIONS, []], default=[])
    asked = parser.parse_args()
    for section in asked.sections or SECTIONS:
        print(f"\n{section}\n")
        SECTIONS[section](asked.draws)
