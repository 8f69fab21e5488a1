"""How much two sets differ: the volume of their symmetric difference."""

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from mvset.metrics.detectors import InputFormat, input_format, is_pyod
from mvset.rows.validation import check_extent, checked_rows, column_ranges
from mvset.values import Flags
from mvset.volume.importance import Membership
from mvset.volume.measure import VolumeEstimate, measure
from mvset.volume.sampler import INDEPENDENT_DRAWS, VolumeMethod, VolumeSampler, warn_if_unreliable


def symmetric_difference(
    set_a: Any,
    set_b: Any,
    X: Any,
    *,
    volume: VolumeMethod = "auto",
    n_points: int = 10_000,
    random_state: int | np.random.RandomState | None = None,
) -> VolumeEstimate:
    """Volume of what lies in one set and not in the other.

    Parameters
    ----------
    set_a, set_b : fitted outlier detector or callable
        A detector's set is where its ``predict`` gives +1 (0 for PyOD models). A callable takes rows and says which are
        inside.
    X : array-like of shape (n_samples, n_features)
        Rows that lie in and around the sets, to say where to look. Volumes are measured in the box around them, or, by
        importance sampling, in that box and half as large again.
    volume : {"auto", "box", "importance"}, default="auto"
        How sample points are drawn; see :class:`MinimumVolumeSet`.
    n_points : int, default=10_000
        Number of sample points.
    random_state : int, RandomState instance or None, default=None
        Seed of the points.

    Returns
    -------
    volume : VolumeEstimate
        With its standard error.

    Examples
    --------
    >>> from mvset import MinimumVolumeSet, symmetric_difference
    >>> from mvset.paper.datasets import paper_mixture
    >>> mixture = paper_mixture(n_features=6)
    >>> X = mixture.sample(500, random_state=0)
    >>> model = MinimumVolumeSet(mass=0.95, random_state=0).fit(X)
    >>> difference = symmetric_difference(model, lambda rows: mixture.contains(rows, 0.95), X, random_state=0)
    >>> bool(difference.value < 0.4 * mixture.volume(0.95).value)
    True
    """
    rows = checked_rows(X)
    check_extent(*column_ranges(rows), len(rows))
    as_input = input_format(X)
    in_a, in_b = membership(set_a, as_input), membership(set_b, as_input)
    sampler = VolumeSampler(volume, rows, n_points, check_random_state(random_state), INDEPENDENT_DRAWS)
    sample = sampler.draw(lambda points: in_a(points) | in_b(points))
    a, b = in_a(sample.points), in_b(sample.points)
    union, difference = (measure(sample, inside[:, np.newaxis]).estimate(0) for inside in (a | b, a ^ b))
    warn_if_unreliable(union, sample, "either set", "n_points")
    return difference


def membership(described: Any, as_input: InputFormat) -> Membership:
    """Function that says which points lie in a set, from a fitted detector or a callable of rows."""
    if hasattr(described, "predict"):
        return lambda points: _inside(described, as_input(points))
    if callable(described):
        return lambda points: _checked(described(as_input(points)), len(points))
    raise TypeError(
        "A set is a fitted detector with `predict`, or a function of rows that says which are inside; got "
        f"{described!r}."
    )


def _inside(detector: Any, rows: Any) -> Flags:
    labels = np.asarray(detector.predict(rows))
    inside, outside = (0, 1) if is_pyod(detector) else (1, -1)
    if not np.isin(labels, (inside, outside)).all():
        raise ValueError(
            f"`predict` of {detector!r} must give {inside} inside and {outside} outside; got "
            f"{np.unique(labels)[:5]}. For other models give a function of rows that says which are inside."
        )
    return np.asarray(labels == inside)


def _checked(inside: Any, n_rows: int) -> Flags:
    array = np.asarray(inside)
    if array.dtype != bool or array.shape != (n_rows,):
        raise ValueError(
            f"A function that describes a set must give one bool per row; got an array of dtype {array.dtype} and "
            f"shape {array.shape} for {n_rows} rows. For scores, compare with an offset: "
            "lambda rows: score(rows) >= offset."
        )
    return array
