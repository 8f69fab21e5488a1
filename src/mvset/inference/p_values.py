r"""Conformal p-values, the rows to flag by them, and intervals for shares.

With m calibration scores s_1 … s_m, the p-value of a row of score s is :math:`(1 + \#\{i : s_i \le s\}) / (m + 1)`. If
the row and the calibration rows are exchangeable, it is at most t with probability t at most, for every t.
"""

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaincinv
from scipy.stats import false_discovery_control

from mvset.inference.results import Detection
from mvset.values import Array


def conformal_p_values(at_most: ArrayLike, n_rows: int) -> Array:
    """P-values of new rows, from how many of so many calibration rows have their score at most."""
    return np.asarray((1.0 + np.asarray(at_most)) / (n_rows + 1.0))


def detect_outliers(p_values: Array, fdr: float) -> Detection:
    """Rows flagged by the procedure of Benjamini and Hochberg, with an expected share of false flags of `fdr` at most.

    Conformal p-values depend on each other positively, in the way that the procedure needs: S. Bates, E. Candès, L.
    Lei, Y. Romano, M. Sesia, "Testing for outliers with conformal p-values", Annals of Statistics 51 (2023).
    """
    flagged = false_discovery_control(p_values, method="bh") <= fdr
    return Detection(flagged, p_values, float(p_values[flagged].max(initial=0.0)), fdr)


def binomial_interval(hits: float, n: float, confidence: float) -> tuple[float, float]:
    """Exact interval of Clopper and Pearson for a share; counts need not be whole, e.g. for effective rows."""
    error = 0.5 * (1.0 - confidence)
    low = 0.0 if hits <= 0 else betaincinv(hits, n - hits + 1.0, error)
    high = 1.0 if hits >= n else betaincinv(hits + 1.0, n - hits, 1.0 - error)
    return float(low), float(high)
