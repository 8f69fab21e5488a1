"""The two algorithms of the paper: Fig. 2 is one split, Fig. 3 is B of them.

Comments in `fit` follow the lines of Fig. 3; text in parentheses is ours. Names are the paper's symbols, with the
splits b in lists. X_test is `held_out`. `f` contains f_σ^b at the test rows. `duals` contains the solutions, whose
`coefficients` are γ^b.
"""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import _fit_context
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from mvset.bandwidth.choice import meets_nu_condition
from mvset.bandwidth.curves import BandwidthCurve, bandwidth_curve, mass_grid
from mvset.bandwidth.grid import bandwidth_grid
from mvset.calibration.calibration import Calibration
from mvset.calibration.constant_columns import ConstantColumns
from mvset.calibration.fitted_sets import FittedSets
from mvset.calibration.offsets import offset_at, offsets_by_rank
from mvset.calibration.split_models import SplitModels
from mvset.calibration.splits import random_splits, warn_if_unresolved
from mvset.estimators.base import SetEstimator
from mvset.exceptions import BandwidthWarning, warn
from mvset.parallel import Map, thread_map
from mvset.rows.validation import candidate_sigmas, checked_ranges, validated_rows
from mvset.svm.dual import Dual, Solver, SolveReport, solve_duals, warn_if_unconverged
from mvset.svm.expansion import KernelExpansion, Precision, kernel_expansion
from mvset.svm.gram import gaussian_gram
from mvset.values import Array, Flags
from mvset.volume.box import draw_box_sample
from mvset.volume.measure import VolumeSample
from mvset.volume.sampler import VolumeSampler, warn_if_unreliable

_TOL = 1e-3  # LIBSVM's default
_RANKING_TOL = 30.0 * _TOL  # looser, to compare bandwidths: it changes volumes by about 0.1 %
# Sample points are scored in float32. If the kernel is nearly constant, this keeps rounding from excluding all of them.
_FLOAT32_ROUNDING = 1e-6
_BOX_COLUMNS = 3  # with more, few uniform points fall into the sets
_PILOT_SHARE = 0.1  # of the sample points, drawn first to find the bandwidth for which all are drawn


@dataclass(frozen=True)
class _Model:
    """The solutions at one bandwidth: the mean function F_σ^B without offsets, and ρ̂_β^b by split and mass."""

    function: KernelExpansion
    rho: Array
    duals: list[Dual]

    @property
    def mean_rho(self) -> Array:
        """Mean of ρ̂_β^b over the splits b: the offset of each aggregated set, less a millionth in this comparison."""
        return np.asarray((1.0 - _FLOAT32_ROUNDING) * self.rho.mean(axis=0))

    def in_largest_set(self, points: Array) -> Flags:
        """Return which points lie in the largest set whose offset is positive; at zero it would be all of space."""
        offset = min(self.mean_rho[self.mean_rho > 0.0], default=self.mean_rho[-1])
        return np.asarray(self.function(points) >= offset)


