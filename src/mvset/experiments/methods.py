"""What the experiments compare: the paper's method, its baseline, and the distance of their sets to the true one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mvset import BandwidthCurve, MinimumVolumeSet, OneClassSVM, PluginKernelDensity
from mvset.bandwidth.choice import describes_masses
from mvset.datasets import GaussianMixtureWithOutliers, paper_mixture
from mvset.experiments.plan import Row
from mvset.volume.measure import measure
from mvset.volume.sampler import VolumeSampler

MASS = 0.95
_BOX_POINTS = 2**16  # that measure a difference in the plane
_POINTS = 20_000  # in more dimensions
_UNMEASURED = 4000  # points for the volume of a set whose volume nobody asks for

Set = Callable[[NDArray[np.float64]], NDArray[np.bool_]]

true_mixture: Callable[..., GaussianMixtureWithOutliers] = cache(paper_mixture)  # its levels take a million draws


def fixed(X: ArrayLike, sigma: float, n_splits: int, seed: int) -> MinimumVolumeSet:
    """The paper's method at one bandwidth."""
    model = MinimumVolumeSet(
        MASS, sigma=sigma, n_splits=n_splits, volume_method="box", n_volume_points=_UNMEASURED, random_state=seed
    )
    model.fit(X)
    return model


def least_area(curves: Sequence[BandwidthCurve]) -> BandwidthCurve:
    """The paper's choice: least area under the curve, among bandwidths that meet its condition on ν."""
    return min((c for c in curves if describes_masses(c.training_mass, c.masses)), key=lambda curve: curve.area)


def selected(X: ArrayLike, sigmas: Any, n_splits: int, seed: int) -> MinimumVolumeSet:
    """The paper's method: the bandwidth of the least area among the candidates, the same splits throughout."""
    tried = MinimumVolumeSet(MASS, sigma=sigmas, n_splits=n_splits, random_state=seed).fit(X)
    return fixed(X, least_area(tried.curves_).sigma, n_splits, seed)


def one_class_svm(X: ArrayLike, sigma: float, mass: float = MASS, tol: float = 1e-3) -> OneClassSVM:
    """The paper's baseline at one bandwidth: ν = 1-α."""
    svm = OneClassSVM(nu=1.0 - mass, sigma=sigma, tol=tol)
    svm.fit(X)
    return svm


def plug_in(X: ArrayLike, sigmas: ArrayLike, seed: int) -> PluginKernelDensity:
    """The paper's other baseline."""
    model = PluginKernelDensity(MASS, sigma=sigmas, volume_method="box", n_volume_points=_UNMEASURED, random_state=seed)
    model.fit(X)
    return model


def inside(model: Any) -> Set:
    """The set of a fitted model."""
    return lambda points: np.asarray(model.predict(points) == 1)


def differences(
    mixture: GaussianMixtureWithOutliers, X: NDArray[np.float64], sets: Sequence[Set], seed: int, mass: float = MASS
) -> list[tuple[float, float]]:
    """Measure of the symmetric difference of each set to the true one, over the true volume, with its standard error.

    Paper: uniform points in the box around the rows. Differences: the box around the rows and a thousand further draws,
    since the true set may leave the former; beyond three dimensions, importance sampling for the union of all sets.
    """
    rng = np.random.RandomState([seed, 1])  # not the state that drew the rows
    log_level = mixture.log_level(mass)

    def true(points: NDArray[np.float64]) -> NDArray[np.bool_]:
        return mixture.log_density(points) >= log_level

    def union(points: NDArray[np.float64]) -> NDArray[np.bool_]:
        return np.asarray(np.any([true(points), *(each(points) for each in sets)], axis=0))

    around = np.vstack([X, mixture.sample(1000, rng)])
    few = X.shape[1] <= 3
    source = VolumeSampler("box", around, _BOX_POINTS, rng) if few else VolumeSampler("importance", around, _POINTS, rng)
    probe = source.draw(union)
    marked = np.column_stack([each(probe.points) for each in sets]) ^ true(probe.points)[:, np.newaxis]
    found = measure(probe, marked)
    unit = np.exp(found.log_scale - mixture.volume(mass).log_value)
    return [(float(unit * v), float(unit * e)) for v, e in zip(found.values, found.standard_errors, strict=True)]


def distances(
    mixture: GaussianMixtureWithOutliers, X: NDArray[np.float64], models: Mapping[str, Sequence[Any]], seed: int
) -> list[Row]:
    """One row for each method, with its distance to the true set; of several models the one that is best by it."""
    flat = [(method, model) for method, several in models.items() for model in several]
    found = differences(mixture, X, [inside(model) for _, model in flat], seed)
    rows: list[Row] = [
        {"method": method, "sigma": model.sigma_, "difference": difference, "standard_error": error}
        for (method, model), (difference, error) in zip(flat, found, strict=True)
    ]
    return [min((row for row in rows if row["method"] == method), key=_difference) for method in models]


def _difference(row: Row) -> float:
    return float(row["difference"])
