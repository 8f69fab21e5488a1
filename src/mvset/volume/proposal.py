r"""The proposal distribution of importance sampling: a mixture of uniform distributions on scaled shapes.

Each shape k is used at several scales j. The density at x is
:math:`q(x) = \sum_{k,j} w_{kj}\, c_{kj}(x) / (r_{kj}^d V_k)`, with V_k the volume of shape k, r_{kj} its scales, and
c_{kj}(x) one if the shape at that scale contains x and zero otherwise. The target is the uniform distribution on a set.
A mixture of uniform distributions can be flat there, a mixture of Gaussians cannot: on a ball in fifty dimensions the
effective sample size is half the number of points.

Methods that adapt the mixture take points of the target set, drawn from the mixture. Their `target_weights`, with sum
one, are proportional to 1/q: the weighted points follow the uniform distribution on the set. `coverages` tell which
shapes and scales contain the points.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from mvset.values import Array, Indices, cached_property
from mvset.volume.shapes import Box, Coverage, Ellipsoid, Shape

Coverages = Sequence[Coverage]

N_SCALES = 20  # for each shape
_NEGLIGIBLE_WEIGHT = 1e-12  # of a shape that is not refitted: its moments are lost in rounding
_RIDGE = 1e-9  # relative, on the covariance of a refitted ellipsoid
N_DEFENSIVE = 2  # shapes that are never dropped
_MAX_SHAPES = 12  # kept after an adaptation round: more cost more time than they gain in accuracy
_MIN_WEIGHT = 2e-3  # of each defensive shape
_EM_STEPS = 4
_OUTWARD = 0.2  # fraction of the weight moved to the next larger scale, for parts of the set that no point has hit


@dataclass(frozen=True)
class Proposal:
    """The mixture: shapes, the ascending scales of each, and the weights of all scales, with sum one.

    The first `N_DEFENSIVE` shapes are defensive components and are never dropped: the box around the rows, so that the
    density is positive inside it, and balls around a few rows, so that it is not too small near any row.
    """

    shapes: Sequence[Shape]
    scales: Array  # (n_shapes, N_SCALES)
    weights: Array

    def draw(self, n_points: int, rng: np.random.RandomState) -> Array:
        """Independent points, ordered by shape and scale."""
        counts = rng.multinomial(n_points, self.weights.ravel() / self.weights.sum()).reshape(self.weights.shape)
        drawn = [
            shape.draw(np.repeat(scales, times), rng)
            for shape, scales, times in zip(self.shapes, self.scales, counts, strict=True)
        ]
        return np.concatenate(drawn)

    def coverages(self, points: Array) -> list[Coverage]:
        """Coverage of the points by each shape."""
        columns = np.ascontiguousarray(points.T)
        return [shape.coverage(columns, scales) for shape, scales in zip(self.shapes, self.scales, strict=True)]

    @cached_property
    def _log_volumes(self) -> Array:
        pairs = zip(self.shapes, self.scales, strict=True)
        return np.stack([shape.log_volume + shape.dimension * np.log(scales) for shape, scales in pairs])

    def _log_shape_densities(self, coverages: Coverages) -> Array:
        """Logarithm of the contribution of each shape to the density at each point."""
        with np.errstate(divide="ignore"):
            log_heights = np.log(self.weights) - self._log_volumes
        pairs = zip(coverages, log_heights, strict=True)
        return np.stack([coverage.log_density(heights) for coverage, heights in pairs])

    def log_density(self, coverages: Coverages) -> Array:
        """Logarithm of the density."""
        return _log_sum_exp(self._log_shape_densities(coverages))

    def reweighted(self, coverages: Coverages, target_weights: Array) -> "Proposal":
        """The same shapes with weights closer to the target distribution: steps of expectation-maximisation."""
        proposal = self
        for _ in range(_EM_STEPS):
            log_density = proposal.log_density(coverages)
            ratios = target_weights * np.exp(log_density.min() - log_density)
            covered = np.stack([coverage.covered_weight(ratios) for coverage in coverages])
            with np.errstate(divide="ignore"):
                log_weights = np.log(proposal.weights) + np.log(covered) - self._log_volumes
            weights = np.exp(log_weights - log_weights.max())
            proposal = replace(proposal, weights=weights / weights.sum())
        return proposal

    def largest_shapes(self) -> Indices:
        """Indices of the shapes to keep: the defensive ones and those with the largest weights."""
        totals = self.weights.sum(axis=1)
        largest = np.argsort(-totals, kind="stable")[:_MAX_SHAPES]
        return np.union1d(np.arange(N_DEFENSIVE), largest)

    def restricted_to(self, kept: Indices) -> "Proposal":
        """The mixture of the shapes with these indices; the defensive ones have at least a little weight."""
        weights = self.weights[kept]
        weights[:N_DEFENSIVE] += _MIN_WEIGHT / N_SCALES
        return Proposal([self.shapes[k] for k in kept], self.scales[kept], weights / weights.sum())

    def refitted(self, points: Array, coverages: Coverages, target_weights: Array) -> "Proposal":
        """Half this mixture, half shapes fitted to the points, each to those that one of its shapes accounts for."""
        log_densities = self._log_shape_densities(coverages)
        responsibilities = np.exp(log_densities - _log_sum_exp(log_densities)) * target_weights
        box_weight = float(responsibilities[0].sum()) + 0.05
        new: list[tuple[float, Shape, Array]] = [(box_weight, Box.around(points), geometric_scales(0.8, 1.2))]
        for shape, share in zip(self.shapes, responsibilities, strict=True):
            total = float(share.sum())
            if not isinstance(shape, Ellipsoid) or total < _NEGLIGIBLE_WEIGHT:
                continue
            of_shape = share / total
            # An effective number of points of twice the number of columns: fewer do not determine an ellipsoid.
            if 2 * points.shape[1] * (of_shape @ of_shape) <= 1.0:
                new.append((total, *_fitted_ellipsoid(shape, points, of_shape)))
        weights = np.repeat([[total] for total, _, _ in new], N_SCALES, axis=1)
        return Proposal(
            [*self.shapes, *(shape for _, shape, _ in new)],
            np.concatenate([self.scales, [scales for _, _, scales in new]]),
            0.5 * np.concatenate([self.weights, weights / weights.sum()]),
        )

    def with_defence(self, fraction: float) -> "Proposal":
        """Weights for the final draw, wider than the adapted ones.

        A `fraction` of the weight of each shape is spread evenly over its scales, and of the rest `_OUTWARD` moves to
        the next larger scale: for sets other than the target.
        """
        outward = np.hstack([np.zeros((len(self.weights), 1)), self.weights[:, :-1]])
        outward[:, -1] += self.weights[:, -1]
        even = np.repeat(self.weights.mean(axis=1, keepdims=True), N_SCALES, axis=1)
        adapted = (1.0 - _OUTWARD) * self.weights + _OUTWARD * outward
        return replace(self, weights=(1.0 - fraction) * adapted + fraction * even)


def geometric_scales(low: float, high: float) -> Array:
    """`N_SCALES` scales in geometric progression."""
    return np.geomspace(low, high, N_SCALES)


def _fitted_ellipsoid(shape: Ellipsoid, points: Array, weights: Array) -> tuple[Ellipsoid, Array]:
    """Ellipsoid with the moments of the weighted points, and its scales.

    The moments are taken in the coordinates in which `shape` is a ball and shrunk towards it: few points leave it
    nearly unchanged.
    """
    columns = np.ascontiguousarray(points.T)
    whitened = shape.whitened(columns).T
    shift = weights @ whitened
    covariance = shrunk_covariance(whitened - shift, weights)
    # Rounding must not make it indefinite where the points are nearly collinear.
    ridge = _RIDGE * np.trace(covariance) / len(covariance)
    factor = np.linalg.cholesky(covariance + ridge * np.eye(len(covariance)))
    fitted = Ellipsoid(shape.centre + shape.factor @ shift, shape.factor @ factor)
    gauges = fitted.gauge(columns)
    order = np.argsort(gauges)
    low, high = gauges[order[np.searchsorted(weights[order].cumsum(), [0.1, 0.999])]]
    return fitted, geometric_scales(low, 1.1 * high)


def _log_sum_exp(log_values: Array) -> Array:
    """Over the first axis; a fifth of the time of ``scipy.special.logsumexp``."""
    return np.asarray(np.logaddexp.reduce(log_values, axis=0))


def shrunk_covariance(centred: Array, weights: Array) -> Array:
    """Covariance of rows with weights of sum one, shrunk towards a ball; the fewer the rows, the more.

    The oracle approximating shrinkage of Y. Chen, A. Wiesel, Y. Eldar, A. Hero, "Shrinkage algorithms for MMSE
    covariance estimation", 2010. scikit-learn's ``oas`` is the same without weights.
    """
    d = centred.shape[1]
    covariance = (centred * weights[:, np.newaxis]).T @ centred
    mean_variance = np.trace(covariance) / d
    mean_square = (covariance**2).mean()
    excess = (1.0 / (weights @ weights) + 1.0) * (mean_square - mean_variance**2 / d)
    shrinkage = min(1.0, (mean_square + mean_variance**2) / excess) if excess > 0 else 1.0
    return np.asarray((1.0 - shrinkage) * covariance + shrinkage * mean_variance * np.eye(d))
