"""Volume samples by importance sampling (paper, Section II-C): points near the set, each with weight 1/density.

The uniform distribution of the paper on the box around the rows hits no set in many dimensions. Here the distribution
adapts to the set.
"""

from collections.abc import Callable

import numpy as np
from scipy.spatial.distance import cdist

from mvset.values import Array, Flags
from mvset.volume.cells import CellSampler, with_cells
from mvset.volume.measure import VolumeSample
from mvset.volume.proposal import N_SCALES, Proposal, geometric_scales, shrunk_covariance
from mvset.volume.shapes import Balls, Box, Ellipsoid, Shape

Membership = Callable[[Array], Flags]

# The first proposal, from the rows.
_MAX_ROWS = 10_000  # a larger table is subsampled
_RIDGE = 1e-9  # added to the covariance of standardised columns, for collinear ones
_ROWS_PER_COLUMN = 3  # below, the sample covariance is singular or nearly so: only the shrunk one is used
_ELLIPSOID_COLUMNS = 300  # in more, covariances take seconds, and nothing measures volumes
_FEW_CENTRES, _MANY_CENTRES = 100, 500  # rows with balls around them: far apart, and random
_DOMAIN = 1.5  # volumes are measured in the box around the rows enlarged by this factor

# Adaptation.
_FIRST_ROUNDS, _MORE_ROUNDS = 3, 2  # adaptation rounds before the first draw, and before later ones
_ROUND_FRACTION = 0.2  # points of a round, as a fraction of the points to be drawn
_MIN_ROUND = 500  # points of a round, at least
_MIN_HITS = 10  # with fewer points in the target a round changes nothing
_DEFENSIVE_FRACTION = 0.15  # fraction of points drawn from all scales of each shape alike (defensive mixture)


class ImportanceSampler:
    """Draws volume samples from a distribution that adapts to the target set.

    The distribution is a mixture of uniform distributions on ellipsoids, boxes and balls around the rows. Adaptation
    rounds draw points, find which of them lie in the target, and move weights and shapes towards the uniform
    distribution on the target. The sample is then a fresh draw from the adapted mixture, so that volumes are unbiased.
    Standard errors ignore regions that the adaptation never discovered; the defensive components make them unlikely.
    `X` has the numeric columns; `cells` draws the others, if there are any.
    """

    def __init__(self, X: Array, rng: np.random.RandomState, cells: CellSampler | None = None) -> None:
        self._rng = rng
        self._cells = cells
        self._varying = np.ptp(X, axis=0) > 0
        self._centre = np.where(self._varying, X.mean(axis=0), X[0])  # exact where constant
        self._units = X[:, self._varying].std(axis=0)
        standardised = (X - self._centre)[:, self._varying] / self._units
        self._box = Box.around(standardised)
        self._proposal = _first_proposal(self._box, standardised, self._units, rng)
        self._rounds = _FIRST_ROUNDS

    def draw(self, n_points: int, target: Membership, n_draws: int = 1) -> VolumeSample:
        """Adapt to the target, then draw points that measure it and sets like it.

        One of several draws adapts as well as it would alone with all of their points.
        """
        n_round = max(_MIN_ROUND, int(_ROUND_FRACTION * n_points * n_draws))
        for left in reversed(range(self._rounds)):
            # The last round adapts weights only: weights fitted to the points that fitted the shapes would overfit.
            self._adapt(n_round, target, refit=left > 0)
        self._rounds = _MORE_ROUNDS
        proposal = self._proposal.with_defence(_DEFENSIVE_FRACTION)
        points = proposal.draw(n_points, self._rng)
        log_density = proposal.log_density(proposal.coverages(points))
        log_weights = np.log(self._units).sum() - np.log(n_points) - log_density
        log_weights[~self._in_domain(points)] = -np.inf
        rows, log_probability = self._to_rows(points)
        return VolumeSample(rows, log_weights - log_probability, n_points, "importance")

    def _adapt(self, n_points: int, target: Membership, *, refit: bool) -> None:
        """One adaptation round: move the proposal towards the uniform distribution on the target."""
        proposal = self._proposal
        points = proposal.draw(n_points, self._rng)
        points = points[self._in_domain(points)]
        rows, log_probability = self._to_rows(points)
        hit = target(rows)
        points, log_probability = points[hit], log_probability[hit]
        if len(points) < _MIN_HITS:
            return
        coverages = proposal.coverages(points)
        log_density = proposal.log_density(coverages) + log_probability
        target_weights = np.exp(log_density.min() - log_density)
        target_weights /= target_weights.sum()
        proposal = proposal.reweighted(coverages, target_weights)
        kept = proposal.largest_shapes()
        proposal = proposal.restricted_to(kept)
        if refit:
            proposal = proposal.refitted(points, [coverages[k] for k in kept], target_weights)
        self._proposal = proposal

    def _in_domain(self, points: Array) -> Flags:
        return np.asarray(self._box.gauge(points.T) <= _DOMAIN)

    def _to_rows(self, points: Array) -> tuple[Array, Array]:
        """Rows from points in the standardised varying columns, and the log probabilities of their cells."""
        rows = np.repeat(self._centre[np.newaxis], len(points), axis=0)
        rows[:, self._varying] += points * self._units
        return with_cells(rows, self._cells)


