"""The choice of the volume sample: in the box or by importance sampling, and with how many points."""

from numbers import Integral
from typing import Literal, get_args

import numpy as np

from mvset.exceptions import VolumeWarning, warn
from mvset.rows.layout import ColumnLayout
from mvset.values import Array, cached_property
from mvset.volume.box import draw_box_sample
from mvset.volume.cells import CellSampler
from mvset.volume.importance import ImportanceSampler, Membership
from mvset.volume.measure import VolumeEstimate, VolumeSample, measure, no_sample
from mvset.wording import Message

VolumeMethod = Literal["auto", "box", "importance"]

SUFFICIENT = 400  # effective sample size: a standard error of about 5 %
INDEPENDENT_DRAWS = 4  # for sets of any shape: two would tell of a missed part, but not how much, with any confidence
_AMPLE = 1.5  # times the points that suffice by what a pilot sample shows
_NEARLY_ALL = 0.99  # of the points: a full draw may be continued
_MARGIN = 1.5  # of a further draw, over the number of points that suffices by what is known
MAX_FACTOR = 8  # "auto" draws at most this many times the number of points requested
_MANY_VALUES = 1_000_000  # of all points together: in so many columns more points would not measure anything either
_FEW_POINTS = 250
_PILOT_SHARE = 0.1
MEASURED_COLUMNS = 10  # up to here measured volumes choose better than a bound (docs/method.md)
MOST_COLUMNS = 50  # in more, no sample measures the volume of any set but a ball
_BOX_DIMENSIONS = 3  # up to here the box is well hit, and a Sobol point is as good as ten random ones


class VolumeSampler:
    """Draws volume samples around the rows of `X`, which are encoded as `layout` says, if it is given.

    The importance samplers are created at their first use and keep what they have learnt for later draws. Of several,
    each adapts by itself and draws its part of the points, so that the standard error includes what one of them may
    miss: sets of other detectors can have any shape.
    """

    def __init__(
        self,
        method: VolumeMethod,
        X: Array,
        n_points: int,
        rng: np.random.RandomState,
        n_draws: int = 1,
        layout: ColumnLayout | None = None,
    ) -> None:
        if method not in get_args(VolumeMethod):
            raise ValueError(f"The way to draw sample points must be one of {get_args(VolumeMethod)}; got {method!r}.")
        if not isinstance(n_points, Integral) or n_points < 1:
            raise ValueError(f"The number of sample points must be a positive integer; got {n_points!r}.")
        self.method: VolumeMethod = method
        layout = layout or ColumnLayout(X.shape[1])
        self.X: Array = X[:, : layout.n_numeric]
        self._n_encoded: int = X.shape[1]
        self.n_varying: int = int(np.count_nonzero(np.ptp(self.X, axis=0)))
        self._cells: CellSampler | None = CellSampler(X, layout, rng) if layout.sizes else None
        most = max(_FEW_POINTS, _MANY_VALUES // X.shape[1]) if method == "auto" else n_points
        self.n_points: int = min(int(n_points), most)
        self.rng: np.random.RandomState = rng
        self.n_draws: int = n_draws
        self.adaptive: bool = method == "importance" or (method == "auto" and self.X.shape[1] > _BOX_DIMENSIONS)

    @cached_property
    def _importance_samplers(self) -> list[ImportanceSampler]:
        return [ImportanceSampler(self.X, self.rng, self._cells) for _ in range(self.n_draws)]

    def draw(self, target: Membership, share: float = 1.0, most: int = MAX_FACTOR) -> VolumeSample:
        """Draw a sample that measures `target` and sets like it, with the fraction `share` of the points.

        "auto" takes the box with few columns, and importance sampling with many or where few points of the box hit the
        target. If the effective sample size in the target is below `SUFFICIENT` it draws more, at most `most` times as
        many. A sample with `share` below one is preliminary and stays as it is. In more columns than `MOST_COLUMNS`
        "auto" draws no points.
        """
        if self.method == "auto" and self.n_varying > MOST_COLUMNS:
            return no_sample(self._n_encoded)
        n_points = max(1, int(share * self.n_points))
        if not self.adaptive:
            sample = draw_box_sample(self.X, n_points, self.rng, self._cells)
            if self.method == "box" or effective_sample_size(sample, target) >= SUFFICIENT:
                return sample
        max_points = most * n_points if self.method == "auto" and share == 1.0 else n_points
        while True:
            n_each = -(-n_points // self.n_draws)
            sample = _joined([each.draw(n_each, target, self.n_draws) for each in self._importance_samplers])
            missing = SUFFICIENT / max(effective_sample_size(sample, target), 1e-9)
            if missing <= 1.0 or n_points >= max_points:
                return sample
            n_points = min(max_points, int(np.ceil(_MARGIN * missing * n_points)))

    def draw_if_sufficient(self, target: Membership) -> VolumeSample:
        """Draw as many points as measure `target`, or none where a tenth of them shows that all would not do."""
        pilot = self.draw(target, _PILOT_SHARE)
        needed = SUFFICIENT * _PILOT_SHARE / max(effective_sample_size(pilot, target), 1e-9)
        if not len(pilot.points) or needed >= 1.0:
            return no_sample(self._n_encoded)
        for share in (min(_AMPLE * needed, _NEARLY_ALL), _NEARLY_ALL):
            sample = self.draw(target, share)
            if effective_sample_size(sample, target) >= SUFFICIENT:
                return sample
        return no_sample(self._n_encoded)


def _joined(samples: list[VolumeSample]) -> VolumeSample:
    """Independent draws as one sample."""
    if len(samples) == 1:
        return samples[0]
    return VolumeSample(
        np.concatenate([sample.points for sample in samples]),
        np.concatenate([sample.log_weights for sample in samples]) - np.log(len(samples)),
        sum(sample.n_replicates for sample in samples),
        samples[0].method,
        len(samples),
    )


def effective_sample_size(sample: VolumeSample, target: Membership) -> float:
    """Number of equally weighted points in the target that would give the same standard error as the sample."""
    return float(measure(sample, target(sample.points)[:, np.newaxis]).effective_sample_sizes[0])


_TOO_MANY_COLUMNS = "With {n_columns} columns volumes cannot be measured. Labels, levels and p-values do not need them."
_LARGE_ERROR = 0.1  # relative standard error: twice what a sufficient number of points gives
UNRELIABLE = (
    "The volumes are unreliable: of {n_points} sample points ({method}), the effective sample size in {largest} is "
    f"{{size:.0f}}; {SUFFICIENT} are needed."
)
_DISAGREE = (
    "The volumes are unreliable: {n_draws} independent draws of sample points ({method}) disagree about {largest}, by "
    "a standard error of {error:.0%}."
)


def warn_if_unreliable(volume: VolumeEstimate, sample: VolumeSample, largest: str, option: str) -> None:
    """Warn if the volume of the largest set rests on too few points, or if independent draws of them disagree."""
    if not len(sample.log_weights):
        warn(Message(_TOO_MANY_COLUMNS, n_columns=sample.points.shape[1]), VolumeWarning)
        return
    are_few = volume.effective_sample_size < SUFFICIENT
    if not are_few and not volume.standard_error > _LARGE_ERROR * volume.value:
        return
    message = Message(
        UNRELIABLE if are_few else _DISAGREE,
        f"Raise {{{option}}}.",
        size=volume.effective_sample_size,
        error=0.0 if are_few else volume.standard_error / volume.value,
        n_points=len(sample.points),
        n_draws=sample.n_draws,
        method=sample.method,
        largest=largest,
    )
    warn(message, VolumeWarning)
