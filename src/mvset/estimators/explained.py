"""Why a row is outside: how far each of its features is from the normal rows around it."""

from typing import Any, cast

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mvset.devices.places import place_of
from mvset.estimators.base import SetEstimator
from mvset.parallel import thread_map
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
        if (place := place_of(X)) is not None:  # few rows are explained: through host memory
            rows = self._rows_at(X, place)
            rows = rows if isinstance(rows, np.ndarray) else place.double_on_host(rows)
            return cast(Array, place.array(self._contributions(rows)))
        return self._contributions(self._rows(X))

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
        X, encoding, function, constants = self._rows(X), self._encoding, self._neighbourhood, self.sets_.constants
        encoded = encoding.encoded(X)
        with thread_map(self.n_jobs) as run:
            displacement, units = function.displacement(encoded, run)
        normal = encoding.decoded(encoded - units * displacement)
        normal[:, constants.indices] = constants.values
        return normal
