"""Step 10: the estimator. Its `fit` reads steps 1 to 9 in the order of the paper."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, _fit_context
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from mvset.bandwidth.curves import bandwidth_curve, mass_grid
from mvset.bandwidth.grid import bandwidth_grid, extend_grid
from mvset.bandwidth.ranking import Candidate, Ranking, fails_after_success, rank_bandwidths
from mvset.bandwidth.subsets import points_are_too_few, rank_on_subsets
from mvset.calibration.guarantees import CALIBRATION_MODES, CalibrationMode, Promise, Reservation
from mvset.calibration.level_sets import aggregate, held_out_scores
from mvset.calibration.offsets import order_statistics
from mvset.calibration.splits import Split, mean_by_row, random_splits
from mvset.diagnostics import Progress, SolveReport, warn_about_bandwidth, warn_if_unconverged, warn_if_unresolved
from mvset.estimators.base import NestedSetsMixin
from mvset.estimators.certainty import CertaintyMixin
from mvset.explanation import ExplanationMixin
from mvset.parallel import Map, thread_map
from mvset.svm.dual import Dual, solve_duals
from mvset.svm.gram import gaussian_gram
from mvset.validation import candidate_sigmas, check_extent, check_spread, validated_rows
from mvset.volume.sampler import VOLUME_METHODS, VolumeMethod, VolumeSampler


@dataclass(frozen=True)
class Solution:
    """One bandwidth solved: its nested sets, and the duals and their report behind them."""

    candidate: Candidate
    duals: list[Dual]
    report: SolveReport


class MinimumVolumeSet(ExplanationMixin, CertaintyMixin, NestedSetsMixin, BaseEstimator):
    r"""Minimum Volume set of a given mass, with calibrated offset and automatic bandwidth.

    Estimates the smallest region that holds a share `mass` of the distribution of the rows. A Gaussian one-class SVM is
    trained at a fixed `nu` on part of the rows; its offset is set on the other part so that the region holds the mass
    asked for, on rows it has not seen; this is done for `n_splits` random splits and averaged. Of the candidate
    bandwidths the one with the least area under the mass-volume curve around `mass` is kept. The same fit gives nested
    sets for every other mass.

    Standardise columns of different units first: one bandwidth serves all columns.

    Parameters
    ----------
    mass : float, default=0.95
        Share α of the distribution that the set shall hold, in (0, 1). New rows are flagged at a rate of ``1 - mass``,
        or less where more is promised.
    nu : float, default=0.4
        ν of the one-class SVM, in (0, 1]. It bounds the share of training rows outside the *unshifted* set, which must
        exceed ``1 - mass + mass_margin``; it does not set the mass. A warning says when to raise it.
    sigma : "auto", float or array-like of float, default="auto"
        Bandwidth σ of the kernel :math:`\exp(-|x-y|^2 / 2\sigma^2)`. "auto" tries a grid from the global scale of the
        rows down to their nearest-neighbour scale, or to where bandwidths get too narrow to describe the masses asked
        for, and extends it when the best value sits on its edge; an array gives the candidates; a number is taken as it
        is.
    n_splits : int, default=10
        Number B of random splits averaged. 1 gives the paper's first algorithm.
    test_size : float, default=0.2
        Share of the rows held out in each split to set the offset.
    calibration : {"split", "conformal", "pac"}, default="split"
        What is promised about the mass. "split", the paper's mean of held-out offsets, hits it on average and promises
        nothing about finite samples. "conformal" reserves a calibration set that nothing else sees: a new row falls
        inside with probability `mass` at least, whatever the distribution, over draws of all rows (marginal). "pac"
        reserves one, too: with probability `confidence` over draws of it, the true mass of the set is `mass` at least
        (conditional on the rows). Both have a price in volume, and raise an error where the rows are too few. A scaler
        fitted to the same rows has seen the reserved ones: for exact promises fit it to others.
    confidence : float, default=0.95
        Of the "pac" promise.
    calibration_size : float, default=0.5
        Share of the rows reserved by "conformal" and "pac".
    mass_margin : float, default=0.04
        The area under the mass-volume curve is taken over ``mass`` ± `mass_margin` (c in the paper), shrunk where that
        would leave (0, 1).
    n_masses : int, default=10
        Number of masses on that interval.
    volume_method : {"auto", "box", "importance"}, default="auto"
        How the points that measure volumes are drawn: uniformly in the box around the rows, as in the paper, or by
        importance sampling, where the sets are. "auto" takes the box up to three columns and importance sampling beyond
        or where the box is hardly hit; and up to eight times `n_volume_points` when they are too few.
    n_volume_points : int, default=10_000
        Number of these points.
    tol : float, default=1e-3
        Tolerance of the solver on the optimality conditions, on the scale of scikit-learn's ``OneClassSVM``.
    max_iter : int, default=-1
        Limit on the solver's iterations, for each split and bandwidth. -1 means no limit short of ten million.
    n_jobs : int or None, default=None
        Number of threads; -1 for all cores. Results do not depend on it.
    random_state : int, RandomState instance or None, default=None
        Draws the splits and the points that measure volumes. Give an int for reproducible results.
    verbose : bool or int, default=False
        Print a line per bandwidth to stderr.

    Attributes
    ----------
    sigma_ : float
        The bandwidth chosen.
    offset_ : float
        Offset of the set of mass `mass`: ``decision_function = score_samples - offset_``.
    support_vectors_ : ndarray of shape (n_SV, n_features)
        Rows with a non-zero weight in at least one split.
    dual_coef_ : ndarray of shape (1, n_SV)
        Their weights; they sum to one.
    volume_ : VolumeEstimate
        Volume of the set of mass `mass`, with its standard error.
    mass_interval_ : MassInterval
        95 % confidence interval for the true mass of the set; see :meth:`mass_interval`.
    curves_ : list of BandwidthCurve
        The mass-volume curve of every bandwidth tried, narrowest first, by which one was chosen. With a reserved
        calibration set they are those of the other rows, before it sets the offsets.
    selection_ : Selection
        How the bandwidth was chosen among them, and with how many effective sample points.
    masses_ : ndarray of shape (n_masses,)
        The masses of the columns of :meth:`transform`: those of these curves, as far as the rows can promise them.
    n_iter_ : int
        Iterations of the solver at the bandwidth chosen, summed over splits.
    n_features_in_ : int
        Number of columns seen by `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, when X has string column names.

    See Also
    --------
    OneClassSVM : The plain one-class SVM on the same solver.

    Notes
    -----
    Memory: one float32 Gram matrix, at most 1 GiB; above 16 384 rows kernel rows are computed when needed instead.

    References
    ----------
    A. Thomas, V. Feuillard, A. Gramfort, "Calibration of One-Class SVM for MV set estimation", IEEE DSAA, 2015.

    Examples
    --------
    >>> import numpy as np
    >>> from mvset import MinimumVolumeSet
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 2))
    >>> model = MinimumVolumeSet(mass=0.95, random_state=0).fit(X)
    >>> model.predict([[0.0, 0.0], [4.0, 4.0]])
    array([ 1, -1])
    >>> share_inside = np.mean(model.predict(rng.normal(size=(10_000, 2))) == 1)
    >>> bool(0.92 < share_inside < 0.98)
    True

    The volume is close to that of the disc which holds 95 % of the Gaussian, 18.8:

    >>> bool(abs(model.volume_.value - 18.8) < 3)
    True
    """

    _parameter_constraints: dict[str, list[Any]] = {
        "mass": [Interval(Real, 0, 1, closed="neither")],
        "nu": [Interval(Real, 0, 1, closed="right")],
        "sigma": [StrOptions({"auto"}), Interval(Real, 0, None, closed="neither"), "array-like"],
        "n_splits": [Interval(Integral, 1, None, closed="left")],
        "test_size": [Interval(Real, 0, 1, closed="neither")],
        "calibration": [StrOptions(set(CALIBRATION_MODES))],
        "confidence": [Interval(Real, 0, 1, closed="neither")],
        "calibration_size": [Interval(Real, 0, 1, closed="neither")],
        "mass_margin": [Interval(Real, 0, 1, closed="neither")],
        "n_masses": [Interval(Integral, 2, None, closed="left")],
        "volume_method": [StrOptions(set(VOLUME_METHODS))],
        "n_volume_points": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, -1, None, closed="left")],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        mass: float = 0.95,
        *,
        nu: float = 0.4,
        sigma: float | ArrayLike | Literal["auto"] = "auto",
        n_splits: int = 10,
        test_size: float = 0.2,
        calibration: CalibrationMode = "split",
        confidence: float = 0.95,
        calibration_size: float = 0.5,
        mass_margin: float = 0.04,
        n_masses: int = 10,
        volume_method: VolumeMethod = "auto",
        n_volume_points: int = 10_000,
        tol: float = 1e-3,
        max_iter: int = -1,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: bool | int = False,
    ) -> None:
        self.mass = mass
        self.nu = nu
        self.sigma = sigma
        self.n_splits = n_splits
        self.test_size = test_size
        self.calibration = calibration
        self.confidence = confidence
        self.calibration_size = calibration_size
        self.mass_margin = mass_margin
        self.n_masses = n_masses
        self.volume_method = volume_method
        self.n_volume_points = n_volume_points
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> MinimumVolumeSet:
        """Estimate the set.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows of normal behaviour.
        y : Ignored
            Present for API consistency.

        Returns
        -------
        self : MinimumVolumeSet
            The fitted estimator.

        Examples
        --------
        >>> from mvset import MinimumVolumeSet
        >>> from mvset.datasets import two_moons
        >>> MinimumVolumeSet(sigma=0.3, random_state=0).fit(two_moons(300, random_state=0)).sigma_
        0.3
        """
        X = validated_rows(self, X, reset=True)
        check_spread(self, X)
        rng = check_random_state(self.random_state)
        X, reserved = self._reserve(X, rng)
        splits = random_splits(len(X), self.n_splits, self.test_size, rng)
        masses = mass_grid(self.mass, self.mass_margin, self.n_masses)
        source = VolumeSampler(self.volume_method, X, self.n_volume_points, rng)
        automatic = isinstance(self.sigma, str)
        sigmas = bandwidth_grid(X, rng) if automatic else candidate_sigmas(self.sigma)
        with thread_map(self.n_jobs) as run:
            solutions, ranking = self._try_bandwidths(X, splits, sigmas, masses, source, run, extensible=automatic)
            chosen = solutions[ranking.best]
            # The set chosen, once more in full precision.
            sigma = chosen.candidate.sigma
            held_out = held_out_scores(X, splits, chosen.duals, sigma, np.float64, run)
            level_sets = aggregate(X, chosen.duals, held_out, sigma, np.float64)
            scores = level_sets.function(ranking.probe.points, run)
            unseen = mean_by_row(splits, held_out) if reserved is None else level_sets.function(reserved, run)
        curves, probe = ranking.curves, ranking.probe
        curves[ranking.best] = bandwidth_curve(level_sets, masses, probe, scores, chosen.candidate.training_mass)
        if reserved is not None:
            level_sets = replace(
                level_sets, split_offsets=order_statistics(unseen), promise=Promise(self.calibration, self.confidence)
            )

        self.sigma_ = sigma
        self.support_vectors_ = level_sets.function.centres
        self.dual_coef_ = level_sets.function.weights[np.newaxis]
        self._keep(level_sets, masses, probe, scores)
        self._keep_calibration(unseen, held_out)
        self.curves_ = curves
        self.selection_ = ranking.selection
        self.n_iter_ = chosen.report.iterations
        warn_if_unconverged([solution.report for solution in solutions], self.tol)
        if reserved is None:
            warn_if_unresolved(self.mass, len(splits[0].held_out), self.test_size)
        warn_about_bandwidth(self.nu, curves, ranking.best, ranking.selection)
        return self

    def _reserve(
        self, X: NDArray[np.float64], rng: np.random.RandomState
    ) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
        """Rows to fit with, and those reserved to calibrate with, where the promise takes such."""
        if self.calibration == "split":
            return X, None
        promise = Promise(self.calibration, self.confidence)
        kept, reserved = Reservation(promise, self.mass, self.calibration_size, self.test_size).draw(len(X), rng)
        check_extent(X[kept])
        return X[kept], X[reserved]

    def _try_bandwidths(
        self,
        X: NDArray[np.float64],
        splits: Sequence[Split],
        sigmas: NDArray[np.float64],
        masses: NDArray[np.float64],
        source: VolumeSampler,
        run: Map,
        *,
        extensible: bool,
    ) -> tuple[list[Solution], Ranking]:
        """Solve and rank bandwidths; an extensible grid ends where they fail and grows if the best is on its edge."""
        # More splits hold out the same rows again, and say no more about the offsets.
        n_independent = min(len(splits), len(X) / len(splits[0].held_out))
        solutions: list[Solution] = []
        ranking = None
        rounds = 0
        while ranking is None or len(sigmas):
            for solution in self._solutions(X, splits, sigmas, run, self.verbose):
                solutions.append(solution)
                if extensible and fails_after_success([s.candidate for s in solutions], masses):
                    break  # narrower ones fail the condition on nu all the more
            solutions.sort(key=lambda solution: solution.candidate.sigma)
            candidates = [solution.candidate for solution in solutions]
            ranking = rank_bandwidths(candidates, masses, source, n_independent, run, previous=ranking)
            grows = extensible and ranking.selection.criterion != "middle"
            grid = [candidate.sigma for candidate in candidates]
            sigmas = extend_grid(grid, ranking.best, rounds) if grows else np.empty(0)
            rounds += 1
        if points_are_too_few(ranking, source):

            def solve(rows: NDArray[np.float64], widths: NDArray[np.float64]) -> list[Candidate]:
                return [s.candidate for s in self._solutions(rows, splits, widths, run)][::-1]

            ranking = rank_on_subsets(ranking, solve, masses, source, n_independent, run)
        return solutions, ranking

    def _solutions(
        self,
        X: NDArray[np.float64],
        splits: Sequence[Split],
        sigmas: NDArray[np.float64],
        run: Map,
        verbose: bool | int = False,
    ) -> Iterator[Solution]:
        """Solve every split at each bandwidth, from wide to narrow: each solution starts from the one before."""
        gram = duals = None
        for sigma in Progress(np.sort(sigmas)[::-1].tolist(), verbose):
            gram = gaussian_gram(X, sigma, run, recycle=gram)
            duals = solve_duals(gram, splits, nu=self.nu, tol=self.tol, max_iter=self.max_iter, starts=duals, run=run)
            report = SolveReport.of(duals)
            scores = held_out_scores(X, splits, duals, sigma, np.float32, run)
            level_sets = aggregate(X, duals, scores, sigma, np.float32)
            yield Solution(Candidate(level_sets, report.training_mass), [dual.compact() for dual in duals], report)
