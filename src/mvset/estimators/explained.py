"""Why a row is outside: how far each of its features is from the normal rows around it."""

from typing import Any, cast

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mvset.devices.places import place_of
from mvset.estimators.base import SetEstimator
from mvset.estimators.events import Beyond, ExplainedRows, Findings, findings
from mvset.inference.timeline import Timeline, Times, row_places
from mvset.parallel import thread_map
from mvset.rows.validation import checked_share, column_names
from mvset.svm.score import Score
from mvset.values import Array

_UNSEEN = 1e6  # contribution of a value that the training rows did not have


class ExplainedSetEstimator(SetEstimator):
    """Base class of the estimators that the command, the report and the watch take: they explain their rows."""

    @property
    def _neighbourhood(self) -> Score:
        """The function whose centres show what is normal around a row."""
        raise NotImplementedError

    def explain(self, X: Any) -> Array:
        r"""Return how far each feature of each row is from the normal rows around it.

        With the function :math:`f(x) = \sum_j c_j k_\sigma(x, x_j)`, the mean shift moves a row to the mean of the
        support vectors around it, :math:`m(x) = \sum_j c_j k_\sigma(x, x_j)\, x_j / f(x)`. The explanation is the
        displacement of the row from there, in units of the bandwidth,

        .. math:: (x - m(x)) / \sigma = -\sigma \nabla \log f(x).

        With a scaling, each feature is in its own unit of distance. With "whiten" the displacement is relative to what
        the other features predict. With two views, the view that decides about a row explains it. For
        :class:`CalibratedSet`, f is a kernel density estimate of whitened training rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to explain.

        Returns
        -------
        contributions : ndarray of shape (n_samples, n_features)
            Positive where a value is higher than is normal around it, negative where it is lower. The largest absolute
            value contributes most. A category contributes more the rarer its value is among rows with such numbers.
            With one view, ``X - sigma_ * column_scales_ * contributions`` is the nearest normal value of each number,
            given the others. The contribution of a column that never changed in the training rows is in units of the
            smallest change that counts.

        Notes
        -----
        It costs about twice as much as `score_samples`, and is right in the far tail, where kernels underflow. It looks
        at the support vectors around a row, not at all rows, and takes one step, not the whole way into the set.
        Half-way between two clusters it points to neither. If two columns rise and fall together, a row off their line
        is explained by both. Deep inside the set contributions are small and mean nothing.

        References
        ----------
        Y. Cheng, "Mean shift, mode seeking, and clustering", IEEE Trans. PAMI 17 (1995).

        Examples
        --------
        >>> import numpy as np
        >>> from mvset import MinimumVolumeSet
        >>> X = np.random.default_rng(0).normal(size=(500, 3))
        >>> model = MinimumVolumeSet(sigma=1.0, random_state=0).fit(X)
        >>> contributions = model.explain([[0.0, 6.0, 0.0]])
        >>> int(np.abs(contributions).argmax()), bool(contributions[0, 1] > 0)
        (1, True)
        """
        check_is_fitted(self, "sets_")
        contributions = self._contributions(self._rows_on_host(X))  # few rows are explained: through host memory
        return contributions if (place := place_of(X)) is None else cast(Array, place.array(contributions))

    def events(
        self,
        X: Any,
        times: Any = None,
        *,
        mass: float | None = None,
        strata: Any = None,
        false_alarm_rate: float = 0.01,
    ) -> Findings:
        """Find episodes of unusual rows and drift, and say what happened, since when, and in which columns.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New rows in the order in which they came, not the training rows.
        times : array-like of shape (n_samples,), optional
            Numbers or dates. Rows are taken in the order of their times.
        mass : float, optional
            Mass of the set that decides which rows are outside. The default is the mass of the estimator.
        strata : array-like of shape (n_samples,), optional
            The stratum of each row, if `strata` was passed to `fit`.
        false_alarm_rate : float, default=0.01
            Of the test of drift; and the share of false events among those found.

        Returns
        -------
        findings : Findings
            As text, a verdict in words. ``findings.to_frame()`` has the events.

        Examples
        --------
        >>> import numpy as np
        >>> from mvset import MinimumVolumeSet
        >>> rng = np.random.default_rng(0)
        >>> model = MinimumVolumeSet(random_state=0).fit(rng.normal(size=(500, 2)))
        >>> X = rng.normal(size=(300, 2))
        >>> X[100:120, 1] += 4.0
        >>> findings = model.events(X)
        >>> findings.status, [(event.start.row, event.end.row) for event in findings.events]
        ('unusual', [(100, 119)])
        >>> findings.events[0].columns[0].name
        'x1'
        """
        check_is_fitted(self, "sets_")
        rows = self._rows_on_host(X)
        sets, names, places = self.sets_, column_names(self), row_places(np.arange(len(rows)))
        when = None if times is None else Times.of(times, len(rows))
        with thread_map(self.n_jobs) as run:
            scores = sets.scores(rows, run)
        levels, mass = sets.level(scores, strata), sets.mass if mass is None else checked_share(mass)
        counter = sets.drift_counter(mass, false_alarm_rate, grouped=strata is not None)
        counter.update(sets.drift_scores(scores, strata), rows)
        drift, beyond, timeline = counter.report(names), Beyond.of(sets.calibration), Timeline(mass)
        timeline.add(levels, sets.evidence(scores, strata), places, when)
        beyond.add(scores, places, when)
        outside = np.flatnonzero(levels > mass)
        explained = ExplainedRows(
            times=(places.astype(np.float64) if when is None else when.values)[outside],
            places=places[outside],
            scores=scores[outside],
            contributions=lambda chosen: self._contributions(rows[outside[chosen]]),
            values=lambda chosen: rows[outside[chosen]],
            normal=lambda chosen: self._normal_of(rows[outside[chosen]]),
            names=names,
            categories=self._named_categories(names),
        )
        onset = timeline.summary((), drift, sets.mass_interval(mass).effective_rows).onset
        return findings(timeline, drift, onset, beyond, explained, sets.calibration.rows_per_independent_row)

    def _named_categories(self, names: list[str]) -> dict[str, list[str]]:
        categories = self._encoding.categories
        return {names[j]: list(values) for j, values in zip(categories.indices, categories.values, strict=True)}

    def _contributions(self, X: Array) -> Array:
        """Contributions of validated rows."""
        encoding = self._encoding
        with thread_map(self.n_jobs) as run:
            contributions = encoding.by_column(self._neighbourhood.displacement(encoding.encoded(X), run)[0])
        constants = self.sets_.constants
        contributions[:, constants.indices] = constants.changes(X) / constants.tolerances
        contributions[:, encoding.categories.indices] += np.where(encoding.categories.unseen(X), _UNSEEN, 0.0)
        return contributions

    def _normal_near(self, X: Any) -> Array:
        """The nearest normal values of rows; the constant value where a column never changed before."""
        return self._normal_of(self._rows(X))

    def _normal_of(self, X: Array) -> Array:
        """The same for validated rows."""
        encoding, function, constants = self._encoding, self._neighbourhood, self.sets_.constants
        encoded = encoding.encoded(X)
        with thread_map(self.n_jobs) as run:
            displacement, units = function.displacement(encoded, run)
        normal = encoding.decoded(encoded - units * displacement)
        normal[:, constants.indices] = constants.values
        return normal