@dataclass(repr=False, eq=False)
class CalibratedOneClassSVM(SetEstimator):
    r"""One-class SVM with calibrated offset and selected bandwidth, as printed in the paper.

    :meth:`fit` is Fig. 2 of the paper if `n_splits` is 1, and Fig. 3 otherwise. :class:`MinimumVolumeSet` builds on
    this method. Its sets contain the requested mass on more kinds of tables.

    Parameters
    ----------
    mass : float, default=0.95
        Mass α of the set, in (0, 1).
    nu : float, default=0.4
        ν of the one-class SVM, in (0, 1]. It bounds the share of training rows outside the set *before* calibration.
        Increase it if `fit` warns that it is too small.
    sigmas : "auto", float or array-like of float, default="auto"
        The set Σ of bandwidths σ of the kernel :math:`\exp(-|x-y|^2 / 2\sigma^2)`. "auto" is a geometric grid between
        the distance of nearest neighbours and the standard deviation of all rows; the paper states its own lists.
    mass_margin : float, default=0.04
        Bandwidths are compared over the masses ``mass`` ± `mass_margin` (c in the paper). A margin of more than 0.8
        times the distance of `mass` to 0 or 1 is reduced to that.
    n_masses : int, default=10
        Number of masses β in that interval.
    n_splits : int, default=10
        Number B of random splits whose models are averaged.
    test_size : float, default=0.2
        Share of the rows in the test set of each split.
    n_volume_points : int, default=10_000
        Number of points that measure volumes; in the box, up to twice as many for evenly spread sequences. With more
        than three columns the box is enlarged by half, and up to eight times as many are drawn if these are too few.
    n_jobs : int or None, default=None
        Number of threads; -1 for all cores.
    random_state : int, RandomState instance or None, default=None
        Seed of the splits and of the points that measure volumes.

    Attributes
    ----------
    sigma_ : float
        The selected bandwidth, with the smallest area under the mass-volume curve.
    curves_ : list of BandwidthCurve
        The mass-volume curve of every bandwidth, narrowest first; `area` is AMV(σ).
    offset_ : float
        Offset of the set of mass `mass`, the mean over the splits: ``decision_function = score_samples - offset_``.
    volume_ : VolumeEstimate
        Volume of the set of mass `mass`, with its standard error.
    sets_ : FittedSets
        The nested sets, one for every mass.
    n_iter_ : int
        Iterations of the solver at the selected bandwidth, summed over splits.
    n_features_in_, feature_names_in_ : int, ndarray of str
        Number of columns seen by `fit`, and their names if X has string column names.

    See Also
    --------
    MinimumVolumeSet : The library's own estimator.

    Notes
    -----
    All bandwidths of Σ compete, as printed. Section II-B also asks for a ν so large that the set before calibration
    contains at most :math:`\alpha - c` of the training rows. If the selected bandwidth fails this condition, `fit`
    warns.

    The computation differs from the printed lines in these points:

    - The loops over b and σ are swapped, so that one Gram matrix per bandwidth serves every split.
    - The splits are balanced: together they test every row equally often. The paper draws independent splits.
    - A share of exactly β of the test rows seldom exists. We take the smallest share that is at least β. All offsets
      between two neighbouring test values give this share, and bisection would end at the upper one or in between. We
      take the middle; below the last test value there is none, and its value is the offset.
    - The dual is solved on a Gram matrix in float32, by our own solver. Bandwidths are compared at 30 times LIBSVM's
      tolerance. There, values of f_σ^b below 10⁻¹⁶ of its value on the border count as zero, so a bandwidth that is
      narrow beside the distances of test rows has sets as large as the box. The selected bandwidth is solved again at
      LIBSVM's tolerance, and evaluated in float64.
    - The uniform points are Sobol points, which are more evenly spread. With more than three columns, few points of the
      box hit the sets. We then use importance sampling, another distribution q of Section II-C.
    - A row in which a column differs that never changed in the training rows lies outside every set.

    References
    ----------
    A. Thomas, V. Feuillard, A. Gramfort, "Calibration of One-Class SVM for MV set estimation", IEEE DSAA, 2015.

    Examples
    --------
    Boston housing as in Section III-E, with three of its 30 bandwidths. The paper reports that the set of mass 0.90
    contains 0.91 of all rows:

    >>> import numpy as np
    >>> from mvset.paper import CalibratedOneClassSVM
    >>> from mvset.paper.datasets import boston
    >>> X = boston()
    >>> model = CalibratedOneClassSVM(0.95, sigmas=[0.423, 0.56, 0.7], n_splits=25, random_state=0).fit(X)
    >>> model.sigma_
    0.423
    >>> round(float(np.mean(model.predict(X, mass=0.90) == 1)), 2)
    0.91
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **SetEstimator._parameter_constraints,
        "nu": [Interval(Real, 0, 1, closed="right")],
        "sigmas": [StrOptions({"auto"}), Interval(Real, 0, None, closed="neither"), "array-like"],
        "mass_margin": [Interval(Real, 0, 1, closed="neither")],
        "n_masses": [Interval(Integral, 2, 1000, closed="both")],
        "n_splits": [Interval(Integral, 1, None, closed="left")],
        "test_size": [Interval(Real, 0, 1, closed="neither")],
    }

    mass: float = 0.95
    _: KW_ONLY
    nu: float = 0.4
    sigmas: float | ArrayLike | Literal["auto"] = "auto"
    mass_margin: float = 0.04
    n_masses: int = 10
    n_splits: int = 10
    test_size: float = 0.2
    n_volume_points: int = 10_000
    n_jobs: int | None = None
    random_state: int | np.random.RandomState | None = None

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> Self:
        """Run the algorithm of Fig. 3, or of Fig. 2 with a single split.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows of normal behaviour.
        y : Ignored
            Present for API consistency.

        Returns
        -------
        self : CalibratedOneClassSVM
            The fitted estimator.
        """
        X = validated_rows(self, X, reset=True)
        lowest, highest = checked_ranges(self, X)
        rng = check_random_state(self.random_state)
        # Input: parameter ν, mass α, data set X, kernel bandwidths set Σ, c > 0, number of models B
        nu, alpha, c, B = self.nu, self.mass, self.mass_margin, self.n_splits
        betas = mass_grid(alpha, c, self.n_masses)
        # for b in {1, …, B}: Randomly split X in a training set X_train and a test set X_test
        # (Each split is a uniform draw. Together, the splits test every row equally often.)
        splits = random_splits(len(X), B, self.test_size, rng)
        trains = [split.train for split in splits]
        Sigma = bandwidth_grid(X, rng) if isinstance(self.sigmas, str) else candidate_sigmas(self.sigmas, "sigmas")
        ranking = Solver(nu, _TOL if len(Sigma) == 1 else _RANKING_TOL)
        K, duals, models = None, None, []
        with thread_map(self.n_jobs) as run:
            # for kernel bandwidth σ in Σ (the widest first: each solution is a start for the next)
            for sigma in np.sort(Sigma)[::-1].tolist():
                # f_σ^b = OCSVM(ν, σ, X_train) (for all b)
                K = gaussian_gram(X, sigma, run, recycle=K)
                duals = solve_duals(K, trains, ranking, duals, run)
                f = SplitModels(X, duals, sigma, precision="single").held_out_values(splits)
                # for β in [α-c, α+c]: Bisection search to find ρ̂_β^b such that P_test({x, f_σ^b(x) - ρ̂_β^b ≥ 0}) = β
                # (without a search: the test values in descending order are the offsets of all shares)
                rho = offset_at(offsets_by_rank(f), betas)
                # (F is the mean of f_σ^b over b. F_{σ,β}^B(x) ≥ 0 where F(x) ≥ the mean of ρ̂_β^b: `_Model.mean_rho`)
                F = _mean_function(X, duals, sigma, "single")
                models.append(_Model(F, rho, [dual.compact() for dual in duals]))
            models.reverse()  # narrowest first
            # For all β and all σ, compute the volume μ_β^σ of the set {x, F_{σ,β}^B(x) ≥ 0} (by Monte Carlo)
            # where F_{σ,β}^B(x) = 1/B Σ_b (f_σ^b(x) - ρ̂_β^b)
            # Compute Area under the Mass Volume curve (β, μ_β^σ) for each σ: AMV(σ)
            sample, self.curves_ = self._measured(X, models, betas, rng, run)
            # σ_opt = argmin_{σ ∈ Σ} AMV(σ)
            best = int(np.argmin([curve.area for curve in self.curves_]))
            self.sigma_ = sigma = self.curves_[best].sigma
            # (σ_opt once more, at the full tolerance: f_σ^b on the test rows, and ρ̂_β^b for every share β of them)
            K = gaussian_gram(X, sigma, run, recycle=K)
            duals = solve_duals(K, trains, Solver(nu, _TOL), models[best].duals, run)
            every_rho = offsets_by_rank(SplitModels(X, duals, sigma).held_out_values(splits, run))
            F = _mean_function(X, duals, sigma, "double")
            # return Ĝ_α^B = {x, F_{σ_opt,α}^B(x) ≥ 0} (and the nested sets of all other masses, Proposition 2:
            # `FittedSets.offset` is the mean of ρ̂_β^b over b, at the mass α or any other)
            self.sets_ = FittedSets(
                function=F,
                mass=alpha,
                masses=betas,
                calibration=Calibration.without_scores(every_rho.mean(axis=0)),
                constants=ConstantColumns.between(lowest, highest),
                volume_sample=sample,
                sample_scores=F(sample.points, run),
            )
        reports = [SolveReport.of(each) for each in (*(model.duals for model in models), duals)]
        self.n_iter_ = reports[-1].iterations
        warn_if_unconverged(reports, _TOL)
        warn_if_unresolved(alpha, len(splits[0].held_out))
        warn_if_unreliable(self.sets_.volume(betas[-1]), sample, f"the set of mass {betas[-1]:.3g}", "n_volume_points")
        _warn_about_nu(nu, self.curves_[best])
        return self

    def _measured(
        self, X: Array, models: Sequence[_Model], betas: Array, rng: np.random.RandomState, run: Map
    ) -> tuple[VolumeSample, list[BandwidthCurve]]:
        """Draw one sample for all bandwidths and masses (Section II-C); return it with the curve of each bandwidth."""

        def measured(model: _Model) -> BandwidthCurve:
            scores, training_mass = model.function(sample.points), SolveReport.of(model.duals).training_mass
            sigma = model.function.sigma
            return bandwidth_curve(sigma, training_mass, betas, model.mean_rho, model.rho, sample, scores)

        if X.shape[1] <= _BOX_COLUMNS:  # q is uniform over the hypercube that encloses the rows
            sample = draw_box_sample(X, self.n_volume_points, rng)
            return sample, list(run(measured, models))
        # q follows the largest set of one bandwidth: the middle bandwidth first, then that with the smallest area.
        sampler, drawn_for = VolumeSampler("auto", X, self.n_volume_points, rng), models[len(models) // 2]
        for share in (_PILOT_SHARE, 1.0):
            sample = sampler.draw(drawn_for.in_largest_set, share)
            curves = list(run(measured, models))
            drawn_for = models[int(np.argmin([curve.area for curve in curves]))]
        return sample, curves


def _mean_function(X: Array, duals: Sequence[Dual], sigma: float, precision: Precision) -> KernelExpansion:
    """Return the mean of f_σ^b over b: one kernel expansion, whose weights are the means of the γ_i^b."""
    return kernel_expansion(X, np.mean([dual.coefficients for dual in duals], axis=0), sigma, precision=precision)


def _warn_about_nu(nu: float, curve: BandwidthCurve) -> None:
    """Warn if the selected bandwidth fails the condition on ν."""
    if not meets_nu_condition(curve.training_mass, curve.masses):
        warn(
            f"nu={nu:g} is too small for sigma={curve.sigma:.4g}: before calibration the set contains "
            f"{curve.training_mass:.3f} of the training rows. The paper allows at most {curve.masses[0]:.3f} (Section "
            "II-B). Increase nu, or remove narrow bandwidths from sigmas.",
            BandwidthWarning,
        )
