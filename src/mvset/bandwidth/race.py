"""The choice of the scaling by volume, before the search for the bandwidth: a race on few rows and columns.

The paper chooses the bandwidth whose sets have the least volume at a given mass. The same criterion compares scalings.
A search for each of them on all rows would multiply the time of a fit, and volumes in many columns cannot be measured.
The race therefore draws some hundred rows and five columns at a time: two draws decide if they agree, else the median
of three. In each split the scaling is fitted to all training rows of these columns.

Log volume at a given mass plays the part of minus the log likelihood per row. A scaling with k more parameters
therefore pays k log(n) / (2n) (the Bayesian information criterion), where n is the number of rows that trained in
the race. Without it, whitening wins nearly always, and overfits.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mvset.bandwidth.candidates import SearchTask
from mvset.bandwidth.choice import meets_nu_condition, parameter_penalty
from mvset.bandwidth.curves import mean_over
from mvset.calibration.guarantees import Guarantee
from mvset.calibration.offsets import half_ranks, offset_at
from mvset.calibration.split_models import SplitModels, pooled_scores
from mvset.calibration.splits import Split, subsample
from mvset.svm.dual import Dual, SolveReport, solve_in_scalings
from mvset.svm.scaling import Scaling, ScalingName
from mvset.svm.score import Score
from mvset.values import Array, Flags, Indices
from mvset.volume.importance import ImportanceSampler
from mvset.volume.measure import log_volumes_at

_DRAWS = 3  # at most: two decide if they agree
_ROWS = 250
ALL_COLUMNS = 8  # up to here volumes are measured in all columns
_COLUMNS = 5  # drawn at a time if there are more
_SPLITS = 3
_POINTS = 1500
_ERROR = 0.1  # log volume by which the race may err: the first scaling is taken unless another is better by more
_RATIO = 2.0  # between bandwidths
_WIDEST = 2.0  # bandwidth, in units of the global scale of the rows
_MAX_BANDWIDTHS = 8


@dataclass(frozen=True)
class _Candidate:
    """One scaling and bandwidth: its score function, and the offsets of the masses."""

    sigma: float
    score: Score
    offsets: Array

    def largest_set(self, points: Array) -> Flags:
        """Which points are in the set of the largest mass."""
        return np.asarray(self.score(points) >= self.offsets[-1])


@dataclass(frozen=True)
class RaceResult:
    """Mean log volume of the smallest sets in a scaling, less that in the first, and their bandwidth in all columns."""

    log_volume: float
    sigma: float


def race(scalings: Sequence[ScalingName], task: SearchTask) -> dict[ScalingName, RaceResult]:
    """How small the sets of numeric columns are in each scaling: the median over draws of rows and columns.

    Empty if there is nothing to compare.
    """
    found, winners = [], []
    X, splits, rng = task.X[:, : task.layout.n_numeric], task.splits, task.rng
    n_varying = np.count_nonzero(np.ptp(X, axis=0))
    for _ in range(_DRAWS):
        rows, parts = subsample(splits[:_SPLITS], len(X), _ROWS, rng)
        varying = np.flatnonzero(np.ptp(X[rows], axis=0))
        columns = varying if len(varying) <= ALL_COLUMNS else np.sort(rng.permutation(varying)[:_COLUMNS])
        if len(columns):
            drawn = _Drawn(np.ascontiguousarray(X[:, columns]), rows, splits[:_SPLITS], parts, task)
            log_volumes, sigmas = drawn.smallest_sets(scalings, rng)
            # Distances, and with them bandwidths, grow with the root of the number of columns.
            found.append([log_volumes - log_volumes[0], sigmas * np.sqrt(n_varying / len(columns))])
            winners.append(np.argmin(log_volumes))
            if winners.count(winners[-1]) == 2:
                break
    medians = np.median(found, axis=0).T.tolist() if found else []
    return {scaling: RaceResult(*values) for scaling, values in zip(scalings, medians, strict=False)}


@dataclass(frozen=True)
class _Drawn:
    """Some columns of all rows, the rows of the race among them, and the parts of the splits in these."""

    X: Array
    rows: Indices
    splits: Sequence[Split]
    parts: Sequence[Split]
    task: SearchTask

    def smallest_sets(self, scalings: Sequence[ScalingName], rng: np.random.RandomState) -> tuple[Array, Array]:
        """Mean log volume, with the penalty, and bandwidth of the smallest sets in each scaling; on common points."""
        candidates = [self._candidates(scaling) for scaling in scalings]
        middle = [each[len(each) // 2] for each in candidates]
        sample = ImportanceSampler(self.X[self.rows], rng).draw(
            _POINTS, lambda points: np.any([candidate.largest_set(points) for candidate in middle], axis=0)
        )

        def log_volume(candidate: _Candidate) -> float:
            scores = candidate.score(sample.points, self.task.run)
            return float(mean_over(self.task.masses, log_volumes_at(sample, scores, candidate.offsets)))

        best = [min((log_volume(candidate), candidate.sigma) for candidate in each) for each in candidates]
        log_volumes, sigmas = np.array(best).T
        return log_volumes + [self._penalty(scaling) for scaling in scalings], sigmas

    def _penalty(self, scaling: ScalingName) -> float:
        """What correlations cost; the error of the race at least, for all scalings but the standard one."""
        if scaling == "standard":
            return 0.0
        n_columns, n_rows = self.X.shape[1], float(np.mean([len(part.train) for part in self.parts]))
        n_parameters = n_columns * (n_columns - 1) / 2 if scaling == "whiten" else 0
        return max(_ERROR, parameter_penalty(n_parameters, n_rows))

    def _candidates(self, scaling: ScalingName) -> list[_Candidate]:
        """Bandwidths from wide to narrow, as long as they meet the condition on ν; at least one."""
        part, deviations = self.X[self.rows], self.X.std(axis=0)
        scalings = [Scaling.fitted(scaling, self.X[split.train], deviations) for split in self.splits]
        sigma = _WIDEST * float(np.sqrt(scalings[0](part).var(axis=0).sum()))
        trains = [split.train for split in self.parts]
        duals: list[Dual | None] = [None] * len(scalings)
        candidates: list[_Candidate] = []
        while len(candidates) < _MAX_BANDWIDTHS:
            solved = solve_in_scalings(part, trains, scalings, sigma, self.task.solver, duals, self.task.run)
            met = meets_nu_condition(SolveReport.of(solved).training_mass, self.task.masses)
            if candidates and not met:
                break
            models = SplitModels(part, solved, sigma, scalings, "single")
            score = models.score()
            offsets = half_ranks(pooled_scores(part, self.parts, models.held_out_scores(self.parts), score)[1])
            rank_masses = Guarantee("cross").masses_by_rank(len(offsets))
            candidates.append(_Candidate(sigma, score, offset_at(offsets, self.task.masses, rank_masses)))
            sigma, duals = sigma / _RATIO, list(solved)
        return candidates
