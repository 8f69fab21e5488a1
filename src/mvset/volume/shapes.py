"""Shapes that the proposal distribution of importance sampling is built of.

A shape draws uniform points at any scale, and it tells which of its scales contain a given point. For ellipsoids and
boxes one number answers that, the smallest scale that contains the point. For balls around many rows the answer is, for
each scale, the fraction of the balls that contain the point.
"""

from dataclasses import dataclass
from typing import Protocol, Self

import numpy as np
from scipy.spatial.distance import cdist
from scipy.special import gammaln

from mvset.values import Array, Indices, cached_property


class Coverage(Protocol):
    """For each point, c_j: the fraction of the shape's parts that contain it at the j-th scale (0 or 1 if convex)."""

    def log_density(self, log_heights: Array) -> Array:
        """Logarithm of Σ_j exp(log_heights_j) c_j at each point."""

    def covered_weight(self, weights: Array) -> Array:
        """For each scale, Σ_i weights_i c_ij over the points i."""


class Shape(Protocol):
    """What the proposal distribution needs from a shape."""

    @property
    def log_volume(self) -> float:
        """Logarithm of the volume at scale one."""

    @property
    def dimension(self) -> int:
        """Number of columns: the volume grows with this power of the scale."""

    def coverage(self, columns: Array, scales: Array) -> Coverage:
        """Coverage of the points, given as columns, by the shape at ascending scales."""

    def draw(self, scales: Array, rng: np.random.RandomState) -> Array:
        """One point for each scale, uniform in the shape at that scale."""


@dataclass(frozen=True)
class ConvexCoverage:
    """Index of the first of `n_scales` scales that contains each point; `n_scales` if none does."""

    first_scale: Indices
    n_scales: int

    @classmethod
    def from_gauges(cls, gauges: Array, scales: Array) -> Self:
        """Coverage from the gauge of each point: the scale at which the point lies on the surface."""
        return cls(np.searchsorted(scales, gauges), len(scales))

    def log_density(self, log_heights: Array) -> Array:
        """Logarithm of the density. A point lies in every scale from its first one on."""
        sums = np.logaddexp.accumulate(log_heights[::-1])[::-1]
        return np.append(sums, -np.inf)[self.first_scale]

    def covered_weight(self, weights: Array) -> Array:
        """For each scale, the sum of the weights of the points inside."""
        return np.bincount(self.first_scale, weights, self.n_scales + 1)[: self.n_scales].cumsum()


@dataclass(frozen=True)
class BallCoverage:
    """Fraction of the balls that contain each point (rows) at each scale (columns)."""

    fractions: Array

    def log_density(self, log_heights: Array) -> Array:
        """Logarithm of the density."""
        highest = log_heights.max()
        if np.isneginf(highest):  # all weights are zero
            return np.full(len(self.fractions), -np.inf)
        with np.errstate(divide="ignore"):
            return np.asarray(highest + np.log(self.fractions @ np.exp(log_heights - highest)))

    def covered_weight(self, weights: Array) -> Array:
        """For each scale, the sum of the weights of the points times the fraction of balls that contain them."""
        return np.asarray(weights @ self.fractions)


def _log_unit_ball(d: int) -> float:
    return float(0.5 * d * np.log(np.pi) - gammaln(0.5 * d + 1.0))


def _draw_in_ball(radii: Array, d: int, rng: np.random.RandomState) -> Array:
    """One point for each radius, uniform in the ball: a random direction, and a length whose d-th power is uniform."""
    directions = rng.normal(size=(len(radii), d))
    lengths = radii * rng.uniform(size=len(radii)) ** (1.0 / d) / np.linalg.norm(directions, axis=1)
    return np.asarray(directions * lengths[:, np.newaxis])


