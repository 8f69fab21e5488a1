"""The methods compared in the experiments, and the distance of their sets to the true set."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import ArrayLike

from mvset.estimators.minimum_volume_set import MinimumVolumeSet
from mvset.estimators.one_class_svm import OneClassSVM
from mvset.paper.calibrated_one_class_svm import CalibratedOneClassSVM
from mvset.paper.datasets import GaussianMixtureWithOutliers as Mixture
from mvset.paper.datasets import paper_mixture
from mvset.paper.experiments.summary import Row, where
from mvset.values import Array, Flags
from mvset.volume.measure import measure
from mvset.volume.sampler import VolumeSampler

MASS = 0.95
_BOX_POINTS = 2**16  # sample points for a symmetric difference in two or three dimensions
_POINTS = 20_000  # sample points in more dimensions
_FEW_POINTS = 4000  # sample points of models whose volume is not used

Set = Callable[[Array], Flags]
Models = Mapping[str, Sequence[Any]]  # by method
Methods = Mapping[str, "Method"]

# Cached, since a mixture draws a million points for its thresholds.
true_mixture: Callable[..., Mixture] = cache(paper_mixture)


@dataclass(frozen=True)
class Method:
    """How figures and tables show a method."""

    name: str
    colour: str
    linestyle: str = "-"


def ours(X: ArrayLike, sigmas: ArrayLike | Literal["auto"], n_splits: int, seed: int) -> CalibratedOneClassSVM:
    """Fit the paper's method: with the smallest area of several bandwidths, or at a single one."""
    n_points = _FEW_POINTS if np.ndim(sigmas) == 0 and not isinstance(sigmas, str) else 10_000
    model = CalibratedOneClassSVM(MASS, sigmas=sigmas, n_splits=n_splits, n_volume_points=n_points, random_state=seed)
    return cast(CalibratedOneClassSVM, model.fit(X))


def shipped(X: ArrayLike, seed: int) -> MinimumVolumeSet:
    """Fit the library's own estimator with its defaults."""
    return cast(MinimumVolumeSet, MinimumVolumeSet(MASS, random_state=seed).fit(X))


def one_class_svm(X: ArrayLike, sigma: float, mass: float = MASS, tol: float = 1e-3) -> OneClassSVM:
    """Fit the paper's baseline at one bandwidth: a one-class SVM with ν = 1-α."""
    return cast(OneClassSVM, OneClassSVM(nu=1.0 - mass, sigma=sigma, tol=tol).fit(X))


def inside(model: Any, **mass: float) -> Set:
    """Return the indicator function of the set of a fitted model, or of its nested set of another mass."""
    return lambda points: np.asarray(model.predict(points, **mass) == 1)


def differences(mixture: Mixture, X: Array, sets: Sequence[Set], seed: int, mass: float = MASS) -> Array:
    """Return the volume of the symmetric difference of each set and the true set, and its standard error, as columns.

    The unit is the volume of the true set. The paper uses uniform points in the bounding box of the rows. Here the box
    also contains a thousand further draws, because the true set may extend beyond the rows. In more than three
    dimensions, importance sampling for the union of all sets replaces the box.
    """
    rng = np.random.RandomState([seed, 1])  # independent of the draw of the rows

    def true(points: Array) -> Flags:
        return mixture.contains(points, mass)

    def union(points: Array) -> Flags:
        return np.asarray(np.any([each(points) for each in (true, *sets)], axis=0))

    around = np.vstack([X, mixture.sample(1000, rng)])
    few = X.shape[1] <= 3
    sampler = VolumeSampler("box" if few else "importance", around, _BOX_POINTS if few else _POINTS, rng)
    sample = sampler.draw(union)
    marked = np.column_stack([each(sample.points) for each in sets]) ^ true(sample.points)[:, np.newaxis]
    found = measure(sample, marked)
    unit = np.exp(found.log_scale - mixture.volume(mass).log_value)
    return np.column_stack([unit * found.values, unit * found.standard_errors])


def distances(mixture: Mixture, X: Array, models: Models, seed: int) -> list[Row]:
    """Return one row per model with its distance to the true set."""
    flat = [(method, model) for method, several in models.items() for model in several]
    found = differences(mixture, X, [inside(model) for _, model in flat], seed).tolist()
    return [
        {"method": method, "sigma": float(model.sigma_), "difference": difference, "standard_error": error}
        for (method, model), (difference, error) in zip(flat, found, strict=True)
    ]


def best_distances(mixture: Mixture, X: Array, models: Models, seed: int) -> list[Row]:
    """Return one row per method; of several models, the row with the smallest distance."""
    rows = distances(mixture, X, models, seed)
    return [min(where(rows, method=method), key=lambda row: row["difference"]) for method in models]


def compared(task: Row, n_rows: int, sigmas: Array, n_splits: Mapping[str, int], **mixture: float) -> list[Row]:
    """Return distances: the OCSVM at its best bandwidth, ours with given numbers of splits, and ours as shipped."""
    seed, true = int(task["repetition"]), true_mixture(**mixture)
    X = true.sample(n_rows, random_state=seed)
    models: dict[str, list[Any]] = {"ocsvm": [one_class_svm(X, sigma) for sigma in sigmas]}
    models |= {method: [ours(X, sigmas, n, seed)] for method, n in n_splits.items()}
    return best_distances(true, X, {**models, "shipped": [shipped(X, seed)]}, seed)
