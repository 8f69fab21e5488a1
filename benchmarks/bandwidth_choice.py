"""How well the bandwidth is chosen in many dimensions, and what each part of the rule buys.

Mixture of the paper, 500 rows, 20 samples. The truth is known: the symmetric difference to the true set of mass 0.95,
in units of its volume, for every bandwidth of a fine grid; the oracle takes the least. Without a scaling and
with one ν, so that only bandwidths differ.

    python benchmarks/bandwidth_choice.py
"""

import warnings
from functools import partial
from unittest import mock

import numpy as np
from joblib import Parallel, delayed

from mvset import MinimumVolumeSet
from mvset.bandwidth.grid import RATIO
from mvset.paper import CalibratedOneClassSVM
from mvset.paper.datasets import paper_mixture
from mvset.volume.importance import ImportanceSampler
from mvset.volume.measure import measure
from text_table import print_head, print_row

# Bandwidths in the units of the columns, and one ν: they can be compared, and given.
calibrated = partial(MinimumVolumeSet, scaling=None, nu=0.4)
N_ROWS = 500
N_SAMPLES = 20


def differences(mixture, X, sigmas, reference, seed):
    """Symmetric difference to the true set at each bandwidth, over its volume."""
    log_threshold, log_volume = mixture.log_threshold(0.95), mixture.volume(0.95).log_value
    models = [calibrated(sigma=sigma, random_state=seed, n_volume_points=10).fit(X) for sigma in sigmas]

    def true(points):
        return mixture.log_density(points) >= log_threshold

    middle = models[int(np.argmin(np.abs(np.log(sigmas / reference))))]
    sample = ImportanceSampler(X, np.random.RandomState(seed)).draw(
        20_000, lambda points: true(points) | (middle.predict(points) == 1)
    )
    inside = (
        np.column_stack([model.predict(sample.points) == 1 for model in models]) ^ true(sample.points)[:, np.newaxis]
    )
    return np.exp(measure(sample, inside).log_values - log_volume)


def paper_choice(X, sigmas, seed):
    """The least area in the paper's cube, however few points hit the sets; of equal areas, the narrowest bandwidth."""
    with mock.patch("mvset.paper.calibrated_one_class_svm._BOX_COLUMNS", X.shape[1]):
        return CalibratedOneClassSVM(sigmas=sigmas, random_state=seed).fit(X).sigma_


def least(model, value):
    valid = [curve for curve in model.curves_ if curve.training_mass <= curve.masses[0]]
    return min(valid, key=value).sigma


def measured_columns(n_columns):
    """Let volumes decide up to so many columns, and bounds beyond."""
    return mock.patch("mvset.bandwidth.search.MEASURED_COLUMNS", n_columns)


def choices(d, seed):
    warnings.simplefilter("ignore")
    mixture = paper_mixture(d)
    X = mixture.sample(N_ROWS, random_state=seed)
    auto = calibrated(random_state=seed).fit(X)
    with measured_columns(0):
        bound = calibrated(random_state=seed).fit(X)
    with measured_columns(100):
        volumes = calibrated(random_state=seed).fit(X)
    tried = [curve.sigma for curve in volumes.curves_]
    steps = np.arange(np.ceil(np.log(max(tried) / min(tried)) / np.log(RATIO)) + 1.0)
    candidates = set((max(tried) * RATIO**-steps).tolist())
    with measured_columns(100):
        fine = calibrated(sigma=sorted(candidates), random_state=seed).fit(X)
    chosen = {
        "auto": auto.sigma_,
        "volumes": volumes.sigma_,
        "bound": bound.sigma_,
        "least area": least(fine, lambda curve: curve.area),
        "cube, the paper's rule": paper_choice(X, sorted(candidates), seed),
    }
    wide = max(candidates)
    sigmas = np.array(sorted(candidates | {auto.sigma_, bound.sigma_, wide * RATIO, wide * RATIO**2}))
    found = differences(mixture, X, sigmas, auto.sigma_, seed)
    oracle = int(np.argmin(found))
    results = {"oracle": (found[oracle], 0.0)}
    for name, sigma in chosen.items():
        i = int(np.argmin(np.abs(np.log(sigmas / sigma))))
        results[name] = (found[i], np.log(sigmas[i] / sigmas[oracle]) / np.log(RATIO))
    return results


def quality(run):
    print(f"\nSymmetric difference over the true volume, mean of {N_SAMPLES} samples of {N_ROWS} rows")
    print("(difference to auto ± its standard error); share within one grid step of the oracle's bandwidth")
    dimensions = (2, 4, 8, 15, 20)
    cells = {}
    for d in dimensions:
        runs = run(delayed(choices)(d, seed) for seed in range(N_SAMPLES))
        auto = np.array([results["auto"][0] for results in runs])
        for name in runs[0]:
            value, steps = np.array([results[name] for results in runs]).T
            paired = value - auto
            error = paired.std(ddof=1) / np.sqrt(N_SAMPLES)
            text = f"{value.mean():.3f}"
            if name not in ("oracle", "auto"):
                text += f" ({paired.mean():+.3f} ± {error:.3f})"
            if name != "oracle":
                text += f", {100 * np.mean(np.abs(steps) < 1.01):.0f} %"
            cells[name, d] = text
    print_head("", *(f"d = {d}" for d in dimensions))
    for name in dict.fromkeys(name for name, _ in cells):
        print_row(name, *(cells.get((name, d), "") for d in dimensions))


def main() -> None:
    with Parallel(n_jobs=-1) as run:
        quality(run)


if __name__ == "__main__":
    main()
