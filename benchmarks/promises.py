"""The promises about mass, held against the truth, and what they cost.

The volume of conformal and PAC sets over that of the paper's, on its mixture; then a thousand draws of each of five
distributions in two dimensions at four sizes, see tests/simulations.py. Prints the tables of docs/promises.md, and
fails if a promise is broken. About twenty minutes on two cores.

    python benchmarks/promises.py [N_DRAWS]
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from mvset import MinimumVolumeSet
from mvset.datasets import paper_mixture
from simulations import ALARM_RATE, CONFIDENCE, DISTRIBUTIONS, FDR, MASSES, SIZES, broken_promises, simulate


def cells(n_draws):
    masses = " | ".join(f"{mass}" for mass in MASSES)
    others = "interval 0.5 | interval 0.9 | band | P(p ≤ 0.05) | FDP | power | drift | watch"
    head = f"| distribution | n | mode | {masses} | {others} |"
    print(
        f"Mean true mass for each mass asked for (pac: share of draws below it, 1 - confidence = {1 - CONFIDENCE:.2f});"
    )
    print(
        f"coverage of the 95 % interval and band; FDR {FDR}; false alarms at a rate of {ALARM_RATE}. {n_draws} draws.\n"
    )
    print(head)
    print("|" + " --- |" * (head.count("|") - 1))
    broken = []
    for name in DISTRIBUTIONS:
        for n in SIZES:
            found = simulate(name, n, n_draws)
            broken += [f"{name}, n = {n}: {text}" for text in broken_promises(found, n_draws)]
            for mode in ("conformal", "pac", "split"):
                by_mass = []
                for mass in MASSES:
                    values = found.get((mode, "mass", mass))
                    if values is None:
                        by_mass.append("too few")
                    else:
                        by_mass.append(f"{np.mean(values < mass) if mode == 'pac' else values.mean():.3f}")
                keys = [
                    ("interval", 0.5),
                    ("interval", 0.9),
                    *((key,) for key in ("band", "p", "fdp", "power", "drift", "monitor")),
                ]
                others = [f"{found[mode, *key].mean():.3f}" if (mode, *key) in found else "" for key in keys]
                print(f"| {name} | {n} | {mode} | {' | '.join([*by_mass, *others])} |", flush=True)
    return broken


def volumes(n, seed):
    warnings.simplefilter("ignore")
    X = paper_mixture().sample(n, random_state=seed)
    found = [MinimumVolumeSet(calibration=mode, random_state=seed).fit(X) for mode in ("split", "conformal", "pac")]
    fresh = paper_mixture().sample(50_000, random_state=np.random.RandomState([seed, n]))
    return [(model.volume_.value, np.mean(model.predict(fresh) == 1)) for model in found]


def price():
    print("\nMixture of the paper, mass 0.95, 40 samples: volume over that of the split set, and true mass\n")
    print("| n | conformal | pac | mass split | conformal | pac |\n| --- | --- | --- | --- | --- | --- |")
    for n in (150, 300, 1000, 3000):
        found = np.array(Parallel(n_jobs=-1)(delayed(volumes)(n, seed) for seed in range(40)))
        ratios = found[:, 1:, 0] / found[:, :1, 0]
        cells = [f"{r.mean():.3f} ± {1.96 * r.std(ddof=1) / np.sqrt(len(r)):.3f}" for r in ratios.T]
        masses = [f"{mass.mean():.3f}" for mass in found[:, :, 1].T]
        print(f"| {n} | {' | '.join([*cells, *masses])} |", flush=True)


def main() -> None:
    price()
    print()
    broken = cells(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
    print("\nPromises broken:", "; ".join(broken) or "none")
    sys.exit(bool(broken))


if __name__ == "__main__":
    main()
