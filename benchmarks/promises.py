"""The promises about mass, held against the truth with default settings, and what they cost.

Prints the tables of docs/promises-measured.md; a value in bold misses its bound. The distributions are in
tests/simulations.py.
All sections take about two hours on two cores; name some of them to run fewer.

    python benchmarks/promises.py [--draws N] [--sizes N ...] -- [independent] [guarantees] [series] [power] [price]
"""

import argparse
import sys
import warnings
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from mvset import MinimumVolumeSet
from mvset.paper import CalibratedOneClassSVM
from mvset.paper.datasets import paper_mixture
from simulations import ALARM_RATE, DISTRIBUTIONS, MASSES, N_FRESH, SERIES, SIZES, broken_guarantees, simulate
from text_table import print_head, print_row

BIAS = {60: 0.012, 200: 0.005, 500: 0.005, 1000: 0.005, 2000: 0.01}
SPREAD, COVERAGE = 1.1, 0.93


def bold(text, missed):
    return f"**{text}**" if missed else text


def spread(masses, mass, n):
    """Standard deviation of the true mass over draws, relative to that of a share of n rows; Monte Carlo removed."""
    limit = mass * (1 - mass)
    return np.sqrt(max(0.0, masses.var(ddof=1) - limit / N_FRESH) / (limit / n))


def independent(n_draws, sizes):
    print_head("distribution", "n", *(f"bias {m}" for m in MASSES), *(f"spread {m}" for m in MASSES),
               *(f"interval {m}" for m in MASSES), "band", "P(p ≤ 0.05)", "FDP", "power", "drift", "watch")  # fmt: skip
    for name, draw in DISTRIBUTIONS.items():
        for n in sizes:
            found = simulate(draw, n, n_draws)
            checked = [mass for mass in MASSES if n > 60 or mass < 0.99]
            bias = {mass: found["mass", mass].mean() - mass for mass in MASSES}
            wide = {mass: spread(found["mass", mass], mass, n) for mass in MASSES}
            held = {mass: found["interval", mass].mean() for mass in MASSES}
            cells = [
                *(bold(f"{bias[m]:+.3f}", m in checked and abs(bias[m]) > BIAS[n]) for m in MASSES),
                *(bold(f"{wide[m]:.2f}", m in checked and wide[m] > SPREAD) for m in MASSES),
                *(bold(f"{held[m]:.2f}", m in checked and held[m] < COVERAGE) for m in MASSES),
                f"{found['band'].mean():.2f}", f"{found['p'].mean():.3f}", f"{found['fdp'].mean():.3f}",
                f"{found['power'].mean():.2f}",
                *(bold(f"{found[key].mean():.3f}", found[key].mean() > ALARM_RATE) for key in ("drift", "monitor")),
            ]  # fmt: skip
            print_row(name, n, *cells)


def guarantees(n_draws, sizes):
    print_head("distribution", "n", *(f"conformal {m}" for m in MASSES), *(f"pac {m}" for m in MASSES),
               "interval 0.9", "band", "P(p ≤ 0.05)", "FDP", "drift", "watch", "broken")  # fmt: skip
    for name, draw in DISTRIBUTIONS.items():
        for n in sizes:
            found = {mode: simulate(draw, n, n_draws, mode) for mode in ("conformal", "pac")}
            broken = [text for mode, each in found.items() for text in broken_guarantees(each, mode, n_draws)]
            conformal, pac = found["conformal"], found["pac"]
            cells = [
                *(f"{conformal['mass', m].mean():.3f}" if ("mass", m) in conformal else "too few" for m in MASSES),
                *(f"{np.mean(pac['mass', m] < m):.3f}" if ("mass", m) in pac else "too few" for m in MASSES),
                f"{conformal['interval', 0.9].mean():.2f}",
                *(f"{conformal[key].mean():.3f}" for key in ("band", "p", "fdp", "drift", "monitor")),
                "; ".join(broken) or "none",
            ]
            print_row(name, n, *cells)


