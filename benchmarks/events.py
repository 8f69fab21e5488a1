"""Whether two failures in two weeks of a plant are found, with their ends and their columns, and nothing else.

A plant of twelve sensors, one row a minute: four autocorrelated factors, and noise of different size in each sensor. A
fit to five days, then two weeks with two failures of forty minutes: one sensor with a bias, and one that is stuck. The
model knows that rows are in time order. A failure is found if an event overlaps it and no other event does.

    python benchmarks/events.py [--plants N]
"""

import argparse

import numpy as np
from joblib import Parallel, delayed
from scipy.signal import lfilter

from mvset import MinimumVolumeSet
from text_table import print_head, print_row

N_SENSORS, N_FACTORS, DAY, LENGTH = 12, 4, 24 * 60, 40
MEMORIES = (0.0, 0.5, 0.9)  # of the factors, from minute to minute


def plant(rng, weights, memory, n):
    steps = rng.normal(size=(n + 500, N_FACTORS)) * np.sqrt(1.0 - memory**2)
    factors = lfilter([1.0], [1.0, -memory], steps, axis=0)[500:]
    return factors @ weights + rng.normal(size=(n, N_SENSORS)) * np.geomspace(0.05, 0.3, N_SENSORS)


def one_plant(memory, seed):
    rng = np.random.default_rng(seed)
    weights = rng.normal(size=(N_FACTORS, N_SENSORS))
    model = MinimumVolumeSet(time_order=True, random_state=0).fit(plant(rng, weights, memory, 5 * DAY))
    rows = plant(rng, weights, memory, 14 * DAY)
    starts, sensors = rng.integers([2 * DAY, 8 * DAY], [6 * DAY, 13 * DAY]), rng.choice(N_SENSORS, 2, replace=False)
    spread = rows.std(axis=0)
    rows[starts[0] : starts[0] + LENGTH, sensors[0]] += 2.0 * spread[sensors[0]]
    rows[starts[1] : starts[1] + LENGTH, sensors[1]] = rows[starts[1], sensors[1]] + 3.0 * spread[sensors[1]]
    found = model.events(rows)
    results, matched = [], set()
    for start, sensor in zip(starts.tolist(), sensors.tolist(), strict=True):
        over = [e for e in found.events if e.start.row < start + LENGTH and e.end.row >= start]
        matched |= {event.start.row for event in over}
        ends = [max(abs(e.start.row - start), abs(e.end.row - start - LENGTH + 1)) for e in over]
        named = [bool(e.columns) and e.columns[0].name == f"x{sensor}" for e in over]
        results.append([len(over) == 1, len(over) == 1 and ends[0] <= 5, len(over) == 1 and named[0]])
    others = len([event for event in found.events if event.start.row not in matched])
    return [*np.mean(results, axis=0), others > 0]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--plants", type=int, default=60)
    n_plants = parser.parse_args().plants
    print_head("memory", "failures found", "ends within 5 minutes", "right column first", "plants with another event")
    for memory in MEMORIES:
        found = Parallel(n_jobs=-1)(delayed(one_plant)(memory, seed) for seed in range(n_plants))
        print_row(memory, *(f"{each:.3f}" for each in np.mean(found, axis=0)))
