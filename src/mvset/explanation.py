"""Why is this row outside? The mean shift of a kernel expansion, feature by feature."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from mvset.calibration.level_sets import KernelExpansion, LevelSets
from mvset.parallel import thread_map
from mvset.validation import validated_rows


class ExplanationMixin:
    """Explanations by nested sets of a kernel expansion."""

    n_jobs: int | None
    _level_sets: LevelSets[KernelExpansion]

    def explain(self, X: Any) -> NDArray[np.float64]:
        r"""How far each feature of each row is from the normal rows around it.

        With the score :math:`f(x) = \sum_j c_j k_\sigma(x, x_j)`, the mean shift moves a row to the mean of the support
        vectors around it, :math:`m(x) = \sum_j c_j k_\sigma(x, x_j)\, x_j / f(x)`. The explanation is the row's
        displacement from there, in units of the bandwidth,

        .. math:: (x - m(x)) / \sigma = -\sigma \nabla \log f(x),

        which says how fast the score falls with each feature.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to explain.

        Returns
        -------
        contributions : ndarray of shape (n_samples, n_features)
            Positive where a value is higher than is normal around it, negative where it is lower; the largest in
            absolute value contributes most. ``X - sigma_ * contributions`` is what would be normal near by.

        Notes
        -----
        It costs about twice as much as `score_samples`, and is right in the far tail, where the score is zero.
        Its limits: it looks at the support vectors near by, not at all rows, and knows one step, not the whole way into
        the set. Half-way between two clusters it points to neither. Where two columns rise and fall together, a row off
        their line is explained by both. Deep inside the set there is nothing to explain, and the contributions are
        small and of no meaning. They compare features by the columns' own units: standardise columns of different ones.

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
        check_is_fitted(self, "_level_sets")
        X = validated_rows(self, X, reset=False)
        function = self._level_sets.function
        with thread_map(self.n_jobs) as run:
            return np.asarray((X - function.mean_shift(X, run)) / function.sigma)
