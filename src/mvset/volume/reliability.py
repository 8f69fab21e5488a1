"""Warnings about volumes that rest on too few effective sample points."""

from mvset.exceptions import VolumeWarning, warn
from mvset.volume.measure import VolumeEstimate, VolumeSample
from mvset.volume.sampler import SUFFICIENT
from mvset.wording import Message

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
