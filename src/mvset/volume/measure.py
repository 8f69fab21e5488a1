"""The volume of a set and its standard error, from a sample of weighted points.

`box` and `importance` draw the points and return a :class:`VolumeSample`; every set is then measured by the same sums
over the points inside it.
"""

from dataclasses import dataclass, field
from numbers import Integral

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri, stdtrit

from mvset.values import Array, ArrayValue, Flags, Indices, array_rule

UNMEASURED = "none"  # method of a sample without points
_FEWEST_POINTS = 10.0  # effective sample size of a volume that is worth printing


@dataclass(frozen=True)
class VolumeEstimate:
    """A Monte Carlo volume.

    Attributes
    ----------
    value : float
        The estimate; infinite past the range of float64. ``float(estimate)`` gives it too.
    standard_error : float
        Its standard deviation over draws of the sample points.
    log_value : float
        Its logarithm, finite in any dimension; minus infinity when no point fell into the set.
    hits : int
        Number of sample points in the set.
    effective_sample_size : float
        Number of equally weighted points in the set that would give the same standard error. A volume that rests on
        few is unreliable.
    method : str
        How the points were drawn.

        - "box": uniformly in the box around the rows, which gives the volume of the part of the set inside the box.
        - "importance": from a distribution adapted to the set, inside that box enlarged by half.
        - "none": there are too many columns to measure volumes; value, error and logarithm are NaN.

    Examples
    --------
    >>> from mvset import MinimumVolumeSet
    >>> from mvset.paper.datasets import paper_mixture
    >>> X = paper_mixture(n_features=8).sample(500, random_state=0)
    >>> volume = MinimumVolumeSet(random_state=0).fit(X).volume_
    >>> volume.method, volume.hits > 1000
    ('importance', True)
    >>> volume.standard_error < 0.03 * float(volume)
    True
    """

    value: float
    standard_error: float
    log_value: float
    hits: int
    effective_sample_size: float
    method: str

    def __float__(self) -> float:
        return self.value

    def __format__(self, spec: str) -> str:
        return format(self.value, spec) if spec else str(self)

    @property
    def is_measured(self) -> bool:
        """Whether the volume rests on enough points to be more than a guess."""
        return self.effective_sample_size >= _FEWEST_POINTS

    def __str__(self) -> str:
        return f"{self.value:.4g} ± {self.standard_error:.2g}" if self.is_measured else "not measured"


@dataclass(frozen=True, eq=False)
class VolumeSample(ArrayValue):
    """Weighted points: the volume of a set is the sum of the weights of the points inside it.

    The points form `n_replicates` consecutive blocks of equal length, drawn independently of each other; the spread of
    their sums gives the standard error. Independent points are blocks of one. `method` says how they were drawn. They
    may come from several draws, also consecutive and of equal length, of which each adapted to the set by itself: where
    these differ by more than their points explain, one has missed part of the set, and the standard error says so.
    """

    points: Array
    log_weights: Array = field(metadata=array_rule(1, infinite=True))
    n_replicates: int
    method: str
    n_draws: int = 1

    def _check(self) -> None:
        n_points = len(self.log_weights)
        self._require((self.log_weights < np.inf).all(), ".log_weights must be less than infinity.")
        plane = isinstance(self.points, np.ndarray) and self.points.ndim == 2
        self._require(plane, ".points must be an array of two dimensions.")
        n_given = len(self.points)
        self._require(n_given in (0, n_points), f" must have a weight for each of {n_given} points; has {n_points}.")
        for name in ("n_replicates", "n_draws"):
            n = getattr(self, name)
            divides = isinstance(n, Integral) and int(n) >= 1 and not n_points % int(n)
            self._require(divides, f".{name} must divide {n_points} points; got {n!r}.")
        self._require(isinstance(self.method, str), f".method must be a string; got {self.method!r}.")

    def scaled_weights(self) -> tuple[float, Array]:
        """The logarithm of the largest weight, and the weights divided by it."""
        highest = float(self.log_weights.max(initial=-np.inf))
        log_scale = highest if np.isfinite(highest) else 0.0  # all weights are zero
        return log_scale, np.exp(self.log_weights - log_scale)