def series(n_draws, sizes, n=2000):
    print_head("series", "time_order", *(f"mass {m}" for m in MASSES), "spread 0.95",
               *(f"interval {m}" for m in MASSES), "drift", "watch", "warned")  # fmt: skip
    for name, (draw, fresh_draw) in SERIES.items():
        for time_order in (False, True):
            found = simulate(draw, n, n_draws, time_order=time_order, n_batch=500, fresh_draw=fresh_draw)
            cells = [
                *(bold(f"{found['mass', m].mean():.3f}", abs(found["mass", m].mean() - m) > BIAS[n]) for m in MASSES),
                f"{spread(found['mass', 0.95], 0.95, n):.2f}",
                *(bold(f"{found['interval', m].mean():.2f}", found["interval", m].mean() < 0.9) for m in MASSES),
                *(bold(f"{found[k].mean():.3f}", found[k].mean() > 2 * ALARM_RATE) for k in ("drift", "monitor")),
                f"{found['warned'].mean():.2f}",
            ]
            print_row(name, "yes" if time_order else "no", *cells)


def _drift_found(shift, mode, seed):
    warnings.simplefilter("ignore")
    rng = np.random.default_rng([seed, 800])
    X, batch = rng.lognormal(size=(800, 2)), rng.lognormal(size=(200, 2)) + shift * np.exp(1) ** 0.5
    model = MinimumVolumeSet(calibration=mode, n_volume_points=2000, random_state=seed).fit(X)
    return model.check_drift(batch, false_alarm_rate=0.01).drifted


def power(n_draws, sizes):
    print("\nShare of draws in which check_drift at a rate of 0.01 finds a shift of 200 lognormal rows, after 800")
    print_head("shift in standard deviations", "cross", "conformal")
    deviation = np.sqrt((np.e - 1) * np.e) / np.exp(1) ** 0.5
    for shift in (0.0, 0.25, 0.5, 1.0):
        found = [
            np.mean(Parallel(-1)(delayed(_drift_found)(shift * deviation, mode, seed) for seed in range(n_draws)))
            for mode in ("cross", "conformal")
        ]
        print_row(shift, *(f"{share:.2f}" for share in found))


def _volumes(n, seed):
    warnings.simplefilter("ignore")
    X = paper_mixture().sample(n, random_state=seed)
    modes = ("cross", "conformal", "pac")
    cross, *others = (MinimumVolumeSet(calibration=mode, random_state=seed) for mode in modes)
    models = [cross, CalibratedOneClassSVM(random_state=seed), *others]
    fresh = paper_mixture().sample(50_000, random_state=np.random.RandomState([seed, n]))
    return [(model.fit(X).volume_.value, np.mean(model.predict(fresh) == 1)) for model in models]


def price(n_draws, sizes):
    print("\nMixture of the paper, mass 0.95, 40 samples: volume relative to 'cross', and true mass")
    print_head("n", "paper", "conformal", "pac", "mass cross", "paper", "conformal", "pac")
    for n in (150, 300, 1000, 3000):
        found = np.array(Parallel(n_jobs=-1)(delayed(_volumes)(n, seed) for seed in range(40)))
        ratios = found[:, 1:, 0] / found[:, :1, 0]
        cells = [f"{r.mean():.3f} ± {1.96 * r.std(ddof=1) / np.sqrt(len(r)):.3f}" for r in ratios.T]
        masses = [f"{mass.mean():.3f}" for mass in found[:, :, 1].T]
        print_row(n, *cells, *masses)


SECTIONS = {each.__name__: each for each in (independent, guarantees, series, power, price)}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--draws", type=int, default=300)
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES))
    parser.add_argument("sections", nargs="*", choices=list(SECTIONS), default=list(SECTIONS))
    options = parser.parse_args()
    for name in options.sections:
        SECTIONS[name](options.draws, options.sizes)


if __name__ == "__main__":
    main()
