"""What every fitted estimator of nested sets answers: scores, decisions, levels, offsets, volumes, inference."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, OutlierMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from mvset.array_namespace import Place, place_of
from mvset.bandwidth.curves import mass_grid
from mvset.calibration.array_answers import ArrayAnswers
from mvset.calibration.calibration import Calibration
from mvset.calibration.constant_columns import ConstantColumns
from mvset.calibration.fitted_sets import FittedSets, ScoreFunction
from mvset.parallel import thread_map
from mvset.row_encoding import RowEncoding
from mvset.svm.table_score import TableScore
from mvset.validation import check_columns, validated_array, validated_rows
from mvset.volume.measure import VolumeEstimate
from mvset.volume.reliability import warn_if_unreliable
from mvset.volume.sampler import VolumeSampler

Array = NDArray[np.float64]

_MARGIN, _N_MASSES = 0.04, 10  # masses around the fitted one, as in the paper


class SetEstimator(OutlierMixin, TransformerMixin, BaseEstimator):
    """Base class of the estimators: `fit` assigns `sets_`, and every method scores rows and asks it."""

    mass: float
    n_jobs: int | None
    n_features_in_: int
    sets_: FittedSets

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Check what a file or a pickle holds."""
        super().__setstate__(state)
        if "sets_" not in state:
            return
        if not isinstance(self.sets_, FittedSets):
            raise ValueError(f"{type(self).__name__}.sets_ is of the wrong type.")
        check_columns(self, self.sets_.n_columns)

    @property
    def offset_(self) -> float:
        """Offset of the fitted set."""
        return self.sets_.offset()

    @property
    def volume_(self) -> VolumeEstimate:
        """Volume of the fitted set."""
        return self.sets_.volume()

    @property
    def masses_(self) -> Array:
        """Masses of the columns of `transform`."""
        return self.sets_.guaranteed(self.sets_.masses)

    def score_samples(self, X: Any) -> NDArray[np.float64]:
        """Value of the aggregated score, before the offset.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to score.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            Higher is more normal. Those of :class:`MinimumVolumeSet` are at most one, and zero far from the data; they
            are negative where a column differs that never changed in the rows of the fit.

        Examples
        --------
        >>> from mvset import MinimumVolumeSet
        >>> from mvset.datasets import two_moons
        >>> X = two_moons(300, random_state=0)
        >>> model = MinimumVolumeSet(random_state=0).fit(X)
        >>> bool((model.decision_function(X) == model.score_samples(X) - model.offset_).all())
        True
        """
        check_is_fitted(self, "sets_")
        if (place := place_of(X)) is not None:
            return self._answer(X, place, ArrayAnswers.scores)
        X = self._rows(X)
        with thread_map(self.n_jobs) as run:
            return np.asarray(self.sets_.scores(X, run))

    def _answer(self, X: Any, place: Place, question: Callable[..., Any], *arguments: Any) -> NDArray[Any]:
        """What the sets answer about rows of an array that is not one of numpy: one of the same kind.

        For type checkers all are arrays of numpy: most are.
        """
        check_is_fitted(self, "sets_")
        X = self._rows_at(X, place)
        with thread_map(self.n_jobs) as run:
            answer: NDArray[Any] = question(ArrayAnswers(self.sets_, X, place, run), *arguments)
        return answer

    def _rows_at(self, X: Any, place: Place) -> Any:
        """Rows of an array that is not one of numpy, validated where they are judged: there, or in host memory."""
        if place.in_host_memory:
            return self._rows(place.double_on_host(validated_array(self, X, place, self.n_features_in_, finite=False)))
        if self._encoding:
            what = "has categories" if self._encoding.categories else "fills missing values"
            raise ValueError(f"The model {what}: give the rows in host memory, as a table or an array.")
        return validated_array(self, X, place, self.n_features_in_)

    @property
    def _encoding(self) -> RowEncoding:
        """The category columns and how missing values are filled."""
        score = self.sets_.score
        return score.encoding if isinstance(score, TableScore) else RowEncoding(self.n_features_in_)

    def _rows(self, X: Any) -> NDArray[np.float64]:
        """Rows as numbers, with codes in place of categories."""
        encoding = self._encoding
        coded = encoding.coded(X, getattr(self, "feature_names_in_", None))
        return validated_rows(self, coded, reset=False, missing=encoding.imputation is not None)

    def decision_function(self, X: Any, mass: float | None = None, *, by: Any = None) -> NDArray[np.float64]:
        """Score minus offset: negative outside the set.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to score.
        mass : float, optional
            Mass of the nested set to compare with; that of the estimator by default.
        by : array-like of shape (n_samples,), optional
            The group of each row, if the fit was given groups: it is then judged by the offset of its group.

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
        if (place := place_of(X)) is not None:
            return self._answer(X, place, ArrayAnswers.decision, mass, by)
        check_is_fitted(self, "sets_")
        offset = self.sets_.offset(mass)  # before any work, for the error
        scores = self.score_samples(X)
        return scores - (offset if by is None else self.sets_.row_offsets(mass, by, len(scores)))

    def predict(self, X: Any, mass: float | None = None, *, by: Any = None) -> NDArray[np.intp]:
        """Say for each row whether it lies in the set.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to judge.
        mass : float, optional
            Mass of the nested set to compare with; that of the estimator by default.
        by : array-like of shape (n_samples,), optional
            The group of each row, if the fit was given groups: it is then judged by the offset of its group.

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
        if (place := place_of(X)) is not None:
            return self._answer(X, place, ArrayAnswers.labels, mass, by)
        return np.where(self.decision_function(X, mass, by=by) >= 0, 1, -1)

    def level(self, X: Any, *, by: Any = None) -> NDArray[np.float64]:
        """Smallest mass whose set contains each row.

        On new rows from the same distribution levels are close to uniform on [0, 1], in steps of one over the number
        of held-out rows; with "pac" they are higher, by its safety margin.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to judge.
        by : array-like of shape (n_samples,), optional
            The group of each row, if the fit was given groups: it is then judged by the offset of its group.

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
        if (place := place_of(X)) is not None:
            return self._answer(X, place, ArrayAnswers.levels, by)
        scores = self.score_samples(X)
        return self.sets_.level(scores, by)

    def offset(self, mass: float) -> float:
        """Offset of the set of a given mass.

        Parameters
        ----------
        mass : float
            In (0, 1).

        Returns
        -------
        offset : float
            Score of the calibration row whose rank stands for the mass; with ``calibration="paper"`` the mean over
            splits of the offset whose set holds a share `mass` of the held-out rows.

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
        check_is_fitted(self, "sets_")
        return self.sets_.offset(mass)

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
        check_is_fitted(self, "sets_")
        return self.sets_.volume(mass)

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
        if (place := place_of(X)) is not None:
            return self._answer(X, place, ArrayAnswers.decisions, self.masses_)
        scores = self.score_samples(X)
        return scores[:, np.newaxis] - [self.sets_.offset(mass) for mass in self.masses_]

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
        check_is_fitted(self, "sets_")
        prefix = type(self).__name__.lower()
        return np.array([f"{prefix}_{mass:.12g}" for mass in self.masses_], dtype=object)


def measured_sets(
    score: ScoreFunction,
    mass: float,
    calibration: Calibration,
    constants: ConstantColumns,
    sampler: VolumeSampler,
) -> FittedSets:
    """Nested sets of any score, with a volume sample for the largest set around the mass; warns if it is too small."""
    masses = mass_grid(mass, _MARGIN, _N_MASSES)
    largest = calibration.offset(masses[-1])
    sample = sampler.draw(lambda points: score(points) >= largest)
    sets = FittedSets(
        score=score,
        mass=mass,
        masses=masses,
        calibration=calibration,
        constants=constants,
        volume_sample=sample,
        sample_scores=score(sample.points),
    )
    warn_if_unreliable(sets.volume(masses[-1]), sample, f"the set of mass {masses[-1]:.3g}", "n_volume_points")
    return sets