def _first_proposal(box: Box, rows: Array, units: Array, rng: np.random.RandomState) -> Proposal:
    """The box around the rows; balls around rows; ellipsoids around all rows and around each half."""
    parts: list[tuple[float, Shape, Array]] = [(0.2, box, geometric_scales(0.6, _DOMAIN))]
    global_scale = float(np.sqrt((units**2).sum()))
    shuffled = rows[rng.permutation(len(rows))[:_MAX_ROWS]]
    many = shuffled[:_MANY_CENTRES]
    radii = geometric_scales(0.5 * _spacing(many * units), global_scale)
    parts += [(0.5, Balls(centres, units), radii) for centres in (_far_apart(shuffled, units), many)]
    few_columns = rows.shape[1] <= _ELLIPSOID_COLUMNS
    for weight, patch in ((1.0, shuffled), *((0.5, half) for half in _halves(shuffled))) if few_columns else ():
        for shape in _patch_ellipsoids(patch):
            gauges = np.sort(shape.gauge(np.ascontiguousarray(patch.T)))
            scales = geometric_scales(max(gauges[len(gauges) // 10], 0.01 * gauges[-1]), 1.3 * gauges[-1])
            parts.append((weight, shape, scales))
    weights = np.repeat([[weight] for weight, _, _ in parts], N_SCALES, axis=1)
    return Proposal([shape for _, shape, _ in parts], np.stack([s for _, _, s in parts]), weights / weights.sum())


def _patch_ellipsoids(patch: Array) -> list[Ellipsoid]:
    """Ellipsoids of the shrunk covariance and, if the rows are not too few, of the sample covariance."""
    centred = patch - patch.mean(axis=0)
    even = np.full(len(patch), 1.0 / len(patch))
    covariances = [shrunk_covariance(centred, even)]
    if len(patch) >= _ROWS_PER_COLUMN * (1 + patch.shape[1]):
        covariances.insert(0, centred.T @ centred / len(patch))
    factors = np.linalg.cholesky(np.stack(covariances) + _RIDGE * np.eye(patch.shape[1]))
    return [Ellipsoid(patch.mean(axis=0), factor) for factor in factors]


def _far_apart(rows: Array, units: Array) -> Array:
    """Rows far from each other: each is the farthest from all before it, so that they reach every corner."""
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


def _halves(rows: Array) -> list[Array]:
    """The rows on either side of their mean along the longest axis, without constant halves."""
    centred = rows - rows.mean(axis=0)
    side = centred @ np.linalg.eigh(centred.T @ centred)[1][:, -1] > 0
    return [half for half in (rows[side], rows[~side]) if len(half) and np.ptp(half, axis=0).any()]
