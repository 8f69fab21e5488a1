"""What a fitted estimator of nested sets answers: scores, decisions, levels, offsets, volumes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import OutlierMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from mvset.bandwidth.curves import mass_grid
from mvset.calibration.level_sets import LevelSets
from mvset.diagnostics import warn_if_uncertain
from mvset.parallel import thread_map
from mvset.validation import checked_mass, validated_rows
from mvset.volume.measure import VolumeEstimate, VolumeSample, inside_sets, measure
from mvset.volume.sampler import VolumeSampler


class NestedSetsMixin(OutlierMixin, TransformerMixin):
    """Methods over nested level sets; `fit` hands them over through :meth:`_keep`."""

    mass: float
    n_jobs: int | None
    masses_: NDArray[np.float64]

    def _keep(
        self,
        level_sets: LevelSets[Any],
        masses: NDArray[np.float64],
        probe: VolumeSample,
        scores: NDArray[np.float64],
    ) -> None:
        """Take over the fitted sets, and the scores of the points that measure their volumes."""
        self._level_sets = level_sets
        self._probe = replace(probe, points=np.empty((0, probe.points.shape[1])))  # their scores say it all
        self._probe_scores = scores
        self.masses_ = np.array([mass for mass in masses if level_sets.can_claim(mass)])
        self.offset_ = self.offset(self.mass)
        self.volume_ = self.volume(self.mass)

    def _measure_and_keep(self, level_sets: LevelSets[Any], source: VolumeSampler) -> None:
        """Draw points for the largest set around the mass, take both over, and warn when too few are in it."""
        masses = mass_grid(self.mass, 0.04, 10)
        largest = level_sets.offset(masses[-1])
        probe = source.draw(lambda points: level_sets.function(points) >= largest)
        self._keep(level_sets, masses, probe, level_sets.function(probe.points))
        size = self.volume(masses[-1]).effective_sample_size
        warn_if_uncertain(size, probe, f"the set of mass {masses[-1]:.3g}", "n_volume_points", stacklevel=5)

    def score_samples(self, X: Any) -> NDArray[np.float64]:
        """Value of the aggregated score, before the offset.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to score.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            Higher is more normal. Those of :class:`MinimumVolumeSet` are at most one, and zero far from the data.

        Examples
        --------
        >>> from mvset import MinimumVolumeSet
        >>> from mvset.datasets import two_moons
        >>> X = two_moons(300, random_state=0)
        >>> model = MinimumVolumeSet(random_state=0).fit(X)
        >>> bool((model.decision_function(X) == model.score_samples(X) - model.offset_).all())
        True
        """
        check_is_fitted(self, "_level_sets")
        X = validated_rows(self, X, reset=False)
        with thread_map(self.n_jobs) as run:
            return np.asarray(self._level_sets.function(X, run))

    def decision_function(self, X: Any, mass: float | None = None) -> NDArray[np.float64]:
        """Score minus offset: negative outside the set.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to score.
        mass : float, optional
            Mass of the nested set to compare with; that of the estimator by default.

        Returns
        -------
        decision : ndarray of shape (n_samples,)
            ``score_samples(X) - offset(mass)``.

        Examples
        --------
        >>> from mvset import MinimumVolumeSet
        >>> from mvset.datasets import two_moons
        >>> X = two_moons(300, random_state=0)
        >>> model = MinimumVolumeSet(sigma=0.3, random_state=0).fit(X)
        >>> bool((model.decision_function(X, mass=0.9) <= model.decision_function(X, mass=0.99)).all())
        True
        """
        scores = self.score_samples(X)
        return scores - (self.offset_ if mass is None else self.offset(mass))

    def predict(self, X: Any, mass: float | None = None) -> NDArray[np.intp]:
        """Say for each row whether it lies in the set.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to judge.
        mass : float, optional
            Mass of the nested set to compare with; that of the estimator by default.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            +1 inside, -1 outside.

        Examples
        --------
        >>> from mvset import MinimumVolumeSet
        >>> from mvset.datasets import two_moons
        >>> X = two_moons(300, random_state=0)
        >>> model = MinimumVolumeSet(mass=0.95, random_state=0).fit(X)
        >>> inside, deep_inside = model.predict(X) == 1, model.predict(X, mass=0.5) == 1
        >>> bool(inside[deep_inside].all())
        True
        """
        return np.where(self.decision_function(X, mass) >= 0, 1, -1)

    def level(self, X: Any) -> NDArray[np.float64]:
        """Smallest mass whose set contains each row.

        On new rows from the same distribution levels are close to uniform on [0, 1], in steps of one over the number
        of held-out rows; those of a "pac" promise lie higher, by what it adds to be safe.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to judge.

        Returns
        -------
        levels : ndarray of shape (n_samples,)
            Between 0, in every set, and 1, in none; decreasing in the score. ``level(X) <= mass`` exactly where
            ``predict(X, mass)`` is +1.

        Examples
        --------
        >>> from mvset import MinimumVolumeSet
        >>> from mvset.datasets import two_moons
        >>> X = two_moons(300, random_state=0)
        >>> model = MinimumVolumeSet(random_state=0).fit(X)
        >>> model.level([[100.0, 100.0]])
        array([1.])
        >>> bool(((model.level(X) <= 0.9) == (model.predict(X, mass=0.9) == 1)).all())
        True
        """
        scores = self.score_samples(X)
        return self._level_sets.level(scores)

    def offset(self, mass: float) -> float:
        """Offset of the set of a given mass.

        Parameters
        ----------
        mass : float
            In (0, 1).

        Returns
        -------
        offset : float
            Mean over splits of the offset whose set holds a share `mass` of the held-out rows, or the next larger
            share there is; with a reserved calibration set, the score of the calibration row whose rank keeps the
            promise.

        Examples
        --------
        >>> from mvset import MinimumVolumeSet
        >>> from mvset.datasets import two_moons
        >>> X = two_moons(300, random_state=0)
        >>> model = MinimumVolumeSet(sigma=0.3, random_state=0).fit(X)
        >>> model.offset(0.95) == model.offset_
        True
        >>> model.offset(0.9) > model.offset_
        True
        """
        check_is_fitted(self, "_level_sets")
        mass = checked_mass(mass)
        if not self._level_sets.can_claim(mass):
            promise, n_rows = self._level_sets.promise, self._level_sets.split_offsets.shape[1]
            raise ValueError(
                f"{n_rows} calibration rows cannot promise mass={mass:g} in {promise.mode!r} mode: it takes "
                f"{promise.least_rows(mass)}. Fit with more rows, or ask for "
                f"{np.floor(1e4 * promise.claims(n_rows)[-1]) / 1e4:g} at most."
            )
        return float(self._level_sets.offset(mass))

    def volume(self, mass: float) -> VolumeEstimate:
        """Volume of the set of a given mass.

        Parameters
        ----------
        mass : float
            In (0, 1).

        Returns
        -------
        volume : VolumeEstimate
            In the units of the columns: their product.

        Examples
        --------
        >>> from mvset import MinimumVolumeSet
        >>> from mvset.datasets import two_moons
        >>> model = MinimumVolumeSet(random_state=0).fit(two_moons(300, random_state=0))
        >>> model.volume(0.5).value < model.volume(0.95).value
        True
        """
        offset = self.offset(mass)
        return measure(self._probe, inside_sets(self._probe_scores, offset)).estimate(0)

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Decision function of the nested sets, one column per mass in `masses_`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to score.

        Returns
        -------
        decisions : ndarray of shape (n_samples, n_masses)
            Column k is ``decision_function(X, masses_[k])``.

        Examples
        --------
        >>> from mvset import MinimumVolumeSet
        >>> from mvset.datasets import two_moons
        >>> X = two_moons(300, random_state=0)
        >>> model = MinimumVolumeSet(sigma=0.3, random_state=0).fit(X)
        >>> model.transform(X).shape
        (300, 10)
        """
        scores = self.score_samples(X)
        return scores[:, np.newaxis] - self._level_sets.offset(self.masses_)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Names of the columns of :meth:`transform`.

        Parameters
        ----------
        input_features : Ignored
            Present for API consistency.

        Returns
        -------
        names : ndarray of str
            The name of the class in lower case, and the mass.

        Examples
        --------
        >>> from mvset import MinimumVolumeSet
        >>> from mvset.datasets import two_moons
        >>> X = two_moons(300, random_state=0)
        >>> model = MinimumVolumeSet(sigma=0.3, n_masses=3, random_state=0).fit(X)
        >>> list(model.get_feature_names_out())
        ['minimumvolumeset_0.91', 'minimumvolumeset_0.95', 'minimumvolumeset_0.99']
        """
        check_is_fitted(self, "_level_sets")
        prefix = type(self).__name__.lower()
        return np.array([f"{prefix}_{mass:.12g}" for mass in self.masses_], dtype=object)
