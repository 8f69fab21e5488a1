"""Warnings about what limits the choice of the bandwidth."""

import numpy as np

from mvset.bandwidth.choice import SAME_VOLUME, Selection, meets_nu_condition
from mvset.bandwidth.curves import BandwidthCurve
from mvset.exceptions import BandwidthEdgeWarning, BandwidthWarning, MvsetWarning, VolumeWarning, warn
from mvset.svm.expansion import NO_KERNEL
from mvset.values import Array, Flags
from mvset.volume.measure import VolumeSample, measure
from mvset.volume.sampler import SUFFICIENT, UNRELIABLE
from mvset.wording import Message

_ENOUGH = 0.5 * SUFFICIENT  # of points that were drawn until they sufficed for nearly the same set


def warn_about_bandwidth(curve: BandwidthCurve, selection: Selection) -> bool:
    """Say the one thing that most limits the choice, if there is one; `curve` belongs to the bandwidth chosen."""
    checks: tuple[tuple[str, type[MvsetWarning]], ...] = (
        (_all_inside(curve, selection), BandwidthWarning),
        (_nu_too_small(_nu(curve, selection), curve), BandwidthWarning),
        (_guessed(curve, selection), VolumeWarning),
        (_least_on_edge(curve, selection), BandwidthEdgeWarning),
        (_stopped_by_nu(curve, selection), BandwidthEdgeWarning),
    )
    for advice, category in checks:
        if advice:
            warn(advice, category)
            return True
    return False


def warn_if_unmeasured(
    sample: VolumeSample, inside: Flags, masses: Array, selection: Selection, n_columns: int, *, warned: bool = False
) -> None:
    """Warn if the volumes of the sets of these masses (columns of `inside`) rest on too few points.

    There is no advice on points if the bandwidth was `warned` about.
    """
    # The largest set is the one best measured, unless it reaches for rows far out.
    middle, sizes = len(masses) // 2, measure(sample, inside).effective_sample_sizes
    best = middle + int(sizes[middle:].argmax())
    size = float(sizes[best])
    if selection.volume_method == "bound" and size < SUFFICIENT:
        chosen = "" if selection.criterion == "given" else "; the bandwidth was chosen by a bound"
        warn(
            f"With {n_columns} columns volumes cannot be measured{chosen}. Alarms are unaffected.",
            VolumeWarning,
        )
    if size >= _ENOUGH or selection.volume_method == "bound" or warned:
        return
    facts = {"size": size, "n_points": len(sample.log_weights), "method": sample.method}
    largest = f"the set of mass {masses[best]:.3g}"
    warn(Message(UNRELIABLE, "Raise {n_volume_points}.", largest=largest, **facts), VolumeWarning)


def _nu(curve: BandwidthCurve, selection: Selection) -> float:
    return float(selection.nus[selection.sigmas == curve.sigma][0])


def _all_inside(curve: BandwidthCurve, selection: Selection) -> str:
    fills_the_box = selection.volume_method == "box" and curve.hits[0] == selection.n_points
    if (curve.offsets[0] > NO_KERNEL or selection.volume_method == "bound") and not fills_the_box:
        return ""
    return (
        f"The bandwidth {curve.sigma:.4g} cannot describe these rows: every point of the box around them lies in the "
        f"set of mass {curve.masses[0]:.3g}. It is too narrow, or too wide."
    )


def _nu_too_small(nu: float, curve: BandwidthCurve) -> str:
    """The paper's condition on ν fails. The share of outliers grows with ν about in proportion."""
    if meets_nu_condition(curve.training_mass, curve.masses):
        return ""
    outliers, needed = 1.0 - curve.training_mass, 1.0 - float(curve.masses[0])
    proportion = min(5.0, nu / outliers) if outliers > 0 else 2.0
    # A tenth more than the proportion says, rounded up to the next 0.05.
    suggested = min(1.0, max(np.ceil(20 * 1.1 * needed * proportion) / 20, np.ceil(20 * 1.25 * nu) / 20))
    larger = "Try {nu:{suggested:g}}" + (" or more." if suggested < 1.0 else ".")
    return Message(
        "{nu:{found:g}} is too small here: the unshifted one-class SVM contains {inside:.3f} of its training rows, and "
        "must contain at most {at_most:.3f} for its level sets to describe the requested masses.",
        larger if nu < 1.0 else "Use a larger {mass}.",
        "A wider {sigma} also helps.",
        found=nu,
        inside=curve.training_mass,
        at_most=curve.masses[0],
        suggested=suggested,
    )


def _guessed(curve: BandwidthCurve, selection: Selection) -> str:
    if selection.criterion != "middle":
        return ""
    guess = "The bandwidth, {bandwidth:.4g}, is a guess. {reason}"
    return Message(guess, "Raise {n_volume_points}.", bandwidth=curve.sigma, reason=selection.reason)


def _least_on_edge(curve: BandwidthCurve, selection: Selection) -> str:
    """Say so if the last bandwidth is the best, by more than the standard error of its difference to the next."""
    sigmas, narrowest = selection.sigmas, curve.sigma == selection.sigmas[0]
    if len(sigmas) < 3 or curve.sigma not in (sigmas[0], sigmas[-1]):
        return ""
    beside = selection.values[1 if narrowest else -2]
    behind = beside - np.min(selection.values[np.isfinite(selection.values)])
    if np.isfinite(beside) and behind <= max(selection.errors[1 if narrowest else -2], SAME_VOLUME):
        return ""
    return Message(
        "The best bandwidth, {best:.4g}, is the {side} of the {n_tried} tried, and a better one may lie beyond.",
        "Set {sigma} to a list that reaches further.",
        best=curve.sigma,
        side="smallest" if narrowest else "largest",
        n_tried=len(sigmas),
    )


def _stopped_by_nu(curve: BandwidthCurve, selection: Selection) -> str:
    if not selection.stopped_by_nu:
        return ""
    return Message(
        "The best bandwidth, {best:.4g}, is the narrowest that {nu:{found:g}} allows.",
        "Sets may be smaller with a larger {nu}.",
        best=curve.sigma,
        found=_nu(curve, selection),
    )
