"""The methods compared in the experiments, and the distance of their sets to the true set."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mvset.datasets import GaussianMixtureWithOutliers, paper_mixture
from mvset.estimators.minimum_volume_set import MinimumVolumeSet
from mvset.estimators.one_class_svm import OneClassSVM
from mvset.estimators.plugin_kernel_density import PluginKernelDensity
from mvset.experiments.plan import Row
from mvset.volume.measure import measure
from mvset.volume.sampler import VolumeSampler

MASS = 0.95
_BOX_POINTS = 2**16  # sample points for a symmetric difference in two or three dimensions
_POINTS = 20_000  # sample points in more dimensions
_FEW_POINTS = 4000  # sample points of models whose volume is not used

Set = Callable[[NDArray[np.float64]], NDArray[np.bool_]]

# Cached, since a mixture draws a million points for its thresholds.
true_mixture: Callable[..., GaussianMixtureWithOutliers] = cache(paper_mixture)


def fixed(X: ArrayLike, sigma: float, n_splits: int, seed: int) -> MinimumVolumeSet:
    """Fit the paper's method at one bandwidth."""
    model = MinimumVolumeSet(
        MASS,
        sigma=sigma,
        splits=n_splits,
        calibration="paper",
        volume_method="box",
        n_volume_points=_FEW_POINTS,
        random_state=seed,
    )
    model.fit(X)
    return model


def selected(X: ArrayLike, sigmas: Any, n_splits: int, seed: int) -> MinimumVolumeSet:
    """Fit the paper's method, with the bandwidth of the least area."""
    model = MinimumVolumeSet(
        MASS, sigma=sigmas, splits=n_splits, calibration="paper", selection="area", random_state=seed
    )
    model.fit(X)
    return model


def one_class_svm(X: ArrayLike, sigma: float, mass: float = MASS, tol: float = 1e-3) -> OneClassSVM:
    """Fit the paper's baseline at one bandwidth: a one-class SVM with ν = 1-α."""
    svm = OneClassSVM(nu=1.0 - mass, sigma=sigma, tol=tol)
    svm.fit(X)
    return svm


def plug_in(X: ArrayLike, sigmas: ArrayLike, seed: int) -> PluginKernelDensity:
    """Fit the paper's other baseline, the plug-in kernel density estimate."""
    model = PluginKernelDensity(MASS, sigma=sigmas, volume_method="box", n_volume_points=_FEW_POINTS, random_state=seed)
    model.fit(X)
    return model


def inside(model: Any) -> Set:
    """Indicator function of the set of a fitted model."""
    return lambda points: np.asarray(model.predict(points) == 1)


def differences(
    mixture: GaussianMixtureWithOutliers, X: NDArray[np.float64], sets: Sequence[Set], seed: int, mass: float = MASS
) -> list[tuple[float, float]]:
    """Volume of the symmetric difference of each set and the true set, over the true volume, with standard errors.

    The paper uses uniform points in the bounding box of the rows. Here the box also contains a thousand further draws,
    because the true set may extend beyond the rows; in more than three dimensions, importance sampling for the union of
    all sets replaces the box.
    """
    rng = np.random.RandomState([seed, 1])  # independent of the draw of the rows
    log_threshold = mixture.log_threshold(mass)

    def true(points: NDArray[np.float64]) -> NDArray[np.bool_]:
        return mixture.log_density(points) >= log_threshold

    def union(points: NDArray[np.float64]) -> NDArray[np.bool_]:
        return np.asarray(np.any([true(points), *(each(points) for each in sets)], axis=0))

    around = np.vstack([X, mixture.sample(1000, rng)])
    few = X.shape[1] <= 3
    sampler = (
        VolumeSampler("box", around, _BOX_POINTS, rng) if few else VolumeSampler("importance", around, _POINTS, rng)
    )
    sample = sampler.draw(union)
    marked = np.column_stack([each(sample.points) for each in sets]) ^ true(sample.points)[:, np.newaxis]
    found = measure(sample, marked)
    unit = np.exp(found.log_scale - mixture.volume(mass).log_value)
    return [(float(unit * v), float(unit * e)) for v, e in zip(found.values, found.standard_errors, strict=True)]


def distances(
    mixture: GaussianMixtureWithOutliers, X: NDArray[np.float64], models: Mapping[str, Sequence[Any]], seed: int
) -> list[Row]:
    """One row per method with its distance to the true set; of several models, the one with the smallest distance."""
    flat = [(method, model) for method, several in models.items() for model in several]
    found = differences(mixture, X, [inside(model) for _, model in flat], seed)
    rows: list[Row] = [
        {"method": method, "sigma": model.sigma_, "difference": difference, "standard_error": error}
        for (method, model), (difference, error) in zip(flat, found, strict=True)
    ]
    return [min((row for row in rows if row["method"] == method), key=_difference) for method in models]


def _difference(row: Row) -> float:
    return float(row["difference"])
