"""The plug-in approach the method is compared with: a kernel density estimate, cut at the mass of its own rows."""

from dataclasses import KW_ONLY, dataclass
from numbers import Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import _fit_context
from sklearn.model_selection import KFold, cross_val_score
from sklearn.neighbors import KernelDensity
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from mvset.bandwidth.grid import bandwidth_grid, narrower_bandwidths
from mvset.calibration.calibration import Calibration
from mvset.calibration.constant_columns import ConstantColumns
from mvset.calibration.offsets import offsets_by_rank
from mvset.estimators.base import SetEstimator, measured_sets
from mvset.exceptions import CalibrationWarning, warn
from mvset.rows.validation import candidate_sigmas, checked_ranges, validated_rows
from mvset.svm.expansion import kernel_expansion
from mvset.values import Array
from mvset.volume.sampler import VolumeSampler

_FOLDS = 4  # as in the paper


@dataclass(repr=False, eq=False)
class PluginKernelDensity(SetEstimator):
    r"""Level set of a Gaussian kernel density estimate, at the empirical quantile: the plug-in approach.

    This is the baseline of the paper's Section III-C, with the methods of :class:`MinimumVolumeSet`. The bandwidth has
    the largest likelihood in 4-fold cross-validation. A share `mass` of the *training* rows reaches the threshold. In
    many dimensions each row lies under its own kernel, so the set contains less of new rows than asked for.
    :class:`CalibratedSet` around :class:`sklearn.neighbors.KernelDensity` sets the threshold on rows held out. Scores
    of training rows are no calibration, so p-values, intervals, bands, `detect` and `check_drift` raise an error;
    `drift_monitor` works.

    Parameters
    ----------
    mass : float, default=0.95
        Share of the training rows that the set contains, in (0, 1).
    sigma : "auto", float or array-like of float, default="auto"
        Bandwidth, the standard deviation of the Gaussian around every row. "auto" tries the grid of
        :class:`MinimumVolumeSet`. An array lists the candidates (the paper: ``np.linspace(0.1, 10, 15)``). A number is
        used as it is.
    n_volume_points : int, default=10_000
        Number of points that measure volumes.
    n_jobs : int or None, default=None
        Number of cross-validation folds fitted at the same time, by joblib; -1 for all cores.
    random_state : int, RandomState instance or None, default=None
        Draws the folds and the points that measure volumes.

    Attributes
    ----------
    sigma_ : float
        The bandwidth chosen.
    sigmas_ : ndarray of shape (n_candidates,)
        The bandwidths tried, narrowest first.
    log_likelihoods_ : ndarray of shape (n_candidates,)
        Their mean log likelihoods of a row held out; empty when only one was given.
    offset_ : float
        Offset of the set of mass `mass`: ``decision_function = score_samples - offset_``.
    volume_ : VolumeEstimate
        Volume of the set of mass `mass`, with its standard error.
    n_features_in_ : int
        Number of columns seen by `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, when X has string column names.

    See Also
    --------
    CalibratedOneClassSVM : The method of the paper.
    CalibratedSet : Any detector, KernelDensity included, calibrated on rows held out.

    Notes
    -----
    Scores are the density times :math:`(2\pi\sigma^2)^{d/2}`: the expansion of :class:`MinimumVolumeSet` with equal
    weights, which is also the one-class SVM at ν = 1.

    Examples
    --------
    >>> from mvset import MinimumVolumeSet
    >>> from mvset.paper import PluginKernelDensity
    >>> from mvset.paper.datasets import paper_mixture
    >>> mixture = paper_mixture(n_features=6)
    >>> X, X_new = mixture.sample(500, random_state=0), mixture.sample(5000, random_state=1)
    >>> plugin = PluginKernelDensity(mass=0.95, random_state=0).fit(X)
    >>> ours = MinimumVolumeSet(mass=0.95, random_state=0).fit(X)
    >>> bool((plugin.predict(X) == 1).mean() >= 0.95)
    True
    >>> bool((plugin.predict(X_new) == 1).mean() < 0.9 < (ours.predict(X_new) == 1).mean())
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **SetEstimator._parameter_constraints,
        "sigma": [StrOptions({"auto"}), Interval(Real, 0, None, closed="neither"), "array-like"],
    }

    mass: float = 0.95
    _: KW_ONLY
    sigma: float | ArrayLike | Literal["auto"] = "auto"
    n_volume_points: int = 10_000
    n_jobs: int | None = None
    random_state: int | np.random.RandomState | None = None

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> Self:
        """Choose the bandwidth, estimate the density and cut it.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows of normal behaviour.
        y : Ignored
            Present for API consistency.

        Returns
        -------
        self : PluginKernelDensity
            The fitted estimator.

        Examples
        --------
        >>> import numpy as np
        >>> from mvset.paper import PluginKernelDensity
        >>> from mvset.paper.datasets import paper_mixture
        >>> X = paper_mixture().sample(500, random_state=0)
        >>> round(PluginKernelDensity(sigma=np.linspace(0.1, 10, 15), random_state=0).fit(X).sigma_, 2)
        0.81
        """
        X = validated_rows(self, X, reset=True)
        lowest, highest = checked_ranges(self, X)
        rng = check_random_state(self.random_state)
        self.sigma_ = self._choose_bandwidth(X, rng)
        density = kernel_expansion(X, np.full(len(X), 1.0 / len(X)), self.sigma_)
        if self.mass > 1.0 - 1.0 / len(X):
            needed = f"At least {int(np.ceil(1.0 / (1.0 - self.mass) - 1e-9))} are needed."
            held = "the set contains all of them, and less of new rows"
            warn(f"{len(X)} rows cannot resolve mass={self.mass:g}: {held}. {needed}", CalibrationWarning)
        calibration = Calibration.without_scores(offsets_by_rank(density(X))[0])
        sampler = VolumeSampler("auto", X, self.n_volume_points, rng)
        constants = ConstantColumns.between(lowest, highest)
        self.sets_ = measured_sets(density, self.mass, calibration, constants, sampler)
        return self

    def _choose_bandwidth(self, X: Array, rng: np.random.RandomState) -> float:
        """Return the bandwidth with the largest cross-validated likelihood; keep what was tried."""
        automatic = isinstance(self.sigma, str)
        grid = bandwidth_grid(X, rng) if automatic else candidate_sigmas(self.sigma)
        self.sigmas_ = np.sort(np.append(grid, narrower_bandwidths(grid.min())) if automatic else grid)
        self.log_likelihoods_ = np.empty(0)
        if len(self.sigmas_) == 1:
            return float(self.sigmas_[0])
        folds = KFold(min(_FOLDS, len(X)), shuffle=True, random_state=rng.randint(2**31 - 1))
        estimates = [KernelDensity(bandwidth=sigma) for sigma in self.sigmas_]
        # Each score is the log likelihood of a whole fold.
        scores = [cross_val_score(each, X, cv=folds, n_jobs=self.n_jobs).sum() for each in estimates]
        self.log_likelihoods_ = np.array(scores) / len(X)
        return float(self.sigmas_[np.argmax(scores)])
