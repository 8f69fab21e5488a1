"""Step 7, the choice: which sample points measure the sets, and how many are enough."""

from __future__ import annotations

from functools import cached_property
from numbers import Integral
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from mvset.volume.box import draw_box_sample
from mvset.volume.importance import ImportanceSampler, Membership
from mvset.volume.measure import VolumeSample, measure

VolumeMethod = Literal["auto", "box", "importance"]
VOLUME_METHODS = frozenset({"auto", "box", "importance"})

SUFFICIENT = 400  # effective sample size: a standard error of about 5 %
_MOST = 8  # times the number of points asked for
_BOX_DIMENSIONS = 3  # up to here the box is well hit, and even points in it are worth ten times as many random ones


class VolumeSampler:
    """Where sample points come from: the way to draw them, the rows they surround, their number."""

    def __init__(self, method: VolumeMethod, X: NDArray[np.float64], n_points: int, rng: np.random.RandomState) -> None:
        if method not in VOLUME_METHODS:
            raise ValueError(f"The way to draw sample points must be one of {sorted(VOLUME_METHODS)}; got {method!r}.")
        if not isinstance(n_points, Integral) or n_points < 1:
            raise ValueError(f"The number of sample points must be a positive integer; got {n_points!r}.")
        self.method: VolumeMethod = method
        self.X: NDArray[np.float64] = X
        self.n_points: int = int(n_points)
        self.rng: np.random.RandomState = rng
        self.adaptive: bool = method == "importance" or (method == "auto" and X.shape[1] > _BOX_DIMENSIONS)

    @cached_property
    def _sampler(self) -> ImportanceSampler:
        return ImportanceSampler(self.X, self.rng)

    def draw(self, target: Membership, share: float = 1.0) -> VolumeSample:
        """Draw points that measure sets like `target`; only a share of them for a first look.

        "auto" takes the box in few dimensions, importance sampling in many or where the box is hardly hit, and adds
        points until the effective sample size in the target is sufficient, up to eight times as many as asked for.
        """
        n_points = max(1, int(share * self.n_points))
        if not self.adaptive:
            probe = draw_box_sample(self.X, n_points, self.rng)
            if self.method == "box" or effective_sample_size(probe, target) >= SUFFICIENT:
                return probe
        most = _MOST * n_points if self.method == "auto" and share == 1.0 else n_points
        while True:
            probe = self._sampler.draw(n_points, target)
            if n_points >= most or effective_sample_size(probe, target) >= SUFFICIENT:
                return probe
            n_points *= 2


def effective_sample_size(probe: VolumeSample, target: Membership) -> float:
    """Worth of the probe's points in the target, in equally weighted ones."""
    return float(measure(probe, target(probe.points)[:, np.newaxis]).effective_sample_sizes[0])
