"""Bodies that importance sampling is built of: uniform draws from any scaling of them, and where points lie in it.

A point's place in a body says which scales of the body hold it. For ellipsoids and boxes that is one number, the first
scale that does; for the cover, balls around many rows, it is the share of the balls, scale by scale.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from mvset.volume.gauges import count_balls, ellipsoid_gauges

Array = NDArray[np.float64]


class Place(Protocol):
    """Where points lie in a body: c_j, the share of the body at its j-th scale that holds the point, 0 or 1 mostly."""

    def log_density(self, log_heights: Array) -> Array:
        """Logarithm of Σ_j exp(log_heights_j) c_j at each point."""

    def held(self, worth: Array) -> Array:
        """Per scale, the sum of worth c_j over the points."""


class Body(Protocol):
    """What a proposal needs to know of a body."""

    @property
    def log_volume(self) -> float:
        """Logarithm of the volume of the body at scale one."""

    @property
    def dimension(self) -> int:
        """Number of columns: the volume grows with this power of the scale."""

    def place(self, columns: Array, scales: Array) -> Place:
        """Where each point, a column, lies relative to ascending scales."""

    def draw(self, scales: Array, rng: np.random.RandomState) -> Array:
        """One point, uniform in the body at each scale."""


@dataclass(frozen=True)
class GaugePlace:
    """Place in a convex body: the first of `n_scales` that holds each point, or `n_scales` when none does."""

    ranks: NDArray[np.intp]
    n_scales: int

    @classmethod
    def of(cls, gauges: Array, scales: Array) -> GaugePlace:
        """From the gauge of each point: the scale at which it lies on the surface."""
        return cls(np.searchsorted(scales, gauges), len(scales))

    def log_density(self, log_heights: Array) -> Array:
        """Logarithm of the density. A point is held by every scale from its rank on."""
        steps = np.logaddexp.accumulate(log_heights[::-1])[::-1]
        return np.append(steps, -np.inf)[self.ranks]

    def held(self, worth: Array) -> Array:
        """Per scale, the worth of the points in it."""
        return np.bincount(self.ranks, worth, self.n_scales + 1)[: self.n_scales].cumsum()


@dataclass(frozen=True)
class CoverPlace:
    """Place among many balls: the share of them that holds each point (rows), scale by scale (columns)."""

    shares: Array

    def log_density(self, log_heights: Array) -> Array:
        """Logarithm of the density."""
        highest = log_heights.max()
        if np.isneginf(highest):  # no weight on any scale
            return np.full(len(self.shares), -np.inf)
        with np.errstate(divide="ignore"):
            return np.asarray(highest + np.log(self.shares @ np.exp(log_heights - highest)))

    def held(self, worth: Array) -> Array:
        """Per scale, the worth of the points times the share of balls that hold them."""
        return np.asarray(worth @ self.shares)


def _log_unit_ball(d: int) -> float:
    return float(0.5 * d * np.log(np.pi) - gammaln(0.5 * d + 1.0))


def _draw_in_ball(scales: Array, d: int, rng: np.random.RandomState) -> Array:
    """One point, uniform in the ball of each radius: a random direction, and a length whose d-th power is uniform."""
    directions = rng.normal(size=(len(scales), d))
    lengths = scales * rng.uniform(size=len(scales)) ** (1.0 / d) / np.linalg.norm(directions, axis=1)
    return np.asarray(directions * lengths[:, np.newaxis])


@dataclass(frozen=True)
class Ellipsoid:
    """The points centre + factor z with |z| <= 1, so that factor factorᵀ is its matrix of shape."""

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

    def whitened(self, points: Array) -> Array:
        """The points in coordinates in which the ellipsoid is the unit ball."""
        return np.asarray((points - self.centre) @ self.inverse.T)

    def gauge(self, columns: Array) -> Array:
        """Scale at which each point lies on the surface."""
        gauges = np.empty(columns.shape[1])
        ellipsoid_gauges(columns, self.centre, self.inverse, gauges)
        return gauges

    def place(self, columns: Array, scales: Array) -> Place:
        """Where each point lies."""
        return GaugePlace.of(self.gauge(columns), scales)

    def draw(self, scales: Array, rng: np.random.RandomState) -> Array:
        """One point, uniform in the ellipsoid at each scale."""
        return np.asarray(self.centre + _draw_in_ball(scales, len(self.centre), rng) @ self.factor.T)


@dataclass(frozen=True)
class Box:
    """The points within `half` of the centre in every column."""

    centre: Array
    half: Array

    @classmethod
    def around(cls, points: Array) -> Box:
        """Smallest box that holds the points."""
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

    def place(self, columns: Array, scales: Array) -> Place:
        """Where each point lies."""
        return GaugePlace.of(self.gauge(columns), scales)

    def draw(self, scales: Array, rng: np.random.RandomState) -> Array:
        """One point, uniform in the box at each scale."""
        unit = rng.uniform(-1.0, 1.0, size=(len(scales), len(self.centre)))
        return np.asarray(self.centre + self.half * unit * scales[:, np.newaxis])


@dataclass(frozen=True)
class Cover:
    """Equal balls around many centres, in coordinates multiplied by `units`: ellipsoids in those of the centres.

    A draw is uniform in a ball chosen at random, so that where balls overlap the density is higher.
    """

    centres: Array
    units: Array

    @cached_property
    def log_volume(self) -> float:
        """Logarithm of the volume of one ball."""
        return _log_unit_ball(len(self.units)) - float(np.log(self.units).sum())

    @property
    def dimension(self) -> int:
        """Number of columns."""
        return len(self.units)

    def place(self, columns: Array, scales: Array) -> Place:
        """Where each point lies."""
        counts = np.empty((columns.shape[1], len(scales)))
        scaled = np.ascontiguousarray(columns * self.units[:, np.newaxis])
        count_balls(scaled, self.centres * self.units, scales**2, counts)
        return CoverPlace(counts / len(self.centres))

    def draw(self, scales: Array, rng: np.random.RandomState) -> Array:
        """One point, uniform in one of the balls at each scale."""
        centres = self.centres[rng.randint(len(self.centres), size=len(scales))]
        return np.asarray(centres + _draw_in_ball(scales, len(self.units), rng) / self.units)
