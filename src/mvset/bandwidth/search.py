"""The search for the bandwidth: solve, measure, choose, extend the grid."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from mvset.bandwidth.choice import (
    RULES,
    SAME_VOLUME,
    Choice,
    Selection,
    SelectionRule,
    eligible_bandwidths,
    meets_nu_condition,
    parameter_penalty,
)
from mvset.bandwidth.curves import BandwidthCurve, bandwidth_curve
from mvset.bandwidth.grid import extend_grid, narrower_bandwidths
from mvset.calibration.aggregation import aggregate, held_out_scores, split_weights
from mvset.calibration.calibration import HeldOut
from mvset.calibration.fitted_sets import ScoreFunction
from mvset.calibration.offsets import offset_at, offsets_by_rank
from mvset.calibration.splits import Split
from mvset.column_layout import ColumnLayout
from mvset.parallel import Map
from mvset.progress import Verbosity, report_progress
from mvset.svm.convergence import SolveReport
from mvset.svm.dual import Dual, Solver, solve_duals, solve_in_metrics
from mvset.svm.expansion import KernelExpansion
from mvset.svm.gram import gaussian_gram
from mvset.svm.metric import Metric, MetricName
from mvset.svm.metric_expansion import MetricExpansion
from mvset.volume.importance import Membership
from mvset.volume.measure import VolumeSample, thinned
from mvset.volume.sampler import SUFFICIENT, VolumeSampler

Array = NDArray[np.float64]

_PILOT_SHARE = 0.1  # share of the points in a first sample, which tells for which set to draw all of them
SUBSET_SIZE = 5  # columns: the largest number at which the volumes of sets of any shape are measured well
_WIDE = 1.1  # in units of the global scale of the rows: a little beyond the first grid
_SCORED_ROWS = 3000  # held out by a split that trains on a small sample
# Candidates are solved to this multiple of the tolerance, which moves their volumes by about a thousandth. Most steps
# of the solver are at narrow bandwidths, and most of them near the end. The one chosen is solved on to the end.
_RANKING_TOLERANCE = 30.0
# Scores of held-out rows are summed in float64, those of sample points in float32. Where the kernel is nearly constant
# all are equal up to this, relative: rounding must not put every point outside.
_FLOAT32_ROUNDING = 1e-6


@dataclass(frozen=True)
class Candidate:
    """One bandwidth solved, in float32: the aggregated score function, offsets of the masses, duals, report.

    An offset is zero, and the set all of space, where it reaches for rows so far out that float32 does not tell their
    kernels from zero.
    """

    solver: Solver
    function: KernelExpansion | MetricExpansion
    offsets: Array
    split_offsets: Array  # by split
    duals: list[Dual]
    report: SolveReport

    @property
    def sigma(self) -> float:
        """The bandwidth."""
        return self.function.sigma

    @property
    def nu(self) -> float:
        """The ν it was solved with."""
        return self.solver.nu

    def largest_set(self, run: Map) -> Membership:
        """Which points lie in the set of the largest mass, of those that are not all of space."""
        offset = min(self.offsets[self.offsets > 0.0], default=self.offsets[-1])
        return lambda points: np.asarray(self.function(points, run) >= offset)


class BandwidthSearch:
    """Compares candidates on one common volume sample.

    Attributes
    ----------
    candidates : list of Candidate
        All bandwidths solved, narrowest first.
    sample : VolumeSample
        The common sample.
    scores : dict
        Scores of its points, by bandwidth.
    curves : list of BandwidthCurve
        The mass-volume curve of each candidate.
    choice : Choice
        The best of them, and what decided.
    criterion, reason : str
        How it was chosen.
    """

    def __init__(
        self,
        X: Array,
        splits: Sequence[Split],
        masses: Array,
        sampler: VolumeSampler,
        solver: Solver,
        rule: SelectionRule = "log_volume",
        run: Map = map,
        verbose: Verbosity = False,
        of_paper: bool = False,
        metric: MetricName | None = None,
        larger_nus: Sequence[float] = (),
        rows_per_parameter: float = np.inf,
        layout: ColumnLayout | None = None,
    ) -> None:
        self.X = X
        self.layout = layout or ColumnLayout(X.shape[1])
        self.rows_per_parameter = rows_per_parameter  # from so many on, one metric serves all splits
        self.larger_nus = larger_nus
        self.metric = metric
        self.metrics = [] if metric is None else [Metric.fitted(metric, X, X.std(axis=0), self.layout)]
        self.mapped = self.metrics[0](X) if self.metrics else X
        self.splits = [_scored(split, len(X)) for split in splits]
        self.masses = masses
        self.sampler = sampler
        self.solver = solver
        self.rule = rule
        self.run = run
        self.verbose = verbose
        self.of_paper = of_paper
        self.candidates: list[Candidate] = []
        self.sample: VolumeSample  # as soon as there are candidates to draw it for
        self.scores: dict[float, Array] = {}
        self.curves: list[BandwidthCurve] = []
        self.choice: Choice
        self.criterion = self.reason = ""
        self.extensible = False

    @property
    def best(self) -> Candidate:
        """The candidate chosen."""
        return self.candidates[self.choice.best]

    @property
    def penalised_log_volume(self) -> float:
        """Mean log volume of the best sets, with the penalty for the parameters of the metric."""
        n_rows = float(np.mean([len(split.train) for split in self.splits]))
        return self.curves[self.choice.best].mean_log_volume + parameter_penalty(self._n_parameters, n_rows)

    @property
    def _n_parameters(self) -> int:
        """Number of parameters of the metric: the codes of a category column share one."""
        blocks = len(self.layout.sizes) - self.layout.n_codes
        return sum(metric.n_parameters + blocks for metric in self.metrics)

    @property
    def selection(self) -> Selection:
        """How it was chosen, for users."""
        return Selection(
            self.criterion,
            self.reason,
            self.sample.method,
            len(self.sample.points),
            self.effective_sample_size,
            _QUANTITIES[self.rule],
            np.array([candidate.sigma for candidate in self.candidates]),
            self.choice.values,
            self.choice.errors,
            np.array([meets_nu_condition(c.report.training_mass, self.masses) for c in self.candidates], dtype=bool),
            np.array([candidate.nu for candidate in self.candidates]),
        )

    def search(self, sigmas: Array, *, extensible: bool) -> None:
        """Find the best of the candidates.

        An extensible grid ends where candidates fail the condition on ν, and grows if the best one is on its edge: with
        the next larger ν if the condition is the edge.
        """
        rounds, nu, self.extensible = 0, self.solver.nu, extensible
        while len(sigmas):
            self.solve(sigmas, nu, stop_at_failure=extensible)
            if rounds == 0 or not self.sample_is_too_small:
                self.measure()
            if not extensible or (self.criterion == "middle" and not self.sample_is_too_small):
                break
            grid = [candidate.sigma for candidate in self.candidates]
            # Where volumes do not tell, the grid goes on to the condition on ν.
            sigmas = extend_grid(grid, 0 if self.sample_is_too_small else self.choice.best, rounds)
            if self._gains_nothing_by_width(sigmas):
                sigmas = np.empty(0)
            if self.sample_is_too_small and not self._narrowest_meets_nu:
                sigmas = np.empty(0)
            larger = [each for each in self.larger_nus if each > nu]
            if not len(sigmas) and larger and self._is_stopped_by_nu:
                nu, sigmas = larger[0], self._leave_out_failures()
            rounds += 1
        if self.sample_is_too_small:
            self.sample = thinned(self.sample, self.sampler.n_points)  # more points do not make volumes reliable
            self.scores = {}
            self._choose()

    def solve(self, sigmas: Array, nu: float, *, stop_at_failure: bool = False) -> None:
        """Solve every split at each bandwidth, from wide to narrow: each solution starts from the one before."""
        gram = None
        duals: Sequence[Dual | None] = [None] * len(self.splits)
        trains, held_out = [split.train for split in self.splits], [split.held_out for split in self.splits]
        solver = replace(self.solver, nu=nu, tol=self._tolerance(len(sigmas)))
        for sigma in report_progress(np.sort(sigmas)[::-1].tolist(), self.verbose):
            if self.training_samples_are_small:
                none = [None] * len(trains)
                duals = solve_in_metrics(self.mapped, trains, none, sigma, solver, duals, self.run, held_out)
            else:
                gram = gaussian_gram(self.mapped, sigma, self.run, recycle=gram)
                duals = solve_duals(gram, trains, solver, starts=duals, run=self.run)
            weights = split_weights(duals, equal=self.of_paper)
            scores = held_out_scores(self.X, self.splits, duals, weights, sigma, precision="single")
            by_split = split_offsets(scores, self.masses)
            function = aggregate(self.X, duals, weights, sigma, self.metrics, precision="single")
            self.candidates.append(
                Candidate(
                    solver,
                    function,
                    (1.0 - _FLOAT32_ROUNDING) * self._offsets(function, scores, by_split),
                    by_split,
                    [dual.compact() for dual in duals],
                    SolveReport.of(duals),
                )
            )
            if stop_at_failure and self._last_fails():
                break  # narrower ones fail the condition on ν all the more
        self.candidates.sort(key=lambda candidate: candidate.sigma)

    def _tolerance(self, n_sigmas: int) -> float:
        """The tolerance of candidates that are only compared, or the full one of a single bandwidth."""
        only_one = n_sigmas == 1 and not self.extensible and not self.candidates
        return self.solver.tol if only_one else _RANKING_TOLERANCE * self.solver.tol

    def _offsets(self, function: ScoreFunction, scores: Sequence[Array], by_split: Array) -> Array:
        """Offsets of the aggregated set.

        With few rows they are not those of the pooled scores, which calibrate the set in the end: the bandwidth whose
        pooled scores are high by chance would be chosen, and its set hold too little. Where splits train on small
        samples there are many rows, and the function of a single split is rougher than the mean of all.
        """
        if self.of_paper:
            return np.asarray(by_split.mean(axis=0))
        if self.training_samples_are_small:
            pooled = HeldOut.of(self.X, self.splits, scores, function).row_scores
            return offset_at(offsets_by_rank(pooled)[0], self.masses)
        return np.asarray(np.median(by_split, axis=0))

    def split_metrics(self, splits: Sequence[Split]) -> list[Metric]:
        """The metric of each split, fitted to its training rows; none without a metric.

        With many rows for each of its parameters, one metric of all rows serves every split: scores cost less by far.
        """
        if self.metric is None or len(self.X) >= self.rows_per_parameter * self._n_parameters:
            return self.metrics
        deviations = self.X.std(axis=0)
        return [Metric.fitted(self.metric, self.X[split.train], deviations, self.layout) for split in splits]

    def solve_splits(self, splits: Sequence[Split], metrics: Sequence[Metric]) -> list[Dual]:
        """Solve splits at the bandwidth chosen to the full tolerance, each in its own metric if there are any.

        The first splits are those of the search, and start from its solutions.
        """
        sigma, solver = self.best.sigma, replace(self.solver, nu=self.best.nu)
        trains, held_out = [split.train for split in splits], [_scored(split, len(self.X)).held_out for split in splits]
        starts: list[Dual | None] = [*self.best.duals, *[None] * (len(splits) - len(self.best.duals))]
        if metrics and metrics is not self.metrics:
            duals = solve_in_metrics(self.X, trains, metrics, sigma, solver, starts, self.run, held_out)
        elif solver == self.best.solver and len(splits) == len(self.best.duals):
            return self.best.duals
        elif self.training_samples_are_small:
            none = [None] * len(trains)
            duals = solve_in_metrics(self.mapped, trains, none, sigma, solver, starts, self.run, held_out)
        else:
            duals = solve_duals(gaussian_gram(self.mapped, sigma, self.run), trains, solver, starts, self.run)
        return [dual.compact() for dual in duals]

    def measure(self) -> None:
        """Measure the sets of all candidates on common points, and choose.

        The points are drawn for the largest set of the candidate that a smaller pilot sample prefers. They serve
        candidates that are added later as long as their effective sample size is sufficient.
        """
        drawn_for, pilot = None, False
        if not self.curves:
            eligible = eligible_bandwidths([c.report.training_mass for c in self.candidates], self.masses)
            drawn_for = self.candidates[eligible[len(eligible) // 2]]
            pilot = self.sampler.adaptive and len(self.candidates) > 1
            self._draw(drawn_for, _PILOT_SHARE if pilot else 1.0)
        self._choose()
        too_small = self.effective_sample_size < SUFFICIENT and self.sampler.method != "box"
        if pilot or (too_small and self.best is not drawn_for):
            self._draw(self.best)
            self._choose()

    def _draw(self, candidate: Candidate, share: float = 1.0) -> None:
        self.sample = self.sampler.draw(candidate.largest_set(self.run), share, give_up=self._can_fall_back)
        self.scores = {}

    def _choose(self) -> None:
        """Compute the curves of all candidates on the sample, and apply the rule."""
        for candidate in self.candidates:
            if candidate.sigma not in self.scores:
                self.scores[candidate.sigma] = candidate.function(self.sample.points, self.run)
        self.curves = list(self.run(self._curve, self.candidates))
        self.choice = RULES[self.rule](self.curves, self.n_independent_splits, self.sample.method == "box")
        self.criterion = _QUANTITIES[self.rule]
        if len(self.candidates) == 1:
            self.criterion = "given"
        elif np.isneginf(self.curves[self.choice.best].mean_log_volume):
            self.criterion = "middle"
        size = self.effective_sample_size
        self.reason = _REASONS[self.criterion].format(size=size, n_candidates=len(self.candidates))

    def _curve(self, candidate: Candidate) -> BandwidthCurve:
        """The mass-volume curve of a candidate on the sample."""
        return bandwidth_curve(
            candidate.sigma,
            candidate.report.training_mass,
            self.masses,
            candidate.offsets,
            candidate.split_offsets,
            self.sample,
            self.scores[candidate.sigma],
        )

    @property
    def sample_is_too_small(self) -> bool:
        """Whether the largest sample allowed does not suffice to choose, and there are columns to leave out.

        The rule of the paper has no fallback.
        """
        return self._can_fall_back and self.effective_sample_size < SUFFICIENT

    @property
    def _can_fall_back(self) -> bool:
        compares = self.rule == "log_volume" and (self.extensible or len(self.candidates) > 1)
        return compares and self.sampler.method == "auto" and self.layout.n_columns > SUBSET_SIZE

    @property
    def effective_sample_size(self) -> float:
        """Of the points in the best set of the largest mass."""
        curve = self.curves[self.choice.best]
        bounded = np.flatnonzero(curve.offsets > 0.0)  # sets that are not all of space
        return float(curve.effective_sample_sizes[bounded[-1] if len(bounded) else -1])

    @property
    def training_samples_are_small(self) -> bool:
        """Whether splits train on so few rows that each is solved on a Gram matrix of its own."""
        return all(_is_small(split, len(self.X)) for split in self.splits)

    @property
    def n_independent_splits(self) -> float:
        """Number of splits, up to one round over all rows: more hold out the same rows again."""
        return min(len(self.splits), len(self.X) / float(np.mean([len(split.held_out) for split in self.splits])))

    @property
    def _is_stopped_by_nu(self) -> bool:
        """Whether the best bandwidth is the narrowest that meets the condition on ν, or volumes do not tell."""
        if self._narrowest_meets_nu:
            return False
        met = [meets_nu_condition(candidate.report.training_mass, self.masses) for candidate in self.candidates]
        return any(met) and (self.sample_is_too_small or self.choice.best == met.index(True))

    @property
    def _narrowest_meets_nu(self) -> bool:
        return meets_nu_condition(self.candidates[0].report.training_mass, self.masses)

    def _gains_nothing_by_width(self, sigmas: Array) -> bool:
        """Whether the grid grows beyond the global scale of the rows although the last step made no set smaller."""
        values, widest = self.choice.values, self.candidates[-1].sigma
        grows_wider = len(sigmas) > 0 and sigmas[0] > widest > _WIDE * np.sqrt(self.mapped.var(axis=0).sum())
        return bool(
            grows_wider and self.rule == "log_volume" and len(values) > 1 and values[-2] - values[-1] < SAME_VOLUME
        )

    def _leave_out_failures(self) -> Array:
        """Leave out the bandwidths that fail the condition on ν; these and narrower ones, to be tried with another."""
        self.candidates = [c for c in self.candidates if meets_nu_condition(c.report.training_mass, self.masses)]
        left = {candidate.sigma for candidate in self.candidates}
        self.scores = {sigma: scores for sigma, scores in self.scores.items() if sigma in left}
        return narrower_bandwidths(self.candidates[0].sigma)

    def _last_fails(self) -> bool:
        """Whether the last candidate fails the condition on ν where an earlier one met it."""
        met = [meets_nu_condition(candidate.report.training_mass, self.masses) for candidate in self.candidates]
        return any(met) and not met[-1]


def _is_small(split: Split, n_rows: int) -> bool:
    """Whether a split trains on so few rows that it is solved on a Gram matrix of its own."""
    return 2 * len(split.train) < n_rows


def _scored(split: Split, n_rows: int) -> Split:
    """The split with as many rows held out as it takes to compare bandwidths; the others would only cost time."""
    if not _is_small(split, n_rows):
        return split
    return Split(split.train, split.held_out[:: -(-len(split.held_out) // _SCORED_ROWS)])


def split_offsets(split_scores: Sequence[Array], masses: Array) -> Array:
    """Offsets of the masses that each split alone would give (rows)."""
    if len({len(scores) for scores in split_scores}) == 1:  # mostly: sorted together
        return offset_at(offsets_by_rank(split_scores), masses)
    return np.stack([offset_at(offsets_by_rank(scores)[0], masses) for scores in split_scores])


_QUANTITIES = {"log_volume": "log volume", "area": "area"}
_REASONS = {
    "given": "One bandwidth was given.",
    "log volume": "Of {n_candidates} bandwidths, the widest whose sets are as small as the smallest, up to the "
    "standard error; effective sample size {size:.0f}.",
    "area": "Of {n_candidates} bandwidths, the one of the least area under the mass-volume curve; effective sample "
    "size {size:.0f}.",
    "middle": "The middle of the bandwidths into whose sets no sample point fell.",
}