@dataclass(frozen=True)
class Ellipsoid:
    """The points centre + factor z with |z| <= 1; factor factorᵀ is its shape matrix."""

    centre: Array
    factor: Array  # lower triangular

    @cached_property
    def inverse(self) -> Array:
        """Inverse of the factor."""
        return np.asarray(np.linalg.inv(self.factor))

    @cached_property
    def log_volume(self) -> float:
        """Logarithm of the volume."""
        return _log_unit_ball(len(self.centre)) + float(np.log(np.diag(self.factor)).sum())

    @property
    def dimension(self) -> int:
        """Number of columns."""
        return len(self.centre)

    def whitened(self, columns: Array) -> Array:
        """The points, as columns, in coordinates in which the ellipsoid is the unit ball."""
        whitened = self.inverse @ columns
        whitened -= (self.inverse @ self.centre)[:, np.newaxis]
        return np.asarray(whitened)

    def gauge(self, columns: Array) -> Array:
        """Scale at which each point lies on the surface."""
        whitened = self.whitened(columns)
        return np.asarray(np.sqrt(np.einsum("ij,ij->j", whitened, whitened)))

    def coverage(self, columns: Array, scales: Array) -> Coverage:
        """Coverage of the points at each scale."""
        return ConvexCoverage.from_gauges(self.gauge(columns), scales)

    def draw(self, scales: Array, rng: np.random.RandomState) -> Array:
        """One point for each scale, uniform in the scaled ellipsoid."""
        return np.asarray(self.centre + _draw_in_ball(scales, len(self.centre), rng) @ self.factor.T)


@dataclass(frozen=True)
class Box:
    """The points within `half` of the centre in every column."""

    centre: Array
    half: Array

    @classmethod
    def around(cls, points: Array) -> Self:
        """Smallest box that contains the points."""
        low, high = points.min(axis=0), points.max(axis=0)
        return cls(0.5 * (low + high), np.maximum(0.5 * (high - low), np.finfo(float).tiny))

    @cached_property
    def log_volume(self) -> float:
        """Logarithm of the volume."""
        return float(np.log(2.0 * self.half).sum())

    @property
    def dimension(self) -> int:
        """Number of columns."""
        return len(self.centre)

    def gauge(self, columns: Array) -> Array:
        """Scale at which each point lies on the surface."""
        return np.asarray(np.abs((columns - self.centre[:, np.newaxis]) / self.half[:, np.newaxis]).max(axis=0))

    def coverage(self, columns: Array, scales: Array) -> Coverage:
        """Coverage of the points at each scale."""
        return ConvexCoverage.from_gauges(self.gauge(columns), scales)

    def draw(self, scales: Array, rng: np.random.RandomState) -> Array:
        """One point for each scale, uniform in the scaled box."""
        unit = rng.uniform(-1.0, 1.0, size=(len(scales), len(self.centre)))
        return np.asarray(self.centre + self.half * unit * scales[:, np.newaxis])


_CHUNK = 256  # points whose distances to all centres are computed together: they stay in the second-level cache


@dataclass(frozen=True)
class Balls:
    """Equal balls around many centres, in coordinates multiplied by `units`; the scale is their radius.

    A draw is uniform in a ball chosen at random, so the density is higher where balls overlap.
    """

    centres: Array
    units: Array

    @cached_property
    def log_volume(self) -> float:
        """Logarithm of the volume of one ball, in the coordinates of the centres."""
        return _log_unit_ball(len(self.units)) - float(np.log(self.units).sum())

    @property
    def dimension(self) -> int:
        """Number of columns."""
        return len(self.units)

    def coverage(self, columns: Array, scales: Array) -> Coverage:
        """Fraction of the balls that contain each point, at each scale."""
        points, centres = columns.T * self.units, self.centres * self.units
        counts = np.empty((len(points), len(scales)))
        for start in range(0, len(points), _CHUNK):
            chunk = slice(start, start + _CHUNK)
            squared = cdist(centres, points[chunk], "sqeuclidean")
            for j, radius in enumerate(scales):
                counts[chunk, j] = np.add.reduce((squared <= radius**2).view(np.uint8), axis=0, dtype=np.uint16)
        return BallCoverage(counts / len(centres))

    def draw(self, scales: Array, rng: np.random.RandomState) -> Array:
        """One point for each scale, uniform in one of the balls of that radius."""
        centres = self.centres[rng.randint(len(self.centres), size=len(scales))]
        return np.asarray(centres + _draw_in_ball(scales, len(self.units), rng) / self.units)
