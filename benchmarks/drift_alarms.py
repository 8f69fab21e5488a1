"""False alarms of `mvset score` as it is used: columns standardised, bandwidth automatic, "split" mode.

Each draw is a table to fit and a table of the same kind to judge. At a rate of 5 % some five of a hundred may alarm.
About ten minutes on two cores.
"""

from __future__ import annotations

import sys
import warnings

import numpy as np
from joblib import Parallel, delayed
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mvset import MinimumVolumeSet
from mvset.datasets import paper_mixture, two_moons
from mvset.tables.demo import pump_readings

RATE, N_DRAWS, N_JUDGED = 0.05, 200, 400
TABLES = {
    "pump, 4 columns": lambda n, rng: pump_readings(n, seed=rng.randint(2**31)),
    "two moons": lambda n, rng: two_moons(n, random_state=rng),
    "mixture, 8 columns": lambda n, rng: paper_mixture(8).sample(n, random_state=rng),
    "normal, 1 column": lambda n, rng: rng.normal(size=(n, 1)),
    "gamma, 1 column": lambda n, rng: rng.gamma(2.0, size=(n, 1)),
    "gamma, 3 columns": lambda n, rng: rng.gamma(2.0, size=(n, 3)),
    "lognormal, 2 columns": lambda n, rng: rng.lognormal(size=(n, 2)),
}


def alarm(table, n, seed):
    warnings.simplefilter("ignore")
    rng = np.random.RandomState([seed, n])
    model = make_pipeline(StandardScaler(), MinimumVolumeSet(random_state=seed)).fit(TABLES[table](n, rng))
    found = model[-1].check_drift(model[0].transform(TABLES[table](N_JUDGED, rng)), false_alarm_rate=RATE)
    return found.drifted, found.share_p_value <= RATE / 2, found.distribution_p_value <= RATE / 2


def main() -> None:
    n_draws = int(sys.argv[1]) if len(sys.argv) > 1 else N_DRAWS
    print(f"False alarms in {n_draws} draws, {N_JUDGED} rows judged, at a rate of {RATE:.0%}\n")
    print("| table | n | alarms | by the share | by the distribution |\n| --- | --- | --- | --- | --- |")
    for table in TABLES:
        for n in (300, 1000):
            found = np.array(Parallel(n_jobs=-1)(delayed(alarm)(table, n, seed) for seed in range(n_draws)))
            print(f"| {table} | {n} | {' | '.join(f'{share:.3f}' for share in found.mean(axis=0))} |", flush=True)


if __name__ == "__main__":
    main()
