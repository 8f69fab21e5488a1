"""Mass-volume curves of any outlier detector: how good a score is, without labels."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from mvset.bandwidth.curves import MassVolumeCurve, curve_fields, curve_volumes, mass_grid, mean_over
from mvset.calibration.offsets import offset_at, offsets_by_rank
from mvset.metrics.detectors import scored_table
from mvset.rows.validation import checked_share
from mvset.values import Array
from mvset.volume.measure import Volumes, VolumeSample, log_volumes_at
from mvset.volume.sampler import INDEPENDENT_DRAWS, VolumeMethod, VolumeSampler, warn_if_unreliable

_N_BOOTSTRAP = 200


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
    """Return the volumes of the level sets of a score that contain given shares of the rows.

    The lower the curve, the better the score finds where the rows are. No labels are needed, so it compares detectors
    of any kind on rows that none of them was fitted to.

    Parameters
    ----------
    scorer : fitted outlier detector or callable
        With ``score_samples``, or ``decision_function``; PyOD models are understood, if they score each row by itself.
        Or a function of rows, higher for more normal ones.
    X : array-like of shape (n_samples, n_features)
        Rows that the scorer was not fitted to, because an overfitted score looks good on its own rows. Only a
        :class:`MinimumVolumeSet` takes categories or missing values: its volume is then a sum over the combinations of
        categories.
    masses : array-like of shape (n_masses,), optional
        Ascending, in (0, 1). By default ten from 0.91 to 0.99.
    volume : {"auto", "box", "importance"}, default="auto"
        How sample points are drawn; see :class:`MinimumVolumeSet`. Many detectors have sets without bounds, so volumes
        are measured inside the box around the rows ("box"), or inside that box and half as large again ("importance").
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
    mass_volume_scorer : The same as a number, for model selection.

    References
    ----------
    S. Clémençon, J. Jakubowicz, "Scoring anomalies: a M-estimation formulation", AISTATS, 2013.

    Examples
    --------
    >>> from sklearn.ensemble import IsolationForest
    >>> from mvset import MinimumVolumeSet, mass_volume_curve
    >>> from mvset.paper.datasets import two_moons
    >>> X, X_new = two_moons(500, random_state=0), two_moons(1000, random_state=1)
    >>> ours = mass_volume_curve(MinimumVolumeSet(random_state=0).fit(X), X_new, random_state=0)
    >>> forest = mass_volume_curve(IsolationForest(random_state=0).fit(X), X_new, random_state=0)
    >>> ours.area < forest.area
    True
    """
    measured = _measured(scorer, X, masses, volume, n_points, random_state)
    largest = f"the set of mass {measured.masses[-1]:.3g}"
    warn_if_unreliable(measured.volumes.estimate(-1), measured.sample, largest, "n_points")
    lower, upper = _band(measured, checked_share(confidence, "confidence"))
    fields = curve_fields(measured.masses, measured.offsets, measured.volumes)
    return MassVolumeCurve(**fields, lower=lower, upper=upper)


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
    """Return minus the mean log volume of an estimator's level sets: a `scoring` for model selection without labels.

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
        Higher is better. A set that no sample point hits counts as the volume for which one point stands.

    Examples
    --------
    >>> from sklearn.model_selection import GridSearchCV
    >>> from sklearn.neighbors import KernelDensity
    >>> from mvset import mass_volume_scorer
    >>> from mvset.paper.datasets import two_moons
    >>> search = GridSearchCV(KernelDensity(), {"bandwidth": [0.05, 0.2, 1.0]}, scoring=mass_volume_scorer, cv=3)
    >>> search.fit(two_moons(500, random_state=0)).best_params_
    {'bandwidth': 0.2}
    """
    measured = _measured(estimator, X, masses, volume, n_points, random_state)
    return -float(mean_over(measured.masses, measured.log_volumes(measured.offsets)))


@dataclass(frozen=True)
class _Measured:
    """Scores of rows and of sample points, and the volumes of level sets."""

    scores: Array
    sample: VolumeSample
    sample_scores: Array
    masses: Array
    offsets: Array
    volumes: Volumes
    rng: np.random.RandomState

    def log_volumes(self, offsets: Array) -> Array:
        """Logarithms of the volumes of the sets of these offsets."""
        return log_volumes_at(self.sample, self.sample_scores, offsets)


def _measured(
    scorer: Any, X: Any, masses: ArrayLike | None, volume: VolumeMethod, n_points: int, random_state: Any
) -> _Measured:
    table = scored_table(scorer, X)
    checked = mass_grid(0.95, 0.04, 10) if masses is None else _checked_masses(masses)
    rng = check_random_state(random_state)
    offsets = offset_at(offsets_by_rank(table.scores)[0], checked)
    sampler = VolumeSampler(volume, table.rows, n_points, rng, INDEPENDENT_DRAWS, table.layout)
    sample = sampler.draw(lambda points: table.score(points) >= offsets[-1])
    sample_scores = table.score(sample.points)
    volumes = curve_volumes(checked, offsets, sample, sample_scores)
    return _Measured(table.scores, sample, sample_scores, checked, offsets, volumes, rng)


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
    centre, volumes = measured.log_volumes(measured.offsets), measured.volumes
    resampled = measured.log_volumes(
        np.stack([offset_at(offsets_by_rank(s)[0], measured.masses) for s in _smoothed_bootstrap(measured)])
    )
    # The relative error is one where no point fell.
    errors = volumes.standard_errors / np.where(volumes.hits > 0, volumes.values, volumes.standard_errors)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        spread = np.hypot(resampled.std(axis=0, ddof=1), errors)
        largest = np.max(np.abs(resampled - centre) / spread, axis=1)
        width = np.quantile(largest, confidence) * spread
        return np.exp(centre - width), np.exp(centre + width)


def _smoothed_bootstrap(measured: _Measured) -> list[Array]:
    """Samples from a kernel estimate of the distribution of the scores, ascending. Bandwidth: Silverman's rule."""
    scores, rng, n = measured.scores, measured.rng, len(measured.scores)
    with np.errstate(over="ignore"):  # values that were not seen score below everything
        deviation = scores.std()
    spread = min(deviation, np.subtract(*np.quantile(scores, [0.75, 0.25])) / 1.34)
    bandwidth = 0.9 * spread * n**-0.2
    return [np.sort(rng.choice(scores, n) + bandwidth * rng.normal(size=n)) for _ in range(_N_BOOTSTRAP)]
