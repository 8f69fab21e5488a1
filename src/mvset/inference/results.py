"""Results of statistical inference about masses, rows and batches."""

from dataclasses import dataclass

from mvset.values import Array, ArrayValue, Flags
from mvset.wording import counted


@dataclass(frozen=True)
class MassInterval:
    """Interval for the true mass of a set.

    Attributes
    ----------
    estimate : float
        Share of the calibration rows inside.
    low, high : float
        Ends of the interval.
    confidence : float
        Its confidence.
    n_rows : int
        Number of calibration rows.
    effective_rows : float
        How many independent rows they count for: fewer where rows depend on each other, or splits disagree.

    Examples
    --------
    >>> from mvset import MinimumVolumeSet
    >>> from mvset.paper.datasets import two_moons
    >>> interval = MinimumVolumeSet(mass=0.9, random_state=0).fit(two_moons(500, random_state=0)).mass_interval_
    >>> interval.low < 0.9 < interval.high
    True
    """

    estimate: float
    low: float
    high: float
    confidence: float
    n_rows: int
    effective_rows: float

    def __str__(self) -> str:
        return f"{self.estimate:.3f} ({self.low:.3f} to {self.high:.3f} with {100 * self.confidence:g} % confidence)"


@dataclass(frozen=True, eq=False)
class MassBand(ArrayValue):
    """Bounds for the true masses of nested sets that hold for all of them at once.

    Attributes
    ----------
    masses : ndarray of shape (n_masses,)
        Masses asked for.
    lower, upper : ndarray of shape (n_masses,)
        Bounds for the true masses of their sets.
    confidence : float
        Probability that the true masses of *all* nested sets of the fit lie in the band, at least.
    """

    masses: Array
    lower: Array
    upper: Array
    confidence: float


@dataclass(frozen=True, eq=False)
class Detection(ArrayValue):
    """Rows flagged in a batch.

    Attributes
    ----------
    flagged : ndarray of bool of shape (n_samples,)
        The rows flagged.
    p_values : ndarray of shape (n_samples,)
        Conformal p-values of all rows.
    threshold : float
        Rows with p-values up to it are flagged; 0 when there are none.
    fdr : float
        The false discovery rate controlled.
    """

    flagged: Flags
    p_values: Array
    threshold: float
    fdr: float


@dataclass(frozen=True)
class DriftResult:
    """Whether a batch of rows departs from the rows a model was calibrated on.

    Attributes
    ----------
    drifted : bool
        Whether one of the two tests rejects at half the false-alarm rate. Without drift this happens at that rate at
        most, over draws of the calibration rows *and* the batch: for one batch after the other use a
        :class:`DriftMonitor`, because an unrepresentative calibration set biases every later test.
    n_rows : int
        Rows of the batch.
    effective_rows : float
        How many independent rows they count for, if rows depend on their neighbours as those of the fit did.
    n_outside : int
        Those outside the set.
    share_outside : float
        Their share.
    share_interval : tuple of float
        Binomial interval for the share outside in the long run, of confidence ``1 - false_alarm_rate``.
    expected_share : float
        Share of the calibration rows outside.
    expected_interval : tuple of float
        Binomial interval for what that is in the long run, of the same confidence.
    share_p_value : float
        Of Fisher's exact test of the number outside against that of the calibration rows.
    distribution_p_value : float
        Of the two-sample Kolmogorov-Smirnov test of the scores, hence of the levels, against the calibration rows'.
        In "cross" mode of the levels above 0.5 only.
    false_alarm_rate : float
        As asked for.

    Examples
    --------
    >>> from mvset import MinimumVolumeSet
    >>> from mvset.paper.datasets import two_moons
    >>> model = MinimumVolumeSet(random_state=0).fit(two_moons(500, random_state=0))
    >>> model.check_drift(two_moons(200, random_state=1)).drifted
    False
    >>> model.check_drift(two_moons(200, random_state=1) + 0.3).drifted
    True
    """

    drifted: bool
    n_rows: int
    effective_rows: float
    n_outside: int
    share_outside: float
    share_interval: tuple[float, float]
    expected_share: float
    expected_interval: tuple[float, float]
    share_p_value: float
    distribution_p_value: float
    false_alarm_rate: float

    def __bool__(self) -> bool:
        return self.drifted

    def __str__(self) -> str:
        verdict = "drift" if self.drifted else "no sign of drift"
        if self.drifted and self.share_outside < self.expected_share:
            verdict += ", or rows of the fit itself, which lie further inside"
        return (
            f"{self.n_outside} of {counted(self.n_rows, 'row')} outside, {self.share_outside:.2%} where "
            f"{self.expected_share:.2%} were expected (p = {self.share_p_value:.2g} by the share, "
            f"{self.distribution_p_value:.2g} by the levels): {verdict}."
        )
