"""Sets of known volume, and samples of rows from distributions around them."""

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln, logsumexp
from scipy.stats import chi2, norm


@dataclass
class Ball:
    centre: np.ndarray
    radius: float

    def contains(self, points):
        return ((points - self.centre) ** 2).sum(axis=1) <= self.radius**2

    @property
    def log_volume(self):
        d = len(self.centre)
        return 0.5 * d * np.log(np.pi) - gammaln(0.5 * d + 1) + d * np.log(self.radius)


@dataclass
class Linear:
    """The image of another set under a matrix."""

    shape: Ball
    matrix: np.ndarray

    def contains(self, points):
        return self.shape.contains(np.linalg.solve(self.matrix, points.T).T)

    @property
    def log_volume(self):
        return self.shape.log_volume + np.linalg.slogdet(self.matrix)[1]


@dataclass
class Cube:
    d: int
    half: float

    def contains(self, points):
        return (np.abs(points) <= self.half).all(axis=1)

    @property
    def log_volume(self):
        return self.d * np.log(2 * self.half)


@dataclass
class Union:
    """Union of disjoint sets."""

    parts: list

    def contains(self, points):
        return np.any([part.contains(points) for part in self.parts], axis=0)

    @property
    def log_volume(self):
        return logsumexp([part.log_volume for part in self.parts])


def closed_form(name, d, seed, n_rows=500):
    """Rows, and a set of known volume with mass 0.95 under their distribution (mass one for "box")."""
    rng = np.random.default_rng([seed, d])
    radius = np.sqrt(chi2.ppf(0.95, d))
    ball = Ball(np.zeros(d), radius)
    X = rng.normal(size=(n_rows, d))
    if name == "ball":
        return X, ball
    if name == "box":
        return rng.uniform(-1, 1, size=(n_rows, d)), Cube(d, 1.0)
    if name == "box of a Gaussian":
        return X, Cube(d, norm.ppf(0.5 + 0.5 * 0.95 ** (1 / d)))
    if name == "ellipsoid":  # condition number of the covariance: 100; random orientation
        rotation = np.linalg.qr(rng.normal(size=(d, d)))[0]
        matrix = rotation * np.geomspace(0.1, 1.0, d)
        return X @ matrix.T, Linear(ball, matrix)
    if name == "needle":  # condition number 10 000
        rotation = np.linalg.qr(rng.normal(size=(d, d)))[0]
        matrix = rotation * np.geomspace(0.01, 1.0, d)
        return X @ matrix.T, Linear(ball, matrix)
    if name == "two components":
        shift = np.where(rng.uniform(size=(n_rows, 1)) < 0.5, 0.0, 10.0)
        return X + shift, Union([ball, Ball(np.full(d, 10.0), radius)])
    if name == "eight components":
        centres = 20 * rng.normal(size=(8, d))
        return X + centres[rng.integers(8, size=n_rows)], Union([Ball(centre, radius) for centre in centres])
    raise ValueError(name)
