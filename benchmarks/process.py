"""How many faults of a process with correlated sensors each detector finds, at one false alarm in a hundred rows.

A simulated plant: 52 sensors follow 12 slow factors, with noise whose size differs by a factor of a hundred from sensor
to sensor. Everything is autocorrelated. Each detector is fitted to normal rows; its threshold is the 1 % quantile of
its scores on other normal rows, so that only the order of rows counts. Faults are of five kinds, each in ten sizes or
places: a shift along a combination of small variance, a bias of one sensor, a factor out of its range, a sensor whose
noise grows, and a sensor that no longer follows its factors.

    python benchmarks/process.py [--seeds N] [--quick]
"""

import sys
import time
import warnings

import numpy as np
from joblib import Parallel, delayed
from scipy.signal import lfilter
from sklearn.covariance import EmpiricalCovariance
from sklearn.decomposition import PCA
from sklearn.ensemble import IsolationForest
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import StandardScaler

from harness import COLOURS, axes, main
from mvset import MinimumVolumeSet

QUESTION = "How many faults of a process with correlated sensors does each detector find?"
KEYS = ("rows", "fault")
N_SENSORS, N_FACTORS, RATE = 52, 12, 0.01
N_NORMAL, N_FAULTY, N_PLACES = 5000, 100, 10
KINDS = ("small combination", "one sensor", "factor", "variance", "correlation")


class Plant:
    """Sensors, the factors that they follow, and how they fail."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.loadings = self.rng.normal(size=(N_FACTORS, N_SENSORS)) * self.rng.integers(0, 2, (N_FACTORS, N_SENSORS))
        self.noise = 10 ** self.rng.uniform(-1.5, 0.5, N_SENSORS)
        self.units = 10 ** self.rng.uniform(-2.0, 3.0, N_SENSORS)

    def slow(self, n, n_columns, memory):
        """Autocorrelated columns of variance one."""
        steps = self.rng.normal(size=(n + 200, n_columns)) * np.sqrt(1 - memory**2)
        return lfilter([1.0], [1.0, -memory], steps, axis=0)[200:]

    def parts(self, n):
        """Factors, and noise of the sensors."""
        return self.slow(n, N_FACTORS, 0.95), self.slow(n, N_SENSORS, 0.5) * self.noise

    def normal(self, n):
        """Rows of normal behaviour."""
        factors, noise = self.parts(n)
        return (factors @ self.loadings + noise) * self.units

    def faulty(self, kind, n):
        """Rows of one fault of a kind."""
        factors, noise = self.parts(n)
        sensor, size = self.rng.integers(N_SENSORS), self.rng.uniform(3.0, 8.0)
        if kind == "small combination":
            covariance = self.loadings.T @ self.loadings + np.diag(self.noise**2)
            variances, directions = np.linalg.eigh(covariance)
            which = self.rng.integers(N_SENSORS - N_FACTORS)
            noise += size * np.sqrt(variances[which]) * directions[:, which]
        elif kind == "one sensor":
            noise[:, sensor] += size * self.noise[sensor]
        elif kind == "factor":
            factors[:, self.rng.integers(N_FACTORS)] += size
        elif kind == "variance":
            noise[:, sensor] *= size
        else:
            loadings = self.loadings.copy()
            loadings[:, sensor] = self.rng.permutation(loadings[:, sensor])
            return (factors @ loadings + noise) * self.units
        return (factors @ self.loadings + noise) * self.units


class Mahalanobis(EmpiricalCovariance):
    """Hotelling's T²: the squared distance from the mean, in units of the sample covariance."""

    def score_samples(self, rows):
        """Higher is more normal."""
        return -self.mahalanobis(rows)


class Residual(PCA):
    """Squared prediction error of the components that explain 90 % of the variance."""

    def score_samples(self, rows):
        """Higher is more normal."""
        return -np.sum((rows - self.inverse_transform(self.transform(rows))) ** 2, axis=1)


class NearestNeighbour(NearestNeighbors):
    """The distance to the fifth neighbour."""

    def score_samples(self, rows):
        """Higher is more normal."""
        return -self.kneighbors(rows)[0][:, -1]


METHODS = {
    "mvset": lambda seed: MinimumVolumeSet(random_state=seed),
    "mvset, whiten": lambda seed: MinimumVolumeSet(scaling="whiten", random_state=seed),
    "mvset, standard": lambda seed: MinimumVolumeSet(scaling="standard", random_state=seed),
    "T²": lambda seed: Mahalanobis(),
    "PCA": lambda seed: Residual(0.9, svd_solver="full"),
    "kNN": lambda seed: NearestNeighbour(n_neighbors=5),
    "IsolationForest": lambda seed: IsolationForest(random_state=seed),
}


def detection(n_rows, seed, methods):
    """Share of faulty rows found, by method (rows) and kind; and the seconds of each fit."""
    warnings.simplefilter("ignore")
    plant = Plant(seed)
    train, fresh = plant.normal(n_rows), plant.normal(N_NORMAL)
    faults = [np.vstack([plant.faulty(kind, N_FAULTY) for _ in range(N_PLACES)]) for kind in KINDS]
    scaler, found = StandardScaler().fit(train), []
    for name in methods:
        began = time.perf_counter()
        model = METHODS[name](seed).fit(scaler.transform(train))
        seconds = time.perf_counter() - began
        threshold = np.quantile(model.score_samples(scaler.transform(fresh)), RATE)
        shares = [np.mean(model.score_samples(scaler.transform(rows)) < threshold) for rows in faults]
        found.append([*shares, seconds])
    return found


def arguments(parser):
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--rows", type=int, nargs="+", default=[500, 5000])


def measure(options):
    seeds = 2 if options.quick else options.seeds
    for n_rows in options.rows:
        found = np.array(Parallel(n_jobs=-1)(delayed(detection)(n_rows, seed, list(METHODS)) for seed in range(seeds)))
        for j, kind in enumerate(KINDS):
            means = {name: round(float(found[:, i, j].mean()), 3) for i, name in enumerate(METHODS)}
            yield {"rows": n_rows, "fault": kind, **means, "our fit, s": float(found[:, 0, -1].mean())}


def draw(rows):
    figure, panels = axes(len({row["rows"] for row in rows}), width=4.6, height=3.6, sharey=True)
    for panel, n_rows in zip(panels, sorted({row["rows"] for row in rows}), strict=True):
        shown = [row for row in rows if row["rows"] == n_rows]
        for i, (colour, name) in enumerate(zip((*COLOURS, "#000000"), METHODS, strict=False)):
            panel.plot([row[name] for row in shown], range(len(KINDS)), "o", color=colour, label=name, zorder=3 - i / 9)
        panel.set_yticks(range(len(KINDS)), KINDS)
        panel.set_xlabel("share of faulty rows found")
        panel.set_title(f"{n_rows} rows")
    figure.legend(*panels[0].get_legend_handles_labels(), frameon=False, ncols=4, loc="outside upper center")
    return figure


if __name__ == "__main__":
    main(sys.modules[__name__], arguments)
