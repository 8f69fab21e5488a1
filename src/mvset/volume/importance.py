"""Step 7 beyond the cube: sample points where the set is, each weighted by one over its density."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from mvset.volume.measure import VolumeSample
from mvset.volume.proposal import N_SCALES, Proposal, ladder, shrunk_covariance
from mvset.volume.shapes import Body, Box, Cover, Ellipsoid

Array = NDArray[np.float64]
Membership = Callable[[Array], NDArray[np.bool_]]

_DEPTH = 3  # halvings of the rows: up to fifteen patches, for sets that are curved or in pieces
_MIN_PATCH = 5  # rows
_MAX_ROWS = 10_000  # that shape the first law
_ROWS_PER_COLUMN = 3  # in a patch, for its covariance to be taken as it is, too
_INFLATIONS = (1 / 8, 1 / 3)  # of the global scale: kernel sets reach beyond thin data
_RIDGE = 1e-9  # of standardised columns: keeps collinear ones apart
_FEW_CENTRES, _MANY_CENTRES = 100, 500  # rows with balls around them: few at any cost, many where they serve the set
_DOMAIN = 1.5  # volumes are measured in the box around the rows, half as large again
_FIRST_LOOKS, _MORE_LOOKS = 3, 2  # at the set, before points are drawn
_LOOK_SHARE = 0.2  # points of each look, as a share of the points to be drawn
_MIN_LOOK = 500
_DEFENCE = 0.15  # share of the points that do not believe what the looks saw


class ImportanceSampler:
    """Draws points for the measure of sets near the rows, and learns where they are.

    The law drawn from is a mixture of uniform laws on ellipsoids, boxes and balls, shaped after the rows. Looks at
    which of its points lie in a target set adapt its weights and shapes to the uniform law on it. Points handed over
    are a fresh draw from the adapted mixture, so that volumes are unbiased.
    """

    def __init__(self, X: Array, rng: np.random.RandomState) -> None:
        self._rng = rng
        self._varying = np.ptp(X, axis=0) > 0
        self._centre = np.where(self._varying, X.mean(axis=0), X[0])  # exact where constant
        self._units = X[:, self._varying].std(axis=0)
        standardised = (X - self._centre)[:, self._varying] / self._units
        self._box = Box.around(standardised)
        self._proposal = _first_proposal(self._box, standardised, self._units, rng)
        self._looks = _FIRST_LOOKS

    def draw(self, n_points: int, target: Membership) -> VolumeSample:
        """Look at the target, then draw points that measure sets like it."""
        n_look = max(_MIN_LOOK, int(_LOOK_SHARE * n_points))
        for left in reversed(range(self._looks)):
            # The last look sets weights only: shapes and weights from the same points would trust them too much.
            self._look(n_look, target, reshape=left > 0)
        self._looks = _MORE_LOOKS
        proposal = self._proposal.defended(_DEFENCE)
        points = proposal.draw(n_points, self._rng)
        log_weights = np.log(self._units).sum() - np.log(n_points) - proposal.log_density(proposal.places(points))
        log_weights[~self._in_domain(points)] = -np.inf
        return VolumeSample(self._rows(points), log_weights, n_points, "importance")

    def _look(self, n_points: int, target: Membership, *, reshape: bool) -> None:
        proposal = self._proposal
        points = proposal.draw(n_points, self._rng)
        points = points[self._in_domain(points)]
        points = points[target(self._rows(points))]
        if len(points) < 10:
            return
        places = proposal.places(points)
        log_density = proposal.log_density(places)
        uniform = np.exp(log_density.min() - log_density)
        uniform /= uniform.sum()
        proposal = proposal.reweighted(places, uniform)
        main = proposal.main_bodies()
        proposal = proposal.kept(main)
        self._proposal = proposal.reshaped(points, [places[k] for k in main], uniform) if reshape else proposal

    def _in_domain(self, points: Array) -> NDArray[np.bool_]:
        return np.asarray(self._box.gauge(points.T) <= _DOMAIN)

    def _rows(self, points: Array) -> Array:
        """Points in the varying columns, standardised, as rows of X."""
        rows = np.repeat(self._centre[np.newaxis], len(points), axis=0)
        rows[:, self._varying] += points * self._units
        return rows


def _first_proposal(box: Box, rows: Array, units: Array, rng: np.random.RandomState) -> Proposal:
    """The box around the rows; balls around them; ellipsoids around patches of them, as they are and inflated."""
    parts: list[tuple[float, Body, Array]] = [(0.2, box, ladder(0.6, _DOMAIN))]
    global_scale = float(np.sqrt((units**2).sum()))
    shuffled = rows[rng.permutation(len(rows))[:_MAX_ROWS]]
    many = shuffled[:_MANY_CENTRES]
    radii = ladder(0.5 * _spacing(many * units), global_scale)
    parts += [(0.5, Cover(centres, units), radii) for centres in (_far_apart(shuffled, units), many)]
    identity = np.eye(rows.shape[1])
    for depth, patch in _patches(shuffled, 0):
        centre, columns = patch.mean(axis=0), np.ascontiguousarray(patch.T)
        even = np.full(len(patch), 1.0 / len(patch))
        covariance, plain = shrunk_covariance(patch - centre, even), (patch - centre).T @ (patch - centre) / len(patch)
        inflated = [covariance + np.diag((factor * global_scale / units) ** 2) for factor in _INFLATIONS]
        plains = [plain] if len(patch) >= _ROWS_PER_COLUMN * (1 + patch.shape[1]) else []
        for factor in np.linalg.cholesky(np.stack([*plains, covariance, *inflated]) + _RIDGE * identity):
            body = Ellipsoid(centre, factor)
            gauges = np.sort(body.gauge(columns))
            scales = ladder(max(gauges[len(gauges) // 10], 0.01 * gauges[-1]), 1.3 * gauges[-1])
            parts.append((0.5**depth, body, scales))  # as much for all patches of one depth as for those of another
    weights = np.repeat([[share] for share, _, _ in parts], N_SCALES, axis=1)
    return Proposal([body for _, body, _ in parts], np.stack([s for _, _, s in parts]), weights / weights.sum())


def _far_apart(rows: Array, units: Array) -> Array:
    """Rows that are far from each other, one after the other the farthest from all before: they reach every corner."""
    scaled = rows * units
    chosen = [0]
    distances = np.full(len(rows), np.inf)
    for _ in range(min(_FEW_CENTRES, len(rows)) - 1):
        distances = np.minimum(distances, ((scaled - scaled[chosen[-1]]) ** 2).sum(axis=1))
        chosen.append(int(distances.argmax()))
    return np.asarray(rows[chosen])


def _spacing(points: Array) -> float:
    """Median distance of distinct points to their nearest neighbours."""
    distances = cdist(points, points)
    nearest = np.where(distances > 0, distances, np.inf).min(axis=1)
    return float(np.median(nearest))


def _patches(rows: Array, depth: int) -> Iterator[tuple[int, Array]]:
    """The rows, their two halves across the longest axis, the halves of these, and so on, each with its depth."""
    yield depth, rows
    centred = rows - rows.mean(axis=0)
    side = centred @ np.linalg.eigh(centred.T @ centred)[1][:, -1] > 0
    if depth < _DEPTH:
        for half in (rows[side], rows[~side]):
            if len(half) >= _MIN_PATCH and np.ptp(half, axis=0).any():
                yield from _patches(half, depth + 1)
