"""The search for the bandwidth in one scaling: solve, measure, choose, extend the grid."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from mvset.bandwidth.bound import log_square_integral
from mvset.bandwidth.candidates import Candidate, SearchTask, is_small, scored, split_offsets
from mvset.bandwidth.choice import (
    SAME_VOLUME,
    Choice,
    Selection,
    eligible_bandwidths,
    meets_nu_condition,
    widest_of_smallest,
)
from mvset.bandwidth.curves import BandwidthCurve, bandwidth_curve, bound_curve
from mvset.bandwidth.grid import RATIO, extend_grid, narrower_bandwidths
from mvset.calibration.offsets import offset_at, offsets_by_rank
from mvset.calibration.split_models import SplitModels, pooled_logs
from mvset.calibration.splits import Split, subsample
from mvset.calibration.views import unscaled
from mvset.progress import report_progress
from mvset.svm.dual import Dual, Solver, SolveReport, solve_duals, solve_in_scalings
from mvset.svm.expansion import NO_KERNEL, Precision, rough_logs
from mvset.svm.gram import GaussianGram, gaussian_gram
from mvset.svm.scaling import Scaling, ScalingName
from mvset.values import Array
from mvset.volume.measure import VolumeSample
from mvset.volume.sampler import MAX_FACTOR, MEASURED_COLUMNS, SUFFICIENT, VolumeSampler

_FEW_DRAWN = 2  # times the points asked for, at most, if splits train on samples: together they have many centres
_PILOT_SHARE = 0.1  # share of the points in a first sample, which tells for which set to draw all of them
_COMPARABLE = 50  # effective sample size: in few columns volumes known to 15 % rank bandwidths better than bounds do
_LONGER_SIDES = 0.02  # logarithm: in simulations wider sets find as much or more, and sets of normal rows more
_FAR_NARROWER = 0.125  # in simulations volumes prefer bandwidths of 0.16 to 8 times the bound's
_NU_ROWS = 200  # volumes of fewer rows do not tell whether a narrower bandwidth is better, or only seems so
# Splits whose bounds are compared: a round over all rows, without the noise of sample points. In so many columns the
# best bandwidth hardly depends on the number of rows.
_BOUNDED_SPLITS, _BOUNDED_ROWS = 5, 1500
_WIDE = 1.1  # in units of the global scale of the rows: a little beyond the first grid
# Candidates are solved to this multiple of the tolerance, which moves their volumes by about a thousandth. Most steps
# of the solver are at narrow bandwidths, and most of them near the end. The one chosen is solved on to the end.
RANKING_TOLERANCE = 30.0
# Scores of held-out rows are summed in float64, scores of sample points in float32. Where the kernel is nearly constant
# all are equal up to this, relative: rounding must not put every point outside.
FLOAT32_ROUNDING = 1e-6


class BandwidthSearch:
    """Compares candidates on one common volume sample.

    Attributes
    ----------
    candidates : list of Candidate
        All bandwidths solved, narrowest first.
    sample : VolumeSample or None
        The common sample.
    is_bounded : bool
        Whether a bound on the volumes decides, because there are many columns or the sample is too small.
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
        shrinkage: float = 0.0,
        sample: VolumeSample | None = None,
    ) -> None:
        self.task = task
        self.layout, self.masses, self.run = task.layout, task.masses, task.run
        self.rows_per_parameter = rows_per_parameter  # with so many, one scaling serves all splits
        self.scaling, self.shrinkage = scaling, shrinkage
        self.scalings = [] if scaling is None else [self._scaling(task.X)]
        self.sampler = VolumeSampler("auto", task.X, task.n_points, task.rng, layout=self.layout)
        self._varying = np.flatnonzero(np.ptp(task.X[:, : self.layout.n_numeric], axis=0))
        self.is_bounded = len(self._varying) > MEASURED_COLUMNS
        self.larger_nus = larger_nus
        self.X, self.splits = task.X, [scored(split, len(task.X)) for split in task.splits]
        if self.is_bounded:
            self.splits = self.splits[:_BOUNDED_SPLITS]
            if len(self.X) > _BOUNDED_ROWS and not self.training_samples_are_small:
                rows, self.splits = subsample(self.splits, len(self.X), _BOUNDED_ROWS, task.rng)
                self.X = self.X[rows]
        self.mapped = self._mapped(self.X)
        self.candidates: list[Candidate] = []
        self._gram: GaussianGram | None = None  # whose memory the next bandwidth takes over
        self.sample = sample  # as soon as there are candidates to draw it for
        self._is_final = False  # whether no other sample will be drawn
        self._is_refined = False
        self._scores: dict[float, Array] = {}
        self.curves: list[BandwidthCurve] = []
        self.choice: Choice
        self.criterion = self.reason = ""
        self.extensible = False

    @property
    def best(self) -> Candidate:
        """The candidate chosen."""
        return self.candidates[self.choice.best]

    @property
    def best_curve(self) -> BandwidthCurve:
        """Its curve."""
        return self.curves[self.choice.best]

    @property
    def n_parameters(self) -> int:
        """Number of parameters of the scaling: the codes of a category column share one."""
        blocks = len(self.layout.sizes) - self.layout.n_codes
        return sum(scaling.n_parameters + blocks for scaling in self.scalings)

    @property
    def selection(self) -> Selection:
        """How it was chosen, for users."""
        return Selection(
            self.criterion,
            self.reason,
            "bound" if self.is_bounded or self.sample is None else self.sample.method,
            0 if self.is_bounded or self.sample is None else len(self.sample.points),
            self.effective_sample_size,
            np.array([candidate.sigma for candidate in self.candidates]),
            self.choice.values,
            self.choice.errors,
            np.array([self._meets_nu(candidate) for candidate in self.candidates], dtype=bool),
            np.array([candidate.nu for candidate in self.candidates]),
        )

    def _scaling(self, rows: Array) -> Scaling:
        assert self.scaling is not None
        return Scaling.fitted(self.scaling, rows, self.task.X.std(axis=0), self.layout, self.shrinkage)

    def _mapped(self, rows: Array) -> Array:
        """Rows in the common scaling, if there is one."""
        return self.scalings[0](rows) if self.scalings else rows

    def search(self, sigmas: Array, *, extensible: bool) -> None:
        """Find the best of the candidates.

        An extensible grid ends where candidates fail the condition on ν, and grows if the best one is on its edge: with
        the next larger ν if the condition is the edge.
        """
        rounds, nu, self.extensible = 0, self.task.solver.nu, extensible
        while len(sigmas):
            self.solve(sigmas, nu, stop_at_failure=extensible)
            self.measure()
            if not extensible or self.criterion == "middle":
                break
            sigmas = self._next_bandwidths(rounds)
            larger = [each for each in self.larger_nus if each > nu]
            rounds += 1
            if not len(sigmas) and larger and self._needs_larger_nu:
                rounds, nu, sigmas = 0, larger[0], self._leave_out_failures()

    def refine(self) -> None:
        """Choose between the candidates of the coarse grid."""
        if not self.extensible or self.criterion == "middle":
            return
        if self.is_bounded:
            self._interpolate()
            return
        self._is_refined = True
        known = [candidate.sigma for candidate in self.candidates]
        finer = self.best.sigma * RATIO ** np.array([-3.0, -1.0, 1.0, 3.0])
        finer = finer[(finer > known[0]) & (finer < known[-1])]
        if len(finer):
            self.solve(finer, self.best.nu)
        self.measure()

    def _next_bandwidths(self, rounds: int) -> Array:
        """Candidates beyond the edge on which the best one is; none if it is inside, or nothing can be gained."""
        known = [candidate.sigma for candidate in self.candidates]
        sigmas = extend_grid(known, self.choice.best, rounds)
        return np.empty(0) if self._gains_nothing_by_width(sigmas) else sigmas

    def _interpolate(self) -> None:
        """Take the widest bandwidth whose bound allows sides that are hardly longer than the least bound does.

        It comes from the parabola through the best candidate and its neighbours: bounds have no sampling error, and are
        so sharply curved in many columns that the grid would move the bandwidth. Its ν is the least that will do.
        """
        best, sigmas = self.choice.best, np.log([candidate.sigma for candidate in self.candidates])
        if not 0 < best < len(sigmas) - 1:
            return
        values = [curve.mean_log_volume for curve in self.curves[best - 1 : best + 2]]
        curvature, slope, _ = np.polyfit(sigmas[best - 1 : best + 2] - sigmas[best], values, 2)
        n_columns = len(self._varying) + len(self.layout.sizes)
        if curvature <= 0.0:
            return  # this and the next are possible if the narrower neighbour fails the condition on ν
        wider = np.sqrt(_LONGER_SIDES * n_columns / curvature) - 0.5 * slope / curvature
        if sigmas[best] + wider <= sigmas[best - 1]:
            return
        sigma = float(np.exp(min(sigmas[best] + wider, sigmas[best + 1])))
        before, least_nu = list(self.candidates), self.candidates[best + 1].nu  # a narrower one needs no smaller ν
        for nu in (each for each in (self.task.solver.nu, *self.larger_nus) if each >= least_nu):
            self.candidates = [each for each in before if each.sigma != sigma]
            self.solve(np.array([sigma]), nu)
            chosen = [each.sigma for each in self.candidates].index(sigma)
            if self._meets_nu(self.candidates[chosen]):
                self.measure()
                self.choice = replace(self.choice, best=chosen)
                return
        self.candidates = before

    def solve(self, sigmas: Array, nu: float, *, stop_at_failure: bool = False) -> None:
        """Solve every split at each bandwidth, from wide to narrow: each solution starts from the one before."""
        duals: Sequence[Dual] | None = None
        solver = replace(self.task.solver, nu=nu, tol=self._tolerance(len(sigmas)))
        for sigma in report_progress(np.sort(sigmas)[::-1].tolist()):
            duals = self._duals(self.mapped, self.splits, sigma, solver, duals)
            self.candidates.append(self._candidate(SplitModels(self.X, duals, sigma, self.scalings, "single"), solver))
            if stop_at_failure and (self._last_fails() or self._is_past_the_bound()):
                break  # narrower ones fail the condition on ν all the more, and have a larger bound
        self.candidates.sort(key=lambda candidate: candidate.sigma)

    def _duals(
        self, mapped: Array, splits: Sequence[Split], sigma: float, solver: Solver, starts: Sequence[Dual | None] | None
    ) -> list[Dual]:
        """Solve every split in the common scaling: on one Gram matrix, or each on its own if it trains on few rows."""
        trains = [split.train for split in splits]
        if not self.training_samples_are_small:
            recycle = self._gram if self._gram is not None and self._gram.columns.shape[1] == len(mapped) else None
            self._gram = gaussian_gram(mapped, sigma, self.run, recycle=recycle)
            return solve_duals(self._gram, trains, solver, starts, self.run)
        none, held_out = [None] * len(trains), [scored(split, len(mapped)).held_out for split in splits]
        return solve_in_scalings(mapped, trains, none, sigma, solver, starts or none, self.run, held_out)

    def _candidate(self, models: SplitModels, solver: Solver) -> Candidate:
        score = unscaled([models], self.splits).score()
        duals, report = [dual.compact() for dual in models.duals], SolveReport.of(models.duals)
        if self.is_bounded:
            logs = models.held_out_logs(self.splits, self.run)
            by_split = split_offsets(logs, self.masses)
        else:  # the middle between two scores, as the paper has them; between their logarithms, sets would be larger
            scores = models.held_out_scores(self.splits)
            logs, by_split = [rough_logs(each) for each in scores], rough_logs(split_offsets(scores, self.masses))
        ((scaling, function),) = score.parts[0]
        integral = log_square_integral(function, scaling, self.layout, self._varying, self.run)
        found = Candidate(solver, score, by_split[0], by_split, duals, report, integral)
        return replace(found, offsets=self._offsets(found, logs) - FLOAT32_ROUNDING)

    def _tolerance(self, n_sigmas: int) -> float:
        """The tolerance of candidates that are only compared, or the full one of a single bandwidth."""
        only_one = n_sigmas == 1 and not self.extensible and not self.candidates
        return self.task.solver.tol if only_one else RANKING_TOLERANCE * self.task.solver.tol

    def _offsets(self, candidate: Candidate, logs: Sequence[Array]) -> Array:
        """Offsets of the aggregated set.

        With few rows they do not come from the pooled scores, which calibrate the set in the end: the bandwidth whose
        pooled scores are high by chance would be chosen, and its set would contain too little. Where splits train on
        small samples there are many rows, and the function of a single split is rougher than the mean of all.
        """
        if self.training_samples_are_small:
            pooled = pooled_logs(self.X, self.splits, logs, candidate.logs)[1]
            return offset_at(offsets_by_rank(pooled)[0], self.masses)
        return np.asarray(np.median(candidate.split_offsets, axis=0))

    def solved(self, splits: Sequence[Split], anew: bool = False) -> SplitModels:
        """The models of all splits at the bandwidth chosen, solved to the full tolerance, each in its own scaling.

        The first splits took part in the search, and start from its solutions, unless all are to be solved `anew`.
        """
        scalings = self._split_scalings(splits)
        precision: Precision = "mixed" if self.training_samples_are_small else "double"
        duals = self._solve_splits(splits, scalings, [] if anew or self.X is not self.task.X else self.best.duals)
        return SplitModels(self.task.X, duals, self.best.sigma, scalings, precision, self.best.log_square_integral)

    def _split_scalings(self, splits: Sequence[Split]) -> list[Scaling]:
        """The scaling of each split, fitted to its training rows; none without a scaling.

        With many rows for each of its parameters, one scaling of all rows serves every split: scores cost less by far.
        """
        if self.scaling is None or len(self.task.X) >= self.rows_per_parameter * self.n_parameters:
            return self.scalings
        return list(self.run(self._scaling, [self.task.X[split.train] for split in splits]))

    def _solve_splits(self, splits: Sequence[Split], scalings: Sequence[Scaling], known: list[Dual]) -> list[Dual]:
        """The duals of these splits, of which the first start from those known in the common scaling."""
        X, sigma, solver = self.task.X, self.best.sigma, replace(self.task.solver, nu=self.best.nu)
        starts: list[Dual | None] = [*known, *[None] * (len(splits) - len(known))]
        if scalings and scalings is not self.scalings:
            trains, held_out = zip(*((each.train, scored(each, len(X)).held_out) for each in splits), strict=True)
            duals = solve_in_scalings(X, trains, scalings, sigma, solver, starts, self.run, held_out)
        elif solver == self.best.solver and len(splits) == len(known):
            return known
        else:
            duals = self._duals(self._mapped(X), splits, sigma, solver, starts)
        return [dual.compact() for dual in duals]

    def measure(self) -> None:
        """Measure the sets of all candidates, and choose: on common points, or by a bound if these are too few.

        The points are drawn for the largest set of the candidate that a smaller pilot sample prefers. They serve
        candidates that are added later, and other scalings, as long as their effective sample size is sufficient.
        """
        if self.is_bounded:
            self._choose()
            return
        pilot = False
        if self.sample is None:
            eligible = eligible_bandwidths([c.report.training_mass for c in self.candidates], self.masses)
            pilot = self.sampler.adaptive and len(self.candidates) > 1
            self._draw(self.candidates[eligible[len(eligible) // 2]], _PILOT_SHARE if pilot else 1.0)
        self._choose()
        if pilot or (self.effective_sample_size < SUFFICIENT and not self._is_final):
            self._is_final = not pilot
            self._draw(self.best)
            self._choose()
        if self._can_be_bounded and self.effective_sample_size < _COMPARABLE:
            self.is_bounded = True
            self._choose()

    def _draw(self, candidate: Candidate, share: float = 1.0) -> None:
        most = _FEW_DRAWN if self.training_samples_are_small else MAX_FACTOR
        self.sample = self.sampler.draw(candidate.largest_set(self.run), share, most)
        self._scores = {}

    def _choose(self) -> None:
        """Compute the curves of all candidates, and apply the rule."""
        for candidate in self.candidates:
            if not self.is_bounded and self.sample is not None and candidate.sigma not in self._scores:
                self._scores[candidate.sigma] = candidate.logs(self.sample.points, self.run)
        self.curves = list(self.run(self._curve, self.candidates))
        self.choice = widest_of_smallest(
            self.curves,
            self.n_independent_splits,
            self._unmeasured_are_small,
            is_smooth=self.is_bounded,
            is_coarse=self.extensible and not self._is_refined,
        )
        self.criterion = "bound" if self.is_bounded else "log volume"
        if len(self.candidates) == 1:
            self.criterion = "given"
        elif np.isneginf(self.best_curve.mean_log_volume):
            self.criterion = "middle"
        size = self.effective_sample_size
        self.reason = _REASONS[self.criterion].format(size=size, n_candidates=len(self.candidates))

    def _curve(self, candidate: Candidate) -> BandwidthCurve:
        """The mass-volume curve of a candidate."""
        by_mass = candidate.report.training_mass, self.masses, candidate.offsets, candidate.split_offsets
        if self.is_bounded or self.sample is None:
            return bound_curve(candidate.sigma, *by_mass, candidate.log_square_integral)
        return bandwidth_curve(candidate.sigma, *by_mass, self.sample, self._scores[candidate.sigma])

    @property
    def _unmeasured_are_small(self) -> bool:
        return self.sample is not None and self.sample.method == "box"

    @property
    def _can_be_bounded(self) -> bool:
        """Whether a bound decides if no sample of points measures volumes: not in the few columns of the box."""
        return (self.extensible or len(self.candidates) > 1) and self.sampler.adaptive

    @property
    def effective_sample_size(self) -> float:
        """Of the points in the best set of the largest mass."""
        curve = self.best_curve
        bounded = np.flatnonzero(curve.offsets > NO_KERNEL)  # sets that are not all of space
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
    def _needs_larger_nu(self) -> bool:
        """Whether no bandwidth meets the condition on ν, or the narrowest that does is the best one."""
        met = [self._meets_nu(candidate) for candidate in self.candidates]
        if not any(met):
            return True
        enough = self.is_bounded or len(self.X) >= _NU_ROWS
        return enough and not met[0] and self.choice.best == met.index(True)

    def _gains_nothing_by_width(self, sigmas: Array) -> bool:
        """Whether the grid grows beyond the global scale of the rows although the last step made no set smaller."""
        values, widest = self.choice.values, self.candidates[-1].sigma
        grows_wider = len(sigmas) > 0 and sigmas[0] > widest > _WIDE * np.sqrt(self.mapped.var(axis=0).sum())
        return bool(grows_wider and len(values) > 1 and values[-2] - values[-1] < SAME_VOLUME)

    def _leave_out_failures(self) -> Array:
        """Leave out the bandwidths that fail the condition on ν; these and narrower ones, to be tried with another."""
        widest = self.candidates[-1]
        self.candidates = [candidate for candidate in self.candidates if self._meets_nu(candidate)]
        left = {candidate.sigma for candidate in self.candidates}
        self._scores = {sigma: scores for sigma, scores in self._scores.items() if sigma in left}
        if not self.candidates:
            return np.append(widest.sigma, narrower_bandwidths(widest.sigma))
        return narrower_bandwidths(self.candidates[0].sigma)

    def _is_past_the_bound(self) -> bool:
        """Whether the last candidate is narrower than the one with the least bound.

        Where volumes decide, it must be narrower by far, and the grid grows again if the narrowest is best.
        """
        if self.curves and not self.is_bounded:
            return False
        bounds = [float(np.mean(each.log_square_integral - 2.0 * each.offsets)) for each in self.candidates]
        share = 1.0 if self.is_bounded else _FAR_NARROWER
        return self.candidates[-1].sigma < share * self.candidates[int(np.argmin(bounds))].sigma

    def _last_fails(self) -> bool:
        """Whether the last candidate fails the condition on ν where an earlier one met it."""
        met = [self._meets_nu(candidate) for candidate in self.candidates]
        return any(met) and not met[-1]


_REASONS = {
    "given": "One bandwidth was given.",
    "log volume": "Of {n_candidates} bandwidths, the widest whose sets are as small as the smallest, up to the "
    "standard error; effective sample size {size:.0f}.",
    "bound": "Of {n_candidates} bandwidths, the one with the smallest bound on the volume of its sets.",
    "middle": "The middle of the bandwidths into whose sets no sample point fell.",
}
