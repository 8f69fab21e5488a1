r"""A law to draw sample points from: a mixture of uniform laws on scaled bodies.

Each body comes at a ladder of scales. The density at x is :math:`q(x) = \sum_{k,j} w_{kj}\, c_{kj}(x) / (r_{kj}^d V_k)`
with V_k the volume of body k, r_{kj} its scales, and c_{kj} one where the body at that scale holds x, zero elsewhere.
The law sought is uniform on a set, and a mixture of uniform laws can be flat there where Gaussians never are: on a ball
in fifty dimensions half of all points count.

Where a method takes `uniform`, these are the weights, of sum one, that make points drawn from the mixture follow the
uniform law on the set sought; points outside have been left out. `places` are their places in the bodies.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from mvset.volume.shapes import Body, Box, Cover, Ellipsoid, Place

Array = NDArray[np.float64]
Places = Sequence[Place]

N_SCALES = 20
N_GUARDS = 2  # bodies that are never dropped
_STEPS = np.linspace(0.0, 1.0, N_SCALES)
_MAX_BODIES = 12  # kept after a look at the set: more cost more than they bring
_MIN_SHARE = 2e-3  # of all draws: bodies with less are dropped
_EM_STEPS = 4
_OUTWARD = 0.2  # share of the weight that moves one scale up, for what the looks at the set have missed
_ROUNDING = 1e-9  # keeps a draw at the surface inside its own body


@dataclass(frozen=True)
class Proposal:
    """The mixture: bodies, the scales of each (ascending) and the weights of all, of sum one.

    The first bodies are guards: the box around the rows, so that the density is positive inside it, and balls around a
    few rows, so that it is not too small near any. They are never dropped.
    """

    bodies: Sequence[Body]
    scales: Array  # (n_bodies, N_SCALES)
    weights: Array

    def draw(self, n_points: int, rng: np.random.RandomState) -> Array:
        """Independent points, ordered by body and scale."""
        counts = rng.multinomial(n_points, self.weights.ravel() / self.weights.sum()).reshape(self.weights.shape)
        drawn = [
            body.draw(np.repeat(scales, times) * (1.0 - _ROUNDING), rng)
            for body, scales, times in zip(self.bodies, self.scales, counts, strict=True)
        ]
        return np.concatenate(drawn)

    def places(self, points: Array) -> list[Place]:
        """Where the points lie in each body."""
        columns = np.ascontiguousarray(points.T)
        return [body.place(columns, scales) for body, scales in zip(self.bodies, self.scales, strict=True)]

    @cached_property
    def _log_volumes(self) -> Array:
        pairs = zip(self.bodies, self.scales, strict=True)
        return np.stack([body.log_volume + body.dimension * np.log(scales) for body, scales in pairs])

    def log_parts(self, places: Places) -> Array:
        """Logarithm of what each body contributes to the density at each point."""
        with np.errstate(divide="ignore"):
            log_heights = np.log(self.weights) - self._log_volumes
        return np.stack([place.log_density(heights) for place, heights in zip(places, log_heights, strict=True)])

    def log_density(self, places: Places) -> Array:
        """Logarithm of the density."""
        return _log_sum(self.log_parts(places))

    def reweighted(self, places: Places, uniform: Array) -> Proposal:
        """The mixture of these bodies nearest to the law of the points: steps of expectation-maximisation."""
        proposal = self
        for _ in range(_EM_STEPS):
            log_density = proposal.log_density(places)
            worth = uniform * np.exp(log_density.min() - log_density)
            held = np.stack([place.held(worth) for place in places])
            with np.errstate(divide="ignore"):
                log_weights = np.log(proposal.weights) + np.log(held) - self._log_volumes
            weights = np.exp(log_weights - log_weights.max())
            proposal = replace(proposal, weights=weights / weights.sum())
        return proposal

    def main_bodies(self) -> NDArray[np.intp]:
        """Indices of the bodies worth keeping, the guards always among them."""
        share = self.weights.sum(axis=1)
        largest = np.argsort(-share, kind="stable")[:_MAX_BODIES]
        return np.union1d(np.arange(N_GUARDS), largest[share[largest] >= _MIN_SHARE])

    def kept(self, bodies: NDArray[np.intp]) -> Proposal:
        """The mixture of some of its bodies, the guards with at least a little weight."""
        weights = self.weights[bodies]
        weights[:N_GUARDS] += _MIN_SHARE / N_SCALES
        return Proposal([self.bodies[k] for k in bodies], self.scales[bodies], weights / weights.sum())

    def reshaped(self, points: Array, places: Places, uniform: Array) -> Proposal:
        """Half this mixture, half bodies shaped after the points that each of its bodies accounts for."""
        parts = self.log_parts(places)
        shares = np.exp(parts - _log_sum(parts)) * uniform
        new: list[tuple[float, Body, Array]] = [(float(shares[0].sum()) + 0.05, *_fitted_box(points))]
        for body, scales, weights, share in zip(self.bodies, self.scales, self.weights, shares, strict=True):
            total = float(share.sum())
            enough = total > 0 and total**2 >= 2 * points.shape[1] * (share @ share)
            if isinstance(body, Ellipsoid) and enough:
                new.append((total, *_fitted_ellipsoid(body, points, share / total)))
            if isinstance(body, Cover) and enough:
                new.append((total, body, _finer(scales, weights)))
        weights = np.repeat([[total] for total, _, _ in new], N_SCALES, axis=1)
        return Proposal(
            [*self.bodies, *(body for _, body, _ in new)],
            np.concatenate([self.scales, [scales for _, _, scales in new]]),
            0.5 * np.concatenate([self.weights, weights / weights.sum()]),
        )

    def defended(self, share: float) -> Proposal:
        """Move some weight one scale up, and spread a share of it over all scales: for the sets not looked at."""
        outward = np.hstack([np.zeros((len(self.weights), 1)), self.weights[:, :-1]])
        outward[:, -1] += self.weights[:, -1]
        even = np.repeat(self.weights.mean(axis=1, keepdims=True), N_SCALES, axis=1)
        even[:N_GUARDS] += 0.25 / N_SCALES
        trusted = (1.0 - _OUTWARD) * self.weights + _OUTWARD * outward
        return replace(self, weights=(1.0 - share) * trusted + share * even / even.sum())


def ladder(low: float, high: float) -> Array:
    """Scales in geometric progression."""
    return np.asarray(low * (high / low) ** _STEPS)


def _finer(scales: Array, weights: Array) -> Array:
    """Ladder over the scales that carry nearly all the weight, and one more on either side."""
    low, high = np.searchsorted(weights.cumsum() / weights.sum(), [0.02, 0.98])
    return ladder(scales[max(low - 1, 0)], scales[min(high + 1, N_SCALES - 1)])


def _fitted_box(points: Array) -> tuple[Box, Array]:
    """Box around the points, and its scales. The range of n points falls short of that of their law by 2/n."""
    box = Box.around(points)
    return Box(box.centre, box.half * (1.0 + 2.0 / len(points))), ladder(0.8, 1.2)


def _fitted_ellipsoid(body: Ellipsoid, points: Array, shares: Array) -> tuple[Ellipsoid, Array]:
    """Ellipsoid of the moments of weighted points, and its scales.

    The moments are taken in the coordinates in which `body` is a ball and shrunk towards it: few points leave it as it
    was.
    """
    whitened = body.whitened(points)
    shift = shares @ whitened
    shape = shrunk_covariance(whitened - shift, shares)
    fitted = Ellipsoid(body.centre + body.factor @ shift, body.factor @ np.linalg.cholesky(shape))
    gauges = fitted.gauge(np.ascontiguousarray(points.T))
    order = np.argsort(gauges)
    low, high = gauges[order[np.searchsorted(shares[order].cumsum(), [0.1, 0.999])]]
    return fitted, ladder(low, 1.1 * high)


def _log_sum(parts: Array) -> Array:
    highest = parts.max(axis=0)
    return np.asarray(highest + np.log(np.exp(parts - highest).sum(axis=0)))


def shrunk_covariance(centred: Array, shares: Array) -> Array:
    """Covariance of rows with weights of sum one, shrunk towards a ball as far as their number asks for.

    The oracle approximating shrinkage of Y. Chen, A. Wiesel, Y. Eldar, A. Hero, "Shrinkage algorithms for MMSE
    covariance estimation", 2010, as scikit-learn's ``oas``, which knows no weights.
    """
    d = centred.shape[1]
    covariance = (centred * shares[:, np.newaxis]).T @ centred
    mean_variance = np.trace(covariance) / d
    mean_square = (covariance**2).mean()
    excess = (1.0 / (shares @ shares) + 1.0) * (mean_square - mean_variance**2 / d)
    shrinkage = min(1.0, (mean_square + mean_variance**2) / excess) if excess > 0 else 1.0
    return np.asarray((1.0 - shrinkage) * covariance + shrinkage * mean_variance * np.eye(d))
