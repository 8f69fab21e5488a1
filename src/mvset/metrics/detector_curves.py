"""Mass-volume and excess-mass curves of any outlier detector: how good a score is, without labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import auc
from sklearn.utils import check_random_state

from mvset.bandwidth.curves import MassVolumeCurve, curve_fields, curve_volumes, mass_grid, mean_over
from mvset.calibration.offsets import offset_at, offsets_by_rank
from mvset.metrics.detectors import check_row_by_row, input_format, score_function
from mvset.validation import check_extent, checked_rows, checked_share
from mvset.values import ArrayValue
from mvset.volume.measure import VolumeEstimate, VolumeSample, log_volumes_at
from mvset.volume.reliability import warn_if_unreliable
from mvset.volume.sampler import INDEPENDENT_DRAWS, VolumeMethod, VolumeSampler

Array = NDArray[np.float64]

_N_BOOTSTRAP = 200
_N_THRESHOLDS = 100
_LEAST_EXCESS_MASS = 0.9  # where the excess-mass curve ends, as in Goix (2016)


def mass_volume_curve(
    scorer: Any,
    X: Any,
    *,
    masses: ArrayLike | None = None,
    volume: VolumeMethod = "auto",
    n_points: int = 10_000,
    confidence: float = 0.95,
    random_state: int | np.random.RandomState | None = None,
) -> MassVolumeCurve:
    """Volumes of the level sets of a score that hold given shares of the rows.

    The lower the curve, the better the score tells where the rows are. No labels are needed, so that it compares
    detectors of any kind on rows that none of them was fitted to.

    Parameters
    ----------
    scorer : fitted outlier detector or callable
        With ``score_samples``, or ``decision_function``; PyOD models are understood, if they score each row by itself.
        Or a function of rows, higher for more normal ones.
    X : array-like of shape (n_samples, n_features)
        Rows, best not those the scorer was fitted to: on its own rows an overfitted score looks good.
    masses : array-like of shape (n_masses,), optional
        Ascending, in (0, 1). By default ten from 0.91 to 0.99.
    volume : {"auto", "box", "importance"}, default="auto"
        How sample points are drawn; see :class:`MinimumVolumeSet`. Many detectors have sets without bounds: volumes are
        those inside the box around the rows ("box"), or inside that box and half as large again ("importance").
    n_points : int, default=10_000
        Number of sample points.
    confidence : float, default=0.95
        Of the band ``lower`` … ``upper``: with this probability the whole curve lies in it, given a few hundred rows or
        more; with fewer the band is too narrow.
    random_state : int, RandomState instance or None, default=None
        Seed of points and band.

    Returns
    -------
    curve : MassVolumeCurve
        With the band from a smoothed bootstrap of the scores, widened by the error of the volumes.

    See Also
    --------
    excess_mass_curve : The other curve of this kind.
    mass_volume_scorer : The same as a number, for model selection.

    References
    ----------
    S. Clémençon, J. Jakubowicz, "Scoring anomalies: a M-estimation formulation", AISTATS, 2013.

    Examples
    --------
    >>> from sklearn.ensemble import IsolationForest
    >>> from mvset import MinimumVolumeSet, mass_volume_curve
    >>> from mvset.datasets import two_moons
    >>> X, X_new = two_moons(500, random_state=0), two_moons(1000, random_state=1)
    >>> ours = mass_volume_curve(MinimumVolumeSet(random_state=0).fit(X), X_new, random_state=0)
    >>> forest = mass_volume_curve(IsolationForest(random_state=0).fit(X), X_new, random_state=0)
    >>> ours.area < forest.area
    True
    """
    measured = _measured(scorer, X, masses, volume, n_points, random_state)
    _warn_if_unreliable(measured)
    lower, upper = _band(measured, checked_share(confidence, "confidence"))
    return MassVolumeCurve(**measured.fields, lower=lower, upper=upper)


def mass_volume_scorer(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    masses: ArrayLike | None = None,
    volume: VolumeMethod = "auto",
    n_points: int = 10_000,
    random_state: int | np.random.RandomState | None = 0,
) -> float:
    """Minus the mean log volume of an estimator's level sets: a `scoring` for model selection without labels.

    Parameters
    ----------
    estimator : fitted outlier detector
        As for :func:`mass_volume_curve`.
    X : array-like of shape (n_samples, n_features)
        Rows held out.
    y : Ignored
        Present for API consistency.
    masses : array-like of shape (n_masses,), optional
        As for :func:`mass_volume_curve`. To change it, pass ``functools.partial(mass_volume_scorer, masses=...)``.
    volume : {"auto", "box", "importance"}, default="auto"
        As for :func:`mass_volume_curve`. With "box" all candidates are measured on the same points.
    n_points : int, default=10_000
        Number of sample points.
    random_state : int, RandomState instance or None, default=0
        Seed of the sample points.

    Returns
    -------
    score : float
        Higher is better. A set that no sample point hits counts as large as one point stands for.

    Examples
    --------
    >>> from sklearn.model_selection import GridSearchCV
    >>> from sklearn.neighbors import KernelDensity
    >>> from mvset import mass_volume_scorer
    >>> from mvset.datasets import two_moons
    >>> search = GridSearchCV(KernelDensity(), {"bandwidth": [0.05, 0.2, 1.0]}, scoring=mass_volume_scorer, cv=3)
    >>> search.fit(two_moons(500, random_state=0)).best_params_
    {'bandwidth': 0.2}
    """
    measured = _measured(estimator, X, masses, volume, n_points, random_state)
    log_volumes = log_volumes_at(measured.sample, measured.sample_scores, measured.fields["offsets"])
    return -float(mean_over(measured.masses, log_volumes))


@dataclass(frozen=True, kw_only=True, eq=False)
class ExcessMassCurve(ArrayValue):
    """Excess mass of a score: the mass that its best level set holds beyond a multiple of its volume.

    Attributes
    ----------
    thresholds : ndarray of shape (n_thresholds,)
        The multiples t, in units of density.
    excess_masses : ndarray of shape (n_thresholds,)
        At each threshold the largest value of mass minus t times volume over the level sets. The higher, the better.
    lower, upper : ndarray of shape (n_thresholds,)
        Band from a smoothed bootstrap of the scores.
    area : float
        Area under the curve over the range of the thresholds.

    Examples
    --------
    >>> from mvset import MinimumVolumeSet, excess_mass_curve
    >>> from mvset.datasets import two_moons
    >>> model = MinimumVolumeSet(random_state=0).fit(two_moons(500, random_state=0))
    >>> curve = excess_mass_curve(model, two_moons(500, random_state=1), random_state=0)
    >>> bool((curve.lower <= curve.excess_masses).all() and (curve.excess_masses <= curve.upper).all())
    True
    """

    thresholds: Array
    excess_masses: Array
    lower: Array
    upper: Array
    area: float


def excess_mass_curve(
    scorer: Any,
    X: Any,
    *,
    thresholds: ArrayLike | None = None,
    volume: VolumeMethod = "auto",
    n_points: int = 10_000,
    confidence: float = 0.95,
    random_state: int | np.random.RandomState | None = None,
) -> ExcessMassCurve:
    r"""Excess mass :math:`EM(t) = \max_u P(s \ge u) - t\, \lambda(s \ge u)` of a score s.

    Parameters
    ----------
    scorer : fitted outlier detector or callable
        As for :func:`mass_volume_curve`.
    X : array-like of shape (n_samples, n_features)
        Rows, best not those the scorer was fitted to.
    thresholds : array-like of shape (n_thresholds,), optional
        The densities t, ascending from 0 or more. By default a hundred from 0 to where the excess mass falls to 0.9.
        Use those of one curve for another to compare the two.
    volume : {"auto", "box", "importance"}, default="auto"
        As for :func:`mass_volume_curve`.
    n_points : int, default=10_000
        Number of sample points.
    confidence : float, default=0.95
        Confidence of the band, which accounts for the uncertainty of the rows only; its coverage is somewhat lower.
    random_state : int, RandomState instance or None, default=None
        Seed of points and band.

    Returns
    -------
    curve : ExcessMassCurve
        With its band.

    References
    ----------
    N. Goix, "How to evaluate the quality of unsupervised anomaly detection algorithms?", ICML anomaly detection
    workshop, 2016.

    Examples
    --------
    >>> from sklearn.ensemble import IsolationForest
    >>> from mvset import MinimumVolumeSet, excess_mass_curve
    >>> from mvset.datasets import two_moons
    >>> X, X_new = two_moons(500, random_state=0), two_moons(1000, random_state=1)
    >>> ours = excess_mass_curve(MinimumVolumeSet(random_state=0).fit(X), X_new, random_state=0)
    >>> forest = IsolationForest(random_state=0).fit(X)
    >>> ours.area > excess_mass_curve(forest, X_new, thresholds=ours.thresholds, random_state=0).area
    True
    """
    measured = _measured(scorer, X, None, volume, n_points, random_state)
    _warn_if_unreliable(measured)
    ascending = np.sort(measured.scores)
    held = 1.0 - np.arange(len(ascending)) / len(ascending)  # share of the rows at or above each score
    with np.errstate(over="ignore"):
        volumes = np.exp(log_volumes_at(measured.sample, measured.sample_scores, ascending))
    if not (np.isfinite(volumes).all() and volumes.min() > 0):
        raise ValueError(
            f"Volumes in {measured.sample.points.shape[1]} columns exceed the range of float64: rescale X."
        )

    def excess(mass: Array, at: Array) -> Array:
        return np.asarray(np.maximum(np.max(mass - at[:, np.newaxis] * volumes, axis=1), 0.0))

    if thresholds is None:
        # EM falls to 0.9 where the best set leaves it there: at the largest of these slopes.
        grid = np.linspace(0.0, np.max((held - _LEAST_EXCESS_MASS) / volumes), _N_THRESHOLDS)
    else:
        grid = np.asarray(thresholds, dtype=np.float64)
        if grid.ndim != 1 or len(grid) < 2 or not ((np.diff(grid) > 0).all() and grid[0] >= 0 and grid[-1] < np.inf):
            raise ValueError(f"thresholds must be at least two ascending numbers from 0 on; got {thresholds!r}.")
    curve = excess(held, grid)
    deviations = []
    for resampled in _smoothed_bootstrap(measured):
        mass = 1.0 - np.searchsorted(resampled, ascending, side="left") / len(resampled)
        deviations.append(np.abs(excess(mass, grid) - curve).max())
    width = float(np.quantile(deviations, checked_share(confidence, "confidence")))
    return ExcessMassCurve(
        thresholds=grid,
        excess_masses=curve,
        lower=np.maximum(curve - width, 0.0),
        upper=np.minimum(curve + width, 1.0),
        area=float(auc(grid, curve)),
    )


@dataclass(frozen=True)
class _Measured:
    """Scores of rows and of sample points, and the curve from them."""

    scores: Array
    sample: VolumeSample
    sample_scores: Array
    masses: Array
    fields: dict[str, Any]
    relative_errors: Array  # of the volumes; one where no point fell
    largest: VolumeEstimate  # volume of the set of the largest mass
    rng: np.random.RandomState


def _measured(
    scorer: Any, X: Any, masses: ArrayLike | None, volume: VolumeMethod, n_points: int, random_state: Any
) -> _Measured:
    rows = checked_rows(X, ensure_min_samples=2)
    check_extent(rows)
    checked = mass_grid(0.95, 0.04, 10) if masses is None else _checked_masses(masses)
    rng = check_random_state(random_state)
    as_input, score = input_format(X), score_function(scorer)
    scores = score(as_input(rows))
    check_row_by_row(scorer, score, as_input(rows), scores)
    offsets = offset_at(offsets_by_rank(scores)[0], checked)
    sampler = VolumeSampler(volume, rows, n_points, rng, INDEPENDENT_DRAWS)
    sample = sampler.draw(lambda points: score(as_input(points)) >= offsets[-1])
    sample_scores = score(as_input(sample.points))
    volumes = curve_volumes(checked, offsets, sample, sample_scores)
    relative_errors = volumes.standard_errors / np.where(volumes.hits > 0, volumes.values, volumes.standard_errors)
    fields = curve_fields(checked, offsets, volumes)
    return _Measured(scores, sample, sample_scores, checked, fields, relative_errors, volumes.estimate(-1), rng)


def _warn_if_unreliable(measured: _Measured) -> None:
    warn_if_unreliable(measured.largest, measured.sample, f"the set of mass {measured.masses[-1]:.3g}", "n_points")


def _checked_masses(masses: ArrayLike) -> Array:
    try:
        array = np.asarray(masses, dtype=np.float64)
    except (TypeError, ValueError):
        array = np.empty(0)
    if array.ndim != 1 or len(array) < 2 or not ((np.diff(array) > 0).all() and array[0] > 0 and array[-1] < 1):
        raise ValueError(f"masses must be at least two ascending numbers strictly between 0 and 1; got {masses!r}.")
    return array


def _band(measured: _Measured, confidence: float) -> tuple[Array, Array]:
    """Band on the volumes: log volumes ± a multiple of their standard deviation that covers the whole curve."""
    centre = log_volumes_at(measured.sample, measured.sample_scores, measured.fields["offsets"])
    offsets = np.stack([offset_at(offsets_by_rank(s)[0], measured.masses) for s in _smoothed_bootstrap(measured)])
    resampled = log_volumes_at(measured.sample, measured.sample_scores, offsets)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        spread = np.hypot(resampled.std(axis=0, ddof=1), measured.relative_errors)
        largest = np.max(np.abs(resampled - centre) / spread, axis=1)
        width = np.quantile(largest, confidence) * spread
        return np.exp(centre - width), np.exp(centre + width)


def _smoothed_bootstrap(measured: _Measured) -> list[Array]:
    """Samples from a kernel estimate of the distribution of the scores, ascending. Bandwidth: Silverman's rule."""
    scores, rng, n = measured.scores, measured.rng, len(measured.scores)
    spread = min(scores.std(), np.subtract(*np.quantile(scores, [0.75, 0.25])) / 1.34)
    bandwidth = 0.9 * spread * n**-0.2
    return [np.sort(rng.choice(scores, n) + bandwidth * rng.normal(size=n)) for _ in range(_N_BOOTSTRAP)]
