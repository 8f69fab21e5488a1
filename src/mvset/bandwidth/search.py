"""The search for the bandwidth in one scaling: solve, measure, choose, extend the grid."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from mvset.bandwidth.candidates import Candidate, SearchTask, is_small, scored, split_offsets
from mvset.bandwidth.choice import (
    SAME_VOLUME,
    Choice,
    Selection,
    eligible_bandwidths,
    meets_nu_condition,
    parameter_penalty,
    widest_of_smallest,
)
from mvset.bandwidth.curves import BandwidthCurve, bandwidth_curve
from mvset.bandwidth.grid import extend_grid, narrower_bandwidths
from mvset.calibration.offsets import offset_at, offsets_by_rank
from mvset.calibration.split_models import SplitModels, pooled_scores
from mvset.calibration.splits import Split
from mvset.progress import report_progress
from mvset.svm.dual import Dual, Solver, SolveReport, solve_duals, solve_in_scalings
from mvset.svm.expansion import Precision
from mvset.svm.gram import GaussianGram, gaussian_gram
from mvset.svm.scaling import Scaling, ScalingName
from mvset.svm.score import Score
from mvset.values import Array
from mvset.volume.measure import VolumeSample, thinned
from mvset.volume.sampler import SUFFICIENT, VolumeSampler

_PILOT_SHARE = 0.1  # share of the points in a first sample, which tells for which set to draw all of them
SUBSET_SIZE = 5  # columns: the largest number at which the volumes of sets of any shape are measured well
_WIDE = 1.1  # in units of the global scale of the rows: a little beyond the first grid
# Candidates are solved to this multiple of the tolerance, which moves their volumes by about a thousandth. Most steps
# of the solver are at narrow bandwidths, and most of them near the end. The one chosen is solved on to the end.
RANKING_TOLERANCE = 30.0
# Scores of held-out rows are summed in float64, those of sample points in float32. Where the kernel is nearly constant
# all are equal up to this, relative: rounding must not put every point outside.
FLOAT32_ROUNDING = 1e-6


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
        task: SearchTask,
        scaling: ScalingName | None = None,
        larger_nus: Sequence[float] = (),
        rows_per_parameter: float = np.inf,
    ) -> None:
        self.task = task
        self.X, self.layout, self.masses, self.run = task.X, task.layout, task.masses, task.run
        self.splits = [scored(split, len(self.X)) for split in task.splits]
        self.larger_nus = larger_nus
        self.rows_per_parameter = rows_per_parameter  # with so many, one scaling serves all splits
        self.scaling = scaling
        deviations = self.X.std(axis=0)
        self.scalings = [] if scaling is None else [Scaling.fitted(scaling, self.X, deviations, self.layout)]
        self.mapped = self.scalings[0](self.X) if self.scalings else self.X
        self.sampler = VolumeSampler("auto", self.X, task.n_points, task.rng, layout=self.layout)
        self.candidates: list[Candidate] = []
        self._gram: GaussianGram | None = None  # whose memory the next bandwidth takes over
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
        """Mean log volume of the best sets, with the penalty for the parameters of the scaling."""
        n_rows = float(np.mean([len(split.train) for split in self.splits]))
        return self.curves[self.choice.best].mean_log_volume + parameter_penalty(self._n_parameters, n_rows)

    @property
    def _n_parameters(self) -> int:
        """Number of parameters of the scaling: the codes of a category column share one."""
        blocks = len(self.layout.sizes) - self.layout.n_codes
        return sum(scaling.n_parameters + blocks for scaling in self.scalings)

    @property
    def selection(self) -> Selection:
        """How it was chosen, for users."""
        return Selection(
            self.criterion,
            self.reason,
            self.sample.method,
            len(self.sample.points),
            self.effective_sample_size,
            np.array([candidate.sigma for candidate in self.candidates]),
            self.choice.values,
            self.choice.errors,
            np.array([self._meets_nu(candidate) for candidate in self.candidates], dtype=bool),
            np.array([candidate.nu for candidate in self.candidates]),
        )

    def search(self, sigmas: Array, *, extensible: bool) -> None:
        """Find the best of the candidates.

        An extensible grid ends where candidates fail the condition on ν, and grows if the best one is on its edge: with
        the next larger ν if the condition is the edge.
        """
        rounds, nu, self.extensible = 0, self.task.solver.nu, extensible
        while len(sigmas):
            self.solve(sigmas, nu, stop_at_failure=extensible)
            if rounds == 0 or not self.sample_is_too_small:
                self.measure()
            if not extensible or (self.criterion == "middle" and not self.sample_is_too_small):
                break
            sigmas = self._next_bandwidths(rounds)
            larger = [each for each in self.larger_nus if each > nu]
            if not len(sigmas) and larger and self._is_stopped_by_nu:
                nu, sigmas = larger[0], self._leave_out_failures()
            rounds += 1
        if self.sample_is_too_small:
            self.sample = thinned(self.sample, self.sampler.n_points)  # more points do not make volumes reliable
            self.scores = {}
            self._choose()

    def _next_bandwidths(self, rounds: int) -> Array:
        """Candidates beyond the edge on which the best one is; none if it is inside, or nothing can be gained."""
        grid, too_small = [candidate.sigma for candidate in self.candidates], self.sample_is_too_small
        # Where volumes do not tell, the grid goes on to the condition on ν.
        sigmas = extend_grid(grid, 0 if too_small else self.choice.best, rounds)
        if self._gains_nothing_by_width(sigmas) or (too_small and not self._meets_nu(self.candidates[0])):
            return np.empty(0)
        return sigmas

    def solve(self, sigmas: Array, nu: float, *, stop_at_failure: bool = False) -> None:
        """Solve every split at each bandwidth, from wide to narrow: each solution starts from the one before."""
        duals: Sequence[Dual] | None = None
        solver = replace(self.task.solver, nu=nu, tol=self._tolerance(len(sigmas)))
        for sigma in report_progress(np.sort(sigmas)[::-1].tolist()):
            duals = self._duals(self.splits, sigma, solver, duals)
            self.candidates.append(self._candidate(SplitModels(self.X, duals, sigma, self.scalings, "single"), solver))
            if stop_at_failure and self._last_fails():
                break  # narrower ones fail the condition on ν all the more
        self.candidates.sort(key=lambda candidate: candidate.sigma)

    def _duals(
        self, splits: Sequence[Split], sigma: float, solver: Solver, starts: Sequence[Dual | None] | None
    ) -> list[Dual]:
        """Solve every split in the common scaling: on one Gram matrix, or each on its own if it trains on few rows."""
        trains = [split.train for split in splits]
        if not self.training_samples_are_small:
            self._gram = gaussian_gram(self.mapped, sigma, self.run, recycle=self._gram)
            return solve_duals(self._gram, trains, solver, starts, self.run)
        none, held_out = [None] * len(trains), [scored(split, len(self.X)).held_out for split in splits]
        return solve_in_scalings(self.mapped, trains, none, sigma, solver, starts or none, self.run, held_out)

    def _candidate(self, models: SplitModels, solver: Solver) -> Candidate:
        scores, score = models.held_out_scores(self.splits), models.score()
        by_split = split_offsets(scores, self.masses)
        offsets = (1.0 - FLOAT32_ROUNDING) * self._offsets(score, scores, by_split)
        duals = [dual.compact() for dual in models.duals]
        return Candidate(solver, score, offsets, by_split, duals, SolveReport.of(models.duals))

    def _tolerance(self, n_sigmas: int) -> float:
        """The tolerance of candidates that are only compared, or the full one of a single bandwidth."""
        only_one = n_sigmas == 1 and not self.extensible and not self.candidates
        return self.task.solver.tol if only_one else RANKING_TOLERANCE * self.task.solver.tol

    def _offsets(self, score: Score, scores: Sequence[Array], by_split: Array) -> Array:
        """Offsets of the aggregated set.

        With few rows they are not those of the pooled scores, which calibrate the set in the end: the bandwidth whose
        pooled scores are high by chance would be chosen, and its set hold too little. Where splits train on small
        samples there are many rows, and the function of a single split is rougher than the mean of all.
        """
        if self.training_samples_are_small:
            pooled = pooled_scores(self.X, self.splits, scores, score)[1]
            return offset_at(offsets_by_rank(pooled)[0], self.masses)
        return np.asarray(np.median(by_split, axis=0))

    def solved(self, splits: Sequence[Split]) -> SplitModels:
        """The models of all splits at the bandwidth chosen, solved to the full tolerance, each in its own scaling."""
        scalings = self._split_scalings(splits)
        precision: Precision = "mixed" if self.training_samples_are_small else "double"
        duals = self._solve_splits(splits, scalings)
        return SplitModels(self.X, duals, self.best.sigma, scalings, precision)

    def _split_scalings(self, splits: Sequence[Split]) -> list[Scaling]:
        """The scaling of each split, fitted to its training rows; none without a scaling.

        With many rows for each of its parameters, one scaling of all rows serves every split: scores cost less by far.
        """
        if self.scaling is None or len(self.X) >= self.rows_per_parameter * self._n_parameters:
            return self.scalings
        deviations = self.X.std(axis=0)
        return [Scaling.fitted(self.scaling, self.X[split.train], deviations, self.layout) for split in splits]

    def _solve_splits(self, splits: Sequence[Split], scalings: Sequence[Scaling]) -> list[Dual]:
        """The duals of these splits; the first splits took part in the search, and start from its solutions."""
        sigma, solver = self.best.sigma, replace(self.task.solver, nu=self.best.nu)
        starts: list[Dual | None] = [*self.best.duals, *[None] * (len(splits) - len(self.best.duals))]
        if scalings and scalings is not self.scalings:
            trains, held_out = zip(*((each.train, scored(each, len(self.X)).held_out) for each in splits), strict=True)
            duals = solve_in_scalings(self.X, trains, scalings, sigma, solver, starts, self.run, held_out)
        elif solver == self.best.solver and len(splits) == len(self.best.duals):
            return self.best.duals
        else:
            duals = self._duals(splits, sigma, solver, starts)
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
        if pilot or (self.effective_sample_size < SUFFICIENT and self.best is not drawn_for):
            self._draw(self.best)
            self._choose()

    def _draw(self, candidate: Candidate, share: float = 1.0) -> None:
        self.sample = self.sampler.draw(candidate.largest_set(self.run), share, give_up=self._can_fall_back)
        self.scores = {}

    def _choose(self) -> None:
        """Compute the curves of all candidates on the sample, and apply the rule."""
        for candidate in self.candidates:
            if candidate.sigma not in self.scores:
                self.scores[candidate.sigma] = candidate.score(self.sample.points, self.run)
        self.curves = list(self.run(self._curve, self.candidates))
        self.choice = widest_of_smallest(self.curves, self.n_independent_splits, self.sample.method == "box")
        self.criterion = "log volume"
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
        """Whether the largest sample allowed does not suffice to choose, and there are columns to leave out."""
        return self._can_fall_back and self.effective_sample_size < SUFFICIENT

    @property
    def _can_fall_back(self) -> bool:
        return (self.extensible or len(self.candidates) > 1) and self.layout.n_columns > SUBSET_SIZE

    @property
    def effective_sample_size(self) -> float:
        """Of the points in the best set of the largest mass."""
        curve = self.curves[self.choice.best]
        bounded = np.flatnonzero(curve.offsets > 0.0)  # sets that are not all of space
        return float(curve.effective_sample_sizes[bounded[-1] if len(bounded) else -1])

    @property
    def training_samples_are_small(self) -> bool:
        """Whether splits train on so few rows that each is solved on a Gram matrix of its own."""
        return all(is_small(split, len(self.X)) for split in self.splits)

    @property
    def n_independent_splits(self) -> float:
        """Number of splits, up to one round over all rows: more hold out the same rows again."""
        return min(len(self.splits), len(self.X) / float(np.mean([len(split.held_out) for split in self.splits])))

    def _meets_nu(self, candidate: Candidate) -> bool:
        return meets_nu_condition(candidate.report.training_mass, self.masses)

    @property
    def _is_stopped_by_nu(self) -> bool:
        """Whether the best bandwidth is the narrowest that meets the condition on ν, or volumes do not tell."""
        met = [self._meets_nu(candidate) for candidate in self.candidates]
        return not met[0] and any(met) and (self.sample_is_too_small or self.choice.best == met.index(True))

    def _gains_nothing_by_width(self, sigmas: Array) -> bool:
        """Whether the grid grows beyond the global scale of the rows although the last step made no set smaller."""
        values, widest = self.choice.values, self.candidates[-1].sigma
        grows_wider = len(sigmas) > 0 and sigmas[0] > widest > _WIDE * np.sqrt(self.mapped.var(axis=0).sum())
        return bool(grows_wider and len(values) > 1 and values[-2] - values[-1] < SAME_VOLUME)

    def _leave_out_failures(self) -> Array:
        """Leave out the bandwidths that fail the condition on ν; these and narrower ones, to be tried with another."""
        self.candidates = [candidate for candidate in self.candidates if self._meets_nu(candidate)]
        left = {candidate.sigma for candidate in self.candidates}
        self.scores = {sigma: scores for sigma, scores in self.scores.items() if sigma in left}
        return narrower_bandwidths(self.candidates[0].sigma)

    def _last_fails(self) -> bool:
        """Whether the last candidate fails the condition on ν where an earlier one met it."""
        met = [self._meets_nu(candidate) for candidate in self.candidates]
        return any(met) and not met[-1]


_REASONS = {
    "given": "One bandwidth was given.",
    "log volume": "Of {n_candidates} bandwidths, the widest whose sets are as small as the smallest, up to the "
    "standard error; effective sample size {size:.0f}.",
    "middle": "The middle of the bandwidths into whose sets no sample point fell.",
}
