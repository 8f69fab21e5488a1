"""Data sets of the paper: mixtures with known density and true Minimum Volume sets, two moons, Boston housing.

Imports `volume` and `validation`; imported by `experiments`, the benchmarks and the tests.
"""

from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp
from sklearn.datasets import make_moons
from sklearn.utils import check_random_state

from mvset.rows.validation import checked_share
from mvset.values import Array, Flags, cached_property
from mvset.volume.measure import VolumeEstimate, VolumeSample, measure

_REFERENCE_POINTS = 1_000_000  # as in the paper; the mass of the true set is then accurate to ± 0.0002
_CHUNK = 100_000
_CUBE = (-2.0, 12.0)  # support of the paper's outliers, in every column


@dataclass(frozen=True, eq=False)
class GaussianMixtureWithOutliers:
    r"""Mixture of Gaussians with unit covariance and uniform outliers in a cube, with its true Minimum Volume sets.

    The density is :math:`(1-p) \frac1k \sum_i N(m_i, I) + p\, U([-2, 12]^d)`.

    Parameters
    ----------
    means : array of shape (n_components, n_features)
        The means m_i.
    outlier_share : float, default=0.0
        The share p of outliers, uniform in [-2, 12]^d.

    See Also
    --------
    paper_mixture : The mixture of the paper's experiments.

    Examples
    --------
    >>> from mvset.paper.datasets import paper_mixture
    >>> mixture = paper_mixture(n_features=2)
    >>> X = mixture.sample(1000, random_state=0)
    >>> X.shape
    (1000, 2)
    >>> bool(abs(mixture.contains(X, mass=0.95).mean() - 0.95) < 0.02)
    True

    The true set is close to two discs, of volume 37.6:

    >>> bool(abs(mixture.volume(0.95).value - 37.6) < 0.2)
    True
    """

    means: Array
    outlier_share: float = 0.0

    def sample(self, n_samples: int, random_state: Any = None, *, return_outliers: bool = False) -> Any:
        """Draw rows.

        Parameters
        ----------
        n_samples : int
            Number of rows.
        random_state : int, RandomState instance or None, default=None
            Seed.
        return_outliers : bool, default=False
            Whether to return which rows are outliers.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
            Rows in random order.
        outlier : ndarray of bool of shape (n_samples,)
            Whether each row was drawn from the uniform component. Only returned with ``return_outliers=True``.

        Examples
        --------
        >>> from mvset.paper.datasets import paper_mixture
        >>> paper_mixture().sample(3, random_state=0).shape
        (3, 2)
        """
        rng = check_random_state(random_state)
        n_components, n_features = self.means.shape
        X = self.means[rng.randint(n_components, size=n_samples)] + rng.normal(size=(n_samples, n_features))
        outlier = rng.uniform(size=n_samples) < self.outlier_share
        X[outlier] = rng.uniform(*_CUBE, size=(int(outlier.sum()), n_features))
        return (X, outlier) if return_outliers else X

    def log_density(self, X: ArrayLike) -> Array:
        """Logarithm of the density.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        log_density : ndarray of shape (n_samples,)
            Finite for every row, in any dimension.

        Examples
        --------
        >>> from mvset.paper.datasets import paper_mixture
        >>> paper_mixture(300).log_density([[2.5] * 300]).round(1)
        array([-276.4])
        """
        rows = np.asarray(X, dtype=np.float64)
        n_components, d = self.means.shape
        squared = np.stack([((rows - mean) ** 2).sum(axis=1) for mean in self.means])
        weight = np.log1p(-self.outlier_share) - np.log(n_components) - 0.5 * d * np.log(2 * np.pi)
        gaussian = np.asarray(logsumexp(-0.5 * squared, axis=0) + weight)
        if self.outlier_share == 0.0:
            return gaussian
        low, high = _CUBE
        inside = ((rows >= low) & (rows <= high)).all(axis=1)
        uniform = np.where(inside, np.log(self.outlier_share) - d * np.log(high - low), -np.inf)
        return np.asarray(np.logaddexp(gaussian, uniform))

    @cached_property
    def _reference(self) -> Array:
        """Sorted log densities of a million draws: quantiles give thresholds, reciprocals of densities volumes."""
        rng = check_random_state(0)
        chunks = [self.log_density(self.sample(_CHUNK, rng)) for _ in range(_REFERENCE_POINTS // _CHUNK)]
        return np.sort(np.concatenate(chunks))

    def log_threshold(self, mass: float) -> float:
        """Logarithm of the threshold τ: the true set of this mass is where the density is at least τ.

        Parameters
        ----------
        mass : float
            Mass of the set, in (0, 1).

        Returns
        -------
        log_threshold : float
            The (1 - mass)-quantile of the log density of a million draws, as in the paper.

        Examples
        --------
        >>> from mvset.paper.datasets import paper_mixture
        >>> round(paper_mixture().log_threshold(0.95), 1)
        -5.5
        """
        return float(np.quantile(self._reference, 1.0 - checked_share(mass)))

    def contains(self, X: ArrayLike, mass: float) -> Flags:
        """Test which rows lie in the true Minimum Volume set.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        mass : float
            Mass of the set, in (0, 1).

        Returns
        -------
        inside : ndarray of bool of shape (n_samples,)
            Whether each row lies inside.

        Examples
        --------
        >>> from mvset.paper.datasets import paper_mixture
        >>> paper_mixture().contains([[2.5, 2.5], [5.0, 5.0]], mass=0.95)
        array([ True, False])
        """
        return self.log_density(X) >= self.log_threshold(mass)

    def volume(self, mass: float) -> VolumeEstimate:
        r"""Volume of the true Minimum Volume set.

        Parameters
        ----------
        mass : float
            Mass of the set, in (0, 1).

        Returns
        -------
        volume : VolumeEstimate
            :math:`E[1\{h(X) \ge \tau\} / h(X)]` over a million draws. The terms are at most 1/τ, so the
            estimate is reliable in any dimension.

        Examples
        --------
        >>> from mvset.paper.datasets import paper_mixture
        >>> print(f"{paper_mixture().volume(0.95):.1f}")
        37.6
        """
        log_density = self._reference
        inside = log_density >= self.log_threshold(mass)
        sample = VolumeSample(np.empty((0, 0)), -log_density - np.log(len(log_density)), len(log_density), "density")
        return measure(sample, inside[:, np.newaxis]).estimate(0)


def paper_mixture(n_features: int = 2, outlier_share: float = 0.0) -> GaussianMixtureWithOutliers:
    r"""Mixture :math:`\frac12 N(2.5 \cdot 1, I) + \frac12 N(7.5 \cdot 1, I)` of the paper (Section III).

    Parameters
    ----------
    n_features : int, default=2
        Dimension d.
    outlier_share : float, default=0.0
        Share of uniform outliers in [-2, 12]^d; 0.05 in Section III-B.

    Returns
    -------
    mixture : GaussianMixtureWithOutliers
        The mixture, with ``sample``, ``log_density``, ``log_threshold``, ``contains`` and ``volume``.

    Examples
    --------
    >>> from mvset.paper.datasets import paper_mixture
    >>> paper_mixture(n_features=3, outlier_share=0.05).sample(10, random_state=0).shape
    (10, 3)
    """
    if n_features < 1 or not 0 <= outlier_share < 1:
        raise ValueError(
            f"n_features must be at least 1 and outlier_share in [0, 1); got {n_features}, {outlier_share}."
        )
    means = np.array([[2.5], [7.5]]) * np.ones(n_features)
    return GaussianMixtureWithOutliers(means, outlier_share)


def two_moons(n_samples: int = 2000, noise: float = 0.2, random_state: Any = None) -> Array:
    """Two interleaving half circles (Section III-D).

    Parameters
    ----------
    n_samples : int, default=2000
        Number of rows.
    noise : float, default=0.2
        Standard deviation of the Gaussian noise. The paper does not state it; 0.2 reproduces its bandwidth and mass.
    random_state : int, RandomState instance or None, default=None
        Seed.

    Returns
    -------
    X : ndarray of shape (n_samples, 2)
        The rows.

    Examples
    --------
    >>> from mvset.paper.datasets import two_moons
    >>> two_moons(100, random_state=0).shape
    (100, 2)
    """
    X, _ = make_moons(n_samples, noise=noise, random_state=random_state)
    return np.asarray(X)


def boston(*, standardize: bool = True) -> Array:
    """Rooms per dwelling and percentage of lower status in 506 suburbs of Boston (Section III-E).

    Parameters
    ----------
    standardize : bool, default=True
        Standardise the columns to mean zero and unit variance, as in the paper.

    Returns
    -------
    X : ndarray of shape (506, 2)
        Columns RM and LSTAT.

    References
    ----------
    D. Harrison, D. L. Rubinfeld, "Hedonic prices and the demand for clean air", J. Environ. Economics & Management 5
    (1978) 81-102; UCI Machine Learning Repository.

    Examples
    --------
    >>> from mvset.paper.datasets import boston
    >>> boston(standardize=False)[0]
    array([6.575, 4.98 ])
    """
    with files("mvset.paper").joinpath("data", "boston.csv").open() as lines:
        X: Array = np.genfromtxt(lines, delimiter=",", comments="#", skip_header=4)
    return (X - X.mean(axis=0)) / X.std(axis=0) if standardize else X