@dataclass(frozen=True, eq=False)
class Volumes(ArrayValue):
    """Volumes of several sets and their standard errors, in units of exp(`log_scale`)."""

    log_scale: float
    values: Array
    standard_errors: Array
    hits: Indices
    effective_sample_sizes: Array
    combination: float  # Σ_j coefficients_j values_j: the area under a curve of volumes
    combination_error: float
    method: str

    @property
    def log_values(self) -> Array:
        """Logarithms of the volumes; minus infinity where no point fell into the set."""
        with np.errstate(divide="ignore"):
            return np.asarray(self.log_scale + np.log(self.values))

    def scaled(self, value: ArrayLike) -> Array:
        """Convert a volume or error from units of exp(`log_scale`); infinite past the range of float64."""
        with np.errstate(divide="ignore", over="ignore"):
            return np.asarray(np.exp(self.log_scale + np.log(value)))

    def estimate(self, j: int) -> VolumeEstimate:
        """Volume of the j-th set."""
        if self.method == UNMEASURED:
            return VolumeEstimate(np.nan, np.nan, np.nan, 0, 0.0, self.method)
        return VolumeEstimate(
            value=float(self.scaled(self.values[j])),
            standard_error=float(self.scaled(self.standard_errors[j])),
            log_value=float(self.log_values[j]),
            hits=int(self.hits[j]),
            effective_sample_size=float(self.effective_sample_sizes[j]),
            method=self.method,
        )


def no_sample(n_columns: int) -> VolumeSample:
    """A sample without points, where nothing can be measured."""
    return VolumeSample(np.empty((0, n_columns)), np.empty(0), 1, UNMEASURED)


def measure(sample: VolumeSample, inside: Flags, coefficients: ArrayLike = ()) -> Volumes:
    r"""Volumes of the sets given by the columns of `inside`, and the linear combination of them by `coefficients`.

    With :math:`V_r` the sum over the r-th of R replicates, the volume is :math:`V = \sum_r V_r` and its variance
    :math:`\frac{1}{R-1} (R \sum_r V_r^2 - V^2)`. Few replicates estimate this variance badly: the standard error is
    multiplied by the ratio of the 97.5 % quantiles of Student's t and the normal distribution, so that ± 1.96 standard
    errors are a 95 % interval for any R. With several draws it is the larger of the errors over replicates and draws.
    """
    log_scale, weights = sample.scaled_weights()
    coefficients = np.asarray(coefficients if np.size(coefficients) else np.zeros(inside.shape[1]))
    weighted = weights[:, np.newaxis] * inside
    hits = np.count_nonzero(weighted, axis=0)
    squares = np.einsum("ij,ij->j", weighted, weighted)
    weighted = np.column_stack([weighted, weighted @ coefficients])
    values = weighted.sum(axis=0)
    # A set with no hit, or with all points inside, has no spread: its error is at least the weight of one point.
    least_errors = np.where(hits > 0, weights.min(initial=1.0, where=weights > 0), 1.0)
    errors = np.append(least_errors, least_errors.max() * np.abs(coefficients).sum())
    for n_blocks in {sample.n_replicates, sample.n_draws} - {1}:
        errors = np.maximum(_block_errors(weighted, values, n_blocks), errors)
    with np.errstate(invalid="ignore"):
        effective = np.where(hits > 0, values[:-1] ** 2 / squares, 0.0)
    return Volumes(
        log_scale, values[:-1], errors[:-1], hits, effective, float(values[-1]), float(errors[-1]), sample.method
    )


def _block_errors(weighted: Array, values: Array, n_blocks: int) -> Array:
    """Standard errors of the sums of the columns, from the spread over consecutive blocks of rows."""
    blocks = weighted if n_blocks == len(weighted) else weighted.reshape(n_blocks, -1, weighted.shape[1]).sum(axis=1)
    variances = (n_blocks * np.einsum("ij,ij->j", blocks, blocks) - values**2) / (n_blocks - 1)
    student_factor = stdtrit(n_blocks - 1, 0.975) / ndtri(0.975)
    return np.asarray(student_factor * np.sqrt(np.maximum(variances, 0.0)))


def inside_sets(scores: Array, offsets: ArrayLike) -> Flags:
    """Whether each point (row) is in the set of each offset (column): score >= offset."""
    return np.asarray(scores[:, np.newaxis] >= np.atleast_1d(offsets))


def log_volumes_at(sample: VolumeSample, scores: Array, offsets: Array) -> Array:
    """Logarithms of the volumes of {score >= offset} for many offsets; an empty set counts as its best single point."""
    descending = np.argsort(-scores)
    log_scale, weights = sample.scaled_weights()
    cumulated = np.cumsum(weights[descending])
    inside = np.searchsorted(-scores[descending], -offsets, side="right")
    return np.asarray(log_scale + np.log(np.maximum(cumulated[np.maximum(inside, 1) - 1], np.finfo(float).tiny)))
