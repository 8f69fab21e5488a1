"""The plain one-class SVM, the method that the paper compares with: at ν = 1-α, without calibration."""

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, OutlierMixin, _fit_context
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_array, check_is_fitted

from mvset.parallel import thread_map
from mvset.rows.validation import check_columns, check_extent, column_ranges, reject_non_numeric, validated_rows
from mvset.svm.dual import Solver, SolveReport, solve_dual, warn_if_unconverged
from mvset.svm.expansion import KernelExpansion, kernel_expansion
from mvset.svm.gram import lazy_gram
from mvset.values import Array, Indices, checked_array


@dataclass(kw_only=True, repr=False, eq=False)
class OneClassSVM(OutlierMixin, BaseEstimator):
    r"""One-class SVM with Gaussian kernel, a faster replacement for scikit-learn's.

    Parameters, attributes, scale and signs are those of ``sklearn.svm.OneClassSVM(kernel="rbf")``. With
    ``nu = 1 - mass`` it is the baseline of the paper: its set tends to hold less than `mass` of new rows, because
    nothing is held out to calibrate it. `MinimumVolumeSet` does that.

    Parameters
    ----------
    kernel : "rbf", default="rbf"
        The Gaussian kernel. Others raise an error.
    degree : int, default=3
        Accepted for compatibility with scikit-learn. No effect.
    gamma : "scale", "auto" or float, default="scale"
        Kernel coefficient, :math:`\exp(-\gamma |x-y|^2)`: "scale" is ``1 / (n_features * X.var())``, "auto" is
        ``1 / n_features``.
    coef0 : float, default=0.0
        Accepted for compatibility with scikit-learn. No effect.
    tol : float, default=1e-3
        Tolerance of the solver on the optimality conditions.
    nu : float, default=0.5
        Upper bound on the share of training rows outside the set and lower bound on the share of support vectors.
    shrinking : bool, default=True
        Accepted for compatibility with scikit-learn. No effect.
    cache_size : float, default=200
        Accepted for compatibility with scikit-learn. No effect.
    verbose : bool, default=False
        Accepted for compatibility with scikit-learn. No effect.
    max_iter : int, default=-1
        Limit on the solver's iterations; -1 means no limit short of ten million.
    sigma : float, optional
        Bandwidth, in place of `gamma`: ``gamma = 1 / (2 sigma²)``. Not in scikit-learn.
    n_jobs : int or None, default=None
        Number of threads that score rows; -1 for all cores. Not in scikit-learn.

    Attributes
    ----------
    support_ : ndarray of shape (n_SV,)
        Indices of the support vectors in X.
    support_vectors_ : ndarray of shape (n_SV, n_features)
        The support vectors.
    n_support_ : ndarray of shape (1,), dtype int32
        Number of support vectors.
    dual_coef_ : ndarray of shape (1, n_SV)
        Their coefficients: positive and at most the weight of the row; their sum is ``nu`` times that of the positive
        weights. Without `sample_weight` every weight is one.
    offset_ : ndarray of shape (1,)
        ``decision_function = score_samples - offset_``.
    intercept_ : ndarray of shape (1,)
        ``-offset_``.
    sigma_ : float
        The bandwidth in use.
    n_iter_ : int
        Iterations of the solver.
    fit_status_ : int
        0 if the solver converged, 1 otherwise (with a ``ConvergenceWarning``).
    shape_fit_ : tuple of int
        Shape of X in `fit`.
    n_features_in_ : int
        Number of columns seen by `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, when X has string column names.

    See Also
    --------
    MinimumVolumeSet : The same function with its offset calibrated on held-out rows.

    Notes
    -----
    The dual, eq. (3) of the paper in LIBSVM's scale and with the sample weights C_i as bounds:

    .. math:: \min_\alpha \tfrac12 \sum_{i,j} \alpha_i \alpha_j k(x_i, x_j)
        \quad\text{s.t.}\quad 0 \le \alpha_i \le C_i,\quad \sum_i \alpha_i = \nu \sum_i C_i.

    Differences from scikit-learn's:

    - The kernel is Gaussian, and X is dense.
    - `tol` refers to weights of mean one: c times the weights give c times the solution, whatever c is.
    - A row with decision value 0 is inside, as in the paper's eq. (4).
    - `support_` has indices into X also when some weights are not positive. Those of scikit-learn 1.9 then count the
      rows of positive weight only.
    - ``nu=1`` is allowed: the solution is a kernel density estimate.

    Examples
    --------
    >>> import numpy as np
    >>> from mvset import OneClassSVM
    >>> X = np.random.default_rng(0).normal(size=(400, 2))
    >>> svm = OneClassSVM(nu=0.05, sigma=1.0).fit(X)
    >>> svm.predict([[0.0, 0.0], [5.0, 5.0]])
    array([ 1, -1])

    Code written for scikit-learn's works unchanged.

    >>> svm = OneClassSVM(kernel="rbf", gamma="auto", nu=0.1, shrinking=True, cache_size=500).fit(X)
    >>> int(svm.n_support_[0]) == len(svm.support_vectors_)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "kernel": [str, callable],
        "degree": [Interval(Integral, 0, None, closed="left")],
        "gamma": [StrOptions({"scale", "auto"}), Interval(Real, 0, None, closed="neither")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "nu": [Interval(Real, 0, 1, closed="right")],
        "shrinking": ["boolean"],
        "cache_size": [Interval(Real, 0, None, closed="neither")],
        "verbose": ["verbose"],
        "max_iter": [Interval(Integral, -1, None, closed="left")],
        "sigma": [Interval(Real, 0, None, closed="neither"), None],
        "n_jobs": [Integral, None],
    }

    kernel: str | Callable[..., Any] = "rbf"
    degree: int = 3
    gamma: float | Literal["scale", "auto"] = "scale"
    coef0: float = 0.0
    tol: float = 1e-3
    nu: float = 0.5
    shrinking: bool = True
    cache_size: float = 200
    verbose: bool | int = False
    max_iter: int = -1
    sigma: float | None = None
    n_jobs: int | None = None

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Check what a file or a pickle holds."""
        super().__setstate__(state)
        if "_function" not in state:
            return
        if not isinstance(self._function, KernelExpansion):
            raise ValueError(f"{type(self).__name__} has parts of the wrong type.")
        check_columns(self, self._function.n_columns)
        checked_array(type(self).__name__, "offset_", self.offset_, 1, length=1)

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Solve the dual on all rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows.
        y : Ignored
            Present for API consistency.
        sample_weight : array-like of shape (n_samples,), optional
            Upper bounds on the coefficients, as in LIBSVM; one for every row by default. Rows whose weight is zero or
            negative are left out, except that ``gamma="scale"`` is computed from all rows.

        Returns
        -------
        self : OneClassSVM
            The fitted estimator.

        Examples
        --------
        >>> from mvset import OneClassSVM
        >>> from mvset.paper.datasets import two_moons
        >>> X = two_moons(300, random_state=0)
        >>> svm = OneClassSVM(nu=0.1, sigma=0.3).fit(X)
        >>> len(svm.support_) >= 30
        True

        Only rows with a positive weight are used.

        >>> first = OneClassSVM(nu=0.1, sigma=0.3).fit(X, sample_weight=[1.0] * 200 + [0.0] * 100)
        >>> bool((first.support_ < 200).all())
        True
        """
        self._check_kernel()
        X = validated_rows(self, X, reset=True)
        weights = _validated_weights(sample_weight, X)
        self.sigma_ = self._bandwidth(X)
        # At mean one the tolerance does not depend on the scale of the weights.
        scale = weights[weights > 0].mean()
        bounds = (np.maximum(weights, 0.0) / scale).astype(np.float32)
        gram = lazy_gram(X, self.sigma_)
        dual = solve_dual(gram, np.flatnonzero(bounds), Solver(self.nu, self.tol, self.max_iter), bounds=bounds)
        self._function = kernel_expansion(X, scale * dual.alpha, self.sigma_)
        self.support_ = np.flatnonzero(dual.alpha)
        self.support_vectors_ = self._function.centres
        self.n_support_ = np.array([len(self.support_)], dtype=np.int32)
        self.dual_coef_ = self._function.weights[np.newaxis]
        self.offset_ = np.array([scale * dual.rho])
        self.intercept_ = -self.offset_
        self.shape_fit_ = X.shape
        report = SolveReport.of([dual])
        self.n_iter_ = report.iterations
        self.fit_status_ = int(bool(report.failures))
        warn_if_unconverged([report], self.tol, settable=True)
        return self

    def _check_kernel(self) -> None:
        if self.kernel != "rbf":
            raise ValueError(
                f"kernel={self.kernel!r} is not available: mvset.OneClassSVM has the Gaussian kernel only. Use "
                "kernel='rbf', or sklearn.svm.OneClassSVM for other kernels."
            )

    def _bandwidth(self, X: Array) -> float:
        if self.sigma is not None:
            if self.gamma != "scale":
                raise ValueError(f"Give sigma={self.sigma!r} or gamma={self.gamma!r}, not both.")
            return float(self.sigma)
        if self.gamma == "scale":
            if np.ptp(X, axis=0).any():
                check_extent(*column_ranges(X), len(X))
            variance = X.var()
            gamma = 1.0 / (X.shape[1] * variance) if variance > 0 else 1.0
        else:
            gamma = 1.0 / X.shape[1] if self.gamma == "auto" else float(self.gamma)
        return float(np.sqrt(0.5 / gamma))

    def score_samples(self, X: Any) -> Array:
        """Value of the solution function, before the offset.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to score.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            Higher is more normal.

        Examples
        --------
        >>> from mvset import OneClassSVM
        >>> from mvset.paper.datasets import two_moons
        >>> X = two_moons(300, random_state=0)
        >>> svm = OneClassSVM(nu=0.1, sigma=0.3).fit(X)
        >>> svm.score_samples([[100.0, 100.0]])
        array([0.])
        """
        check_is_fitted(self, "_function")
        X = validated_rows(self, X, reset=False)
        with thread_map(self.n_jobs) as run:
            return self._function(X, run)

    def decision_function(self, X: Any) -> Array:
        """Score minus offset: negative outside the set, zero on its border.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to score.

        Returns
        -------
        decision : ndarray of shape (n_samples,)
            ``score_samples(X) - offset_``.

        Examples
        --------
        >>> from mvset import OneClassSVM
        >>> from mvset.paper.datasets import two_moons
        >>> X = two_moons(300, random_state=0)
        >>> svm = OneClassSVM(nu=0.1, sigma=0.3).fit(X)
        >>> bool((svm.decision_function(X) == svm.score_samples(X) - svm.offset_).all())
        True
        """
        return np.asarray(self.score_samples(X) - self.offset_)

    def predict(self, X: Any) -> Indices:
        """Classify each row as inside or outside the set.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to classify.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            +1 inside, -1 outside.

        Examples
        --------
        >>> from mvset import OneClassSVM
        >>> from mvset.paper.datasets import two_moons
        >>> X = two_moons(300, random_state=0)
        >>> svm = OneClassSVM(nu=0.1, sigma=0.3).fit(X)
        >>> svm.predict([[0.0, 1.0], [100.0, 100.0]])
        array([ 1, -1])
        """
        return np.where(self.decision_function(X) >= 0, 1, -1).astype(np.intp)


def _validated_weights(sample_weight: ArrayLike | None, X: Array) -> Array:
    """One weight for each row, of which some are positive."""
    if sample_weight is None:
        return np.ones(len(X))
    reject_non_numeric(sample_weight, "sample_weight")
    weights: Array = check_array(sample_weight, dtype=np.float64, ensure_2d=False, input_name="sample_weight")
    if weights.shape != (len(X),):
        raise ValueError(
            f"sample_weight and X have incompatible shapes: {weights.shape} vs {X.shape}. Give one weight for each row."
        )
    if not (weights > 0).any():
        raise ValueError("Invalid input - all samples have zero or negative weights.")
    return weights
