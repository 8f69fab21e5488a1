"""Confidence intervals for shares."""

from __future__ import annotations

from scipy.special import betaincinv


def binomial_interval(hits: float, n: float, confidence: float) -> tuple[float, float]:
    """Exact interval of Clopper and Pearson for a share; counts need not be whole, e.g. those of effective rows."""
    error = 0.5 * (1.0 - confidence)
    low = 0.0 if hits <= 0 else betaincinv(hits, n - hits + 1.0, error)
    high = 1.0 if hits >= n else betaincinv(hits + 1.0, n - hits, 1.0 - error)
    return float(low), float(high)
