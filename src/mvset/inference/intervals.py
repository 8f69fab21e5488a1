"""Confidence intervals for shares."""

from __future__ import annotations

from scipy.stats import binomtest


def binomial_interval(hits: int, n: int, confidence: float) -> tuple[float, float]:
    """Exact interval of Clopper and Pearson for a share."""
    interval = binomtest(hits, n).proportion_ci(confidence, method="exact")
    return float(interval.low), float(interval.high)
