"""Results of statistical inference about masses, rows and batches."""

from dataclasses import dataclass

from mvset.values import Array, ArrayValue, Flags
from mvset.wording import counted

_NAMED = 3  # columns in a sentence
_LEAST_SHOWN = 1e-12


def outside_in_words(n_outside: int, n_rows: int | None = None) -> str:
    """So many rows lie outside, of so many."""
    of = "" if n_rows is None else f" of {counted(n_rows, 'row')}"
    return f"{n_outside}{of} {'lies' if n_outside == 1 else 'lie'} outside"


def shown_p(p_value: float) -> str:
    """A p-value as people say it: never zero."""
    return f"below {_LEAST_SHOWN:g}" if p_value < _LEAST_SHOWN else f"{p_value:.2g}"


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

    __repr__ = __str__


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
class ColumnChange:
    """How the values of a column in a batch differ from its values in the fit.

    Attributes
    ----------
    name : str
        The column.
    p_value : float
        Of the two-sample test of Anderson and Darling, for this column alone.
    quartiles, quartiles_before : tuple of float
        Lower quartile, median and upper quartile in the batch and in the fit, to the nearest of 129 quantiles of the
        fit: a value beyond all rows of the fit counts as the last of them.

    Examples
    --------
    >>> from mvset import MinimumVolumeSet
    >>> from mvset.paper.datasets import two_moons
    >>> model = MinimumVolumeSet(random_state=0).fit(two_moons(500, random_state=0))
    >>> drift = model.check_drift(two_moons(200, random_state=1) + [0.0, 1.0])
    >>> [column.name for column in drift.changed_columns]
    ['x1']
    """

    name: str
    p_value: float
    quartiles: tuple[float, float, float]
    quartiles_before: tuple[float, float, float]

    def __str__(self) -> str:
        (low, now, high), (low_before, before, high_before) = self.quartiles, self.quartiles_before
        if low == high:  # at an end of the quantiles of the fit, or one value that repeats
            side = "at least " if now > before else "at most " if now < before else ""
            return f"{self.name} is {side}{now:.4g} (median) and was {before:.4g}"
        spread = (
            f"half of its values lie from {low:.4g} to {high:.4g}, and lay from {low_before:.4g} to {high_before:.4g}"
        )
        return f"{self.name} is {now:.4g} (median) and was {before:.4g}; {spread}"


@dataclass(frozen=True)
class DriftResult:
    """Whether a batch of rows departs from the rows a model was fitted to.

    Attributes
    ----------
    drifted : bool
        Whether one of four tests rejects at a quarter of the false-alarm rate. Without drift this happens at most at
        that rate, over draws of the rows of the fit *and* the batch. For one batch after the other use a
        :class:`DriftMonitor`, because an unrepresentative calibration set biases every later test.
    is_testable : bool
        Whether the test of the share could reject if all rows were outside: whether rows suffice for a verdict.
    n_rows : int
        Rows of the batch.
    effective_rows : float
        How many independent rows they count for, if they depend on their neighbours as in the fit.
    calibration_rows, effective_calibration_rows : int, float
        The same for the calibration rows.
    n_outside : int
        Rows outside the set.
    share_outside : float
        Their share.
    share_interval : tuple of float
        Binomial interval for the share outside in the long run, of confidence ``1 - false_alarm_rate``.
    expected_share : float
        Share of the calibration rows outside.
    expected_interval : tuple of float
        Binomial interval for what that is in the long run, of the same confidence.
    share_p_value : float
        Of Fisher's exact test of the number outside, now and among the calibration rows.
    distribution_p_value : float
        Of the two-sample Kolmogorov-Smirnov test of the scores, hence of the levels, against the calibration rows'.
        In "cross" mode of the levels above 0.5 only.
    columns_p_value : float
        Of the two-sample tests of Anderson and Darling of all columns against the rows of the fit, by Simes.
    sums_p_value : float
        Of the same test of sums of columns with random signs, which sees changes of correlation.
    changed_columns : tuple of ColumnChange
        The columns that changed, the surest first.
    wandering_columns : tuple of str
        Columns that are not tested, because the rows of the fit wander or trend in them.
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
    is_testable: bool
    n_rows: int
    n_outside: int
    share_outside: float
    share_interval: tuple[float, float]
    expected_share: float
    expected_interval: tuple[float, float]
    effective_rows: float
    calibration_rows: int
    effective_calibration_rows: float
    share_p_value: float
    distribution_p_value: float
    columns_p_value: float
    sums_p_value: float
    changed_columns: tuple[ColumnChange, ...]
    wandering_columns: tuple[str, ...]
    false_alarm_rate: float

    def __bool__(self) -> bool:
        return self.drifted

    @property
    def p_value(self) -> float:
        """Of all four tests together, by Bonferroni."""
        by_scores, by_rows = (self.share_p_value, self.distribution_p_value), (self.columns_p_value, self.sums_p_value)
        return min(1.0, 4.0 * min(*by_scores, *by_rows))

    def __str__(self) -> str:
        return f"{self.verdict}. {self.share_in_words}.{self.columns_in_words} P-values: {self.p_values_in_words}."

    __repr__ = __str__

    @property
    def share_in_words(self) -> str:
        """How many rows are outside, and how many normally are."""
        shares = f"({self.share_outside:.2%}, normally {self.expected_share:.2%})"
        return f"{outside_in_words(self.n_outside, self.n_rows)} {shares}"

    @property
    def p_values_in_words(self) -> str:
        """The p-value of each test."""
        by_test = {"share": self.share_p_value, "levels": self.distribution_p_value}
        by_test |= {"columns": self.columns_p_value, "sums of columns": self.sums_p_value}
        return ", ".join(f"{shown_p(p_value)} by the {test}" for test, p_value in by_test.items())

    @property
    def verdict(self) -> str:
        """Whether there is drift, in words."""
        if not self.drifted:
            return "No sign of drift" if self.is_testable else f"It cannot be told whether there is drift{self.why_not}"
        fewer = not self.changed_columns and self.share_outside < self.expected_share
        return "Drift, or rows of the fit itself, which lie further inside" if fewer else "Drift"

    @property
    def columns_in_words(self) -> str:
        """A sentence about the columns that changed, if there are any."""
        if not self.changed_columns:
            return ""
        n_more = len(self.changed_columns) - _NAMED
        more = f" {n_more} more columns changed." if n_more > 1 else " One more column changed." if n_more == 1 else ""
        return "".join(f" Column {each}." for each in self.changed_columns[:_NAMED]) + more

    @property
    def why_not(self) -> str:
        """Why no test could reject, if that is so."""
        if self.is_testable:
            return ""
        rows, known = counted(self.effective_rows, "independent row"), f"{self.effective_calibration_rows:.0f}"
        return f", because the rows count for {rows} and the {self.calibration_rows} calibration rows for {known}"
