"""What the method is compared with: the plain one-class SVM, at ν = 1-α in the paper."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, OutlierMixin, _fit_context
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from mvset.calibration.level_sets import kernel_expansion
from mvset.diagnostics import SolveReport, warn_if_unconverged
from mvset.parallel import thread_map
from mvset.svm.dual import solve_dual
from mvset.svm.gram import lazy_gram
from mvset.validation import validated_rows


class OneClassSVM(OutlierMixin, BaseEstimator):
    r"""One-class SVM with Gaussian kernel, a faster stand-in for scikit-learn's.

    Same meaning, scale and signs as ``sklearn.svm.OneClassSVM(kernel="rbf")``. With ``nu = 1 - mass`` it is the
    baseline of the paper, whose realised mass on new rows falls short of what `nu` says. Sample weights are not
    supported.

    Parameters
    ----------
    nu : float, default=0.5
        Upper bound on the share of training rows outside the set and lower bound on the share of support vectors.
    gamma : "scale", "auto" or float, default="scale"
        Kernel coefficient, :math:`\exp(-\gamma |x-y|^2)`, as in scikit-learn: "scale" is
        ``1 / (n_features * X.var())``, "auto" is ``1 / n_features``.
    sigma : float, optional
        Bandwidth, in place of `gamma`: ``gamma = 1 / (2 sigma²)``.
    tol : float, default=1e-3
        Tolerance of the solver on the optimality conditions.
    max_iter : int, default=-1
        Limit on the solver's iterations; -1 means no limit short of ten million.
    n_jobs : int or None, default=None
        Number of threads that score rows; -1 for all cores.

    Attributes
    ----------
    support_ : ndarray of shape (n_SV,)
        Indices of the support vectors.
    support_vectors_ : ndarray of shape (n_SV, n_features)
        The support vectors.
    dual_coef_ : ndarray of shape (1, n_SV)
        Their coefficients, in (0, 1], of sum ``nu * n_samples``.
    offset_ : float
        ``decision_function = score_samples - offset_``.
    intercept_ : ndarray of shape (1,)
        ``-offset_``.
    sigma_ : float
        The bandwidth in use.
    n_iter_ : int
        Iterations of the solver.
    n_features_in_ : int
        Number of columns seen by `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, when X has string column names.

    Examples
    --------
    >>> import numpy as np
    >>> from mvset import OneClassSVM
    >>> X = np.random.default_rng(0).normal(size=(400, 2))
    >>> svm = OneClassSVM(nu=0.05, sigma=1.0).fit(X)
    >>> svm.predict([[0.0, 0.0], [5.0, 5.0]])
    array([ 1, -1])
    """

    _parameter_constraints: dict[str, list[Any]] = {
        "nu": [Interval(Real, 0, 1, closed="right")],
        "gamma": [StrOptions({"scale", "auto"}), Interval(Real, 0, None, closed="neither")],
        "sigma": [Interval(Real, 0, None, closed="neither"), None],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, -1, None, closed="left")],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        *,
        nu: float = 0.5,
        gamma: float | Literal["scale", "auto"] = "scale",
        sigma: float | None = None,
        tol: float = 1e-3,
        max_iter: int = -1,
        n_jobs: int | None = None,
    ) -> None:
        self.nu = nu
        self.gamma = gamma
        self.sigma = sigma
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> OneClassSVM:
        """Solve the dual on all rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows.
        y : Ignored
            Present for API consistency.

        Returns
        -------
        self : OneClassSVM
            The fitted estimator.

        Examples
        --------
        >>> from mvset import OneClassSVM
        >>> from mvset.datasets import two_moons
        >>> X = two_moons(300, random_state=0)
        >>> svm = OneClassSVM(nu=0.1, sigma=0.3).fit(X)
        >>> bool(len(svm.support_) >= 30)
        True
        """
        X = validated_rows(self, X, reset=True)
        self.sigma_ = self._bandwidth(X)
        dual = solve_dual(lazy_gram(X, self.sigma_), np.arange(len(X)), self.nu, self.tol, self.max_iter)
        self.support_ = np.flatnonzero(dual.alpha)
        self._function = kernel_expansion(X, dual.alpha.astype(np.float64), self.sigma_)
        self.support_vectors_ = self._function.centres
        self.dual_coef_ = self._function.weights[np.newaxis]
        self.offset_ = dual.rho
        self.intercept_ = np.array([-self.offset_])
        report = SolveReport.of([dual])
        self.n_iter_ = report.iterations
        warn_if_unconverged([report], self.tol)
        return self

    def _bandwidth(self, X: NDArray[np.float64]) -> float:
        if self.sigma is not None:
            if self.gamma != "scale":
                raise ValueError(f"Give sigma={self.sigma!r} or gamma={self.gamma!r}, not both.")
            return float(self.sigma)
        if self.gamma == "scale":
            variance = X.var()
            gamma = 1.0 / (X.shape[1] * variance) if variance > 0 else 1.0
        else:
            gamma = 1.0 / X.shape[1] if self.gamma == "auto" else float(self.gamma)
        return float(np.sqrt(0.5 / gamma))

    def score_samples(self, X: Any) -> NDArray[np.float64]:
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
        >>> from mvset.datasets import two_moons
        >>> X = two_moons(300, random_state=0)
        >>> svm = OneClassSVM(nu=0.1, sigma=0.3).fit(X)
        >>> svm.score_samples([[100.0, 100.0]])
        array([0.])
        """
        check_is_fitted(self, "_function")
        X = validated_rows(self, X, reset=False)
        with thread_map(self.n_jobs) as run:
            return self._function(X, run)

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Score minus offset: negative outside the set.

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
        >>> from mvset.datasets import two_moons
        >>> X = two_moons(300, random_state=0)
        >>> svm = OneClassSVM(nu=0.1, sigma=0.3).fit(X)
        >>> bool((svm.decision_function(X) == svm.score_samples(X) - svm.offset_).all())
        True
        """
        return self.score_samples(X) - self.offset_

    def predict(self, X: Any) -> NDArray[np.intp]:
        """Say for each row whether it lies in the set.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to judge.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            +1 inside, -1 outside.

        Examples
        --------
        >>> from mvset import OneClassSVM
        >>> from mvset.datasets import two_moons
        >>> X = two_moons(300, random_state=0)
        >>> svm = OneClassSVM(nu=0.1, sigma=0.3).fit(X)
        >>> svm.predict([[0.0, 1.0], [100.0, 100.0]])
        array([ 1, -1])
        """
        return np.where(self.decision_function(X) >= 0, 1, -1)
