"""The mean of solution functions that each have a metric of their own."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mvset.cached import cached_property
from mvset.parallel import Map
from mvset.svm.expansion import PRECISIONS, KernelExpansion, Precision, check_bandwidth, distinct_centres
from mvset.svm.metric import Metric
from mvset.values import ArrayValue, checked_array

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class MetricExpansion(ArrayValue):
    r"""The function :math:`x \mapsto \sum_b \sum_j c_{bj} k_\sigma(A_b x, A_b x_j)` with centres x_j and metrics A_b.

    It costs as many kernels as there are non-zero weights: with one metric per split, the sum over splits of their
    support vectors, where a common metric costs their union. `origin` and `precision` are as in
    :class:`KernelExpansion`.
    """

    centres: Array
    weights: Array  # one row per metric
    sigma: float
    origin: Array
    metrics: list[Metric]
    precision: Precision = "double"

    def __post_init__(self) -> None:
        """Check the parts, also of what a file holds."""
        owner = type(self).__name__
        centres = checked_array(owner, "centres", self.centres, 2)
        object.__setattr__(self, "centres", centres)
        object.__setattr__(self, "weights", checked_array(owner, "weights", self.weights, 2, length=len(self.metrics)))
        object.__setattr__(self, "origin", checked_array(owner, "origin", self.origin, 1, length=centres.shape[1]))
        check_bandwidth(owner, self.sigma)
        if self.precision not in PRECISIONS:
            raise ValueError(f"{owner}.precision must be one of {PRECISIONS}; got {self.precision!r}.")
        if not self.metrics or not all(isinstance(each, Metric) for each in self.metrics):
            raise ValueError(f"{owner}.metrics must be a list of metrics.")
        if any(len(each.scales) != centres.shape[1] for each in self.metrics) or self.weights.shape[1] != len(centres):
            raise ValueError(f"{owner} has parts of different sizes.")
        if not self.weights.any(axis=1).all():
            raise ValueError(f"{owner} needs at least one centre for each metric.")
        if (self.weights < 0).any():
            raise ValueError(f"{owner}.weights must not be negative.")

    @cached_property
    def parts(self) -> list[KernelExpansion]:
        """The functions of the metrics, of mapped rows from which the origin was subtracted."""
        return [self._part(metric, weights) for metric, weights in zip(self.metrics, self.weights, strict=True)]

    @property
    def n_columns(self) -> int:
        """Number of columns of rows."""
        return int(self.centres.shape[1])

    @property
    def units(self) -> Array:
        """Unit of distance along each column."""
        return np.asarray(np.mean([metric.conditional_scales for metric in self.metrics], axis=0))

    def mapped(self, metric: Metric, X: Array) -> Array:
        """Rows as the function of a metric takes them."""
        return metric(X - self.origin)

    def __call__(self, X: Array, run: Map = map) -> Array:
        """Values at the rows of X."""
        values = np.zeros(len(X))
        for metric, part in zip(self.metrics, self.parts, strict=True):
            values += part(self.mapped(metric, X), run)
        return values

    def _part(self, metric: Metric, weights: Array) -> KernelExpansion:
        support = np.flatnonzero(weights)
        centres = self.mapped(metric, self.centres[support])
        return KernelExpansion(centres, weights[support], self.sigma, np.zeros(centres.shape[1]), self.precision)


def metric_expansion(
    X: Array, coefficients: Array, sigma: float, metrics: list[Metric], *, precision: Precision = "double"
) -> MetricExpansion:
    """Expansion over the rows of X with a non-zero coefficient in any metric (rows)."""
    centres, weights = distinct_centres(X, coefficients)
    return MetricExpansion(
        centres,
        weights,
        float(sigma),
        X.mean(axis=0),
        metrics,
        precision,
    )
