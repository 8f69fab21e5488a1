"""The choice of the volume sample: in the box or by importance sampling, and with how many points."""

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
_MAX_FACTOR = 8  # "auto" draws at most this many times the number of points requested
_BOX_DIMENSIONS = 3  # up to here the box is well hit, and a Sobol point is as good as ten random ones


class VolumeSampler:
    """Draws volume samples around the rows of `X`.

    The importance sampler is created at its first use and keeps what it has learnt for later draws.
    """

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
    def _importance_sampler(self) -> ImportanceSampler:
        return ImportanceSampler(self.X, self.rng)

    def draw(self, target: Membership, share: float = 1.0) -> VolumeSample:
        """Draw a sample that measures `target` and sets like it, with the fraction `share` of the points.

        "auto" takes the box with few columns, and importance sampling with many or where few points of the box hit the
        target. If the effective sample size in the target is below `SUFFICIENT` it doubles the number of points, up to
        eight times; a sample with `share` below one is preliminary and stays as it is.
        """
        n_points = max(1, int(share * self.n_points))
        if not self.adaptive:
            sample = draw_box_sample(self.X, n_points, self.rng)
            if self.method == "box" or effective_sample_size(sample, target) >= SUFFICIENT:
                return sample
        max_points = _MAX_FACTOR * n_points if self.method == "auto" and share == 1.0 else n_points
        while True:
            sample = self._importance_sampler.draw(n_points, target)
            if n_points >= max_points or effective_sample_size(sample, target) >= SUFFICIENT:
                return sample
            n_points *= 2


def effective_sample_size(sample: VolumeSample, target: Membership) -> float:
    """Number of equally weighted points in the target that would give the same standard error as the sample."""
    return float(measure(sample, target(sample.points)[:, np.newaxis]).effective_sample_sizes[0])
