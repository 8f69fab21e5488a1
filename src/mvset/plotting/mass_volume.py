"""Display of mass-volume curves."""

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from mvset.estimators.fitted_model import FittedModel
from mvset.metrics.detector_curves import mass_volume_curve
from mvset.plotting import palette
from mvset.plotting.axes import BAND_OPACITY, Drawn, axes_to_draw_on, is_wide, measured_range, percent, tidy
from mvset.plotting.numbers import TAIL, fitted_curve, tail_masses
from mvset.rows.validation import checked_share
from mvset.values import Array

# Curves on the same axes differ in colour and line style, for print and for colour-blind readers.
_COLOURS = (palette.OURS, palette.ONE_CLASS_SVM, palette.PLUG_IN, palette.INK)
_LINES = ("-", "--", "-.", ":")


@dataclass(eq=False)
class MassVolumeDisplay(Drawn):
    """Volume of nested sets against their mass, with confidence bands for both.

    Create it with :meth:`from_estimator`, or from arrays; the parameters are stored as attributes.

    Parameters
    ----------
    masses, volumes : array-like of shape (n_masses,)
        The curve.
    lower, upper : array-like of shape (n_masses,), optional
        Confidence band of the volumes.
    mass_lower, mass_upper : array-like of shape (n_masses,), optional
        Confidence band of the true masses; NaN where there are no bounds.
    confidence : float, optional
        Confidence of the bands, for the legend.
    name : str, optional
        Label in the legend.
    volume_label : str, default="volume"
        Label of the vertical axis.

    Attributes
    ----------
    line_ : matplotlib Line2D
        The curve.
    band_, mass_band_ : matplotlib PolyCollection or None
        Confidence bands of the volumes and of the true masses.
    ax_, figure_ : matplotlib Axes, Figure
        The axes and the figure.

    See Also
    --------
    mass_volume_curve : The numbers, for any detector.

    Examples
    --------
    >>> from sklearn.ensemble import IsolationForest
    >>> from mvset import MinimumVolumeSet
    >>> from mvset.paper.datasets import two_moons
    >>> from mvset import MassVolumeDisplay
    >>> X, X_new = two_moons(500, random_state=0), two_moons(1000, random_state=1)
    >>> ours = MassVolumeDisplay.from_estimator(MinimumVolumeSet(random_state=0).fit(X), X_new, random_state=0)
    >>> forest = IsolationForest(random_state=0).fit(X)
    >>> theirs = MassVolumeDisplay.from_estimator(forest, X_new, ax=ours.ax_, random_state=0)
    >>> [text.get_text() for text in ours.ax_.get_legend().get_texts()]
    ['MinimumVolumeSet', 'IsolationForest']
    """

    masses: Array
    volumes: Array
    lower: Array | None = None
    upper: Array | None = None
    mass_lower: Array | None = None
    mass_upper: Array | None = None
    confidence: float | None = None
    name: str | None = None
    volume_label: str = "volume"
    mass_band_: Any = field(init=False, repr=False, default=None)

    def __post_init__(self) -> None:
        self.masses, self.volumes = (np.asarray(each, dtype=np.float64) for each in (self.masses, self.volumes))

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any = None,
        *,
        masses: ArrayLike | None = None,
        confidence: float = 0.95,
        random_state: int | np.random.RandomState | None = None,
        name: str | None = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the mass-volume curve of a fitted model.

        Parameters
        ----------
        estimator : fitted estimator
            A :class:`MinimumVolumeSet` or another estimator of nested sets, or a Pipeline that ends in one; with X, any
            detector supported by :func:`mass_volume_curve`.
        X : array-like of shape (n_samples, n_features), optional
            Rows to measure masses with, preferably not the training rows. The curve then describes the score's level
            sets which contain given shares of X, in units of X, with a simultaneous band: use it to compare detectors.
            Without X, the curve describes the nested sets as fitted, in units of the columns that a Pipeline passes to
            its last step. It has the standard errors of the volumes and, if the model provides one, the simultaneous
            band of the true masses (for masses of at least 0.5 in "cross" mode).
        masses : array-like of shape (n_masses,), optional
            By default 0.80, 0.81 … 0.99; without X, also the fitted mass, and only masses that the model can guarantee.
        confidence : float, default=0.95
            Confidence of the bands.
        random_state : int, RandomState instance or None, default=None
            Seed of the volume sample; only used with X.
        name : str, optional
            Label in the legend; the name of the class by default.
        ax : matplotlib Axes, optional
            Axes to draw on; a new figure by default.
        **kwargs : dict
            Properties of the line, passed to ``Axes.plot``.

        Returns
        -------
        display : MassVolumeDisplay
            The display, drawn.

        Examples
        --------
        >>> from mvset import MinimumVolumeSet
        >>> from mvset.paper.datasets import two_moons
        >>> from mvset import MassVolumeDisplay
        >>> model = MinimumVolumeSet(random_state=0).fit(two_moons(500, random_state=0))
        >>> display = MassVolumeDisplay.from_estimator(model, masses=[0.9, 0.95])
        >>> bool(display.volumes[1] == model.volume_.value)
        True
        """
        confidence = checked_share(confidence, "confidence")
        last = estimator[-1] if hasattr(estimator, "steps") else estimator
        numbers: dict[str, Any]
        if X is None:
            model = FittedModel.of(estimator)
            asked = tail_masses(model.sets) if masses is None else np.atleast_1d(np.asarray(masses, dtype=np.float64))
            unit = "" if model.before is None else " (of the transformed columns)"
            numbers = {**fitted_curve(model.sets, asked, confidence), "volume_label": f"volume{unit}"}
        else:
            held = TAIL if masses is None else masses
            curve = mass_volume_curve(estimator, X, masses=held, confidence=confidence, random_state=random_state)
            numbers = {key: getattr(curve, key) for key in ("masses", "volumes", "lower", "upper")}
        return cls(**numbers, confidence=confidence, name=name or type(last).__name__).plot(ax, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw the curve and its bands.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on; a new figure by default. Curves on the same axes get different colours and one legend.
        **kwargs : dict
            Properties of the line, passed to ``Axes.plot``.

        Returns
        -------
        self : MassVolumeDisplay
            The display.
        """
        (ax,) = axes_to_draw_on(ax)
        index = len(ax.lines) % len(_COLOURS)
        style = {"color": _COLOURS[index], "linestyle": _LINES[index], "linewidth": 1.8, "label": self.name, **kwargs}
        (self.line_,) = ax.plot(self.masses, self.volumes, **style)
        shade = {"color": self.line_.get_color(), "linewidth": 0, "alpha": BAND_OPACITY}
        self.band_ = self.mass_band_ = None
        if self.lower is not None and self.upper is not None:
            # With too few rows for a bound, it is zero or infinite: clip the band outside the axes.
            least, most = measured_range(self.volumes)
            bounds = (np.clip(bound, 1e-3 * least, 1e3 * most) for bound in (self.lower, self.upper))
            self.band_ = ax.fill_between(self.masses, *bounds, **shade)
        if self.mass_lower is not None and self.mass_upper is not None:
            shade["label"] = "true mass of every set"
            self.mass_band_ = ax.fill_betweenx(self.volumes, self.mass_lower, self.mass_upper, **shade)
        if is_wide(self.volumes):
            ax.set_yscale("log")
        _set_limits(ax)
        ax.locator_params(axis="x", steps=[1, 2, 5, 10])
        tidy(ax, xlabel="mass", ylabel=self.volume_label)
        if ax.get_legend_handles_labels()[0]:
            shaded = None if self.confidence is None else f"shaded: {percent(self.confidence)} confidence"
            # Volumes grow with mass, so the upper left corner is empty.
            ax.legend(loc="upper left", frameon=False, title=shaded, alignment="left")
        self.ax_, self.figure_ = ax, ax.figure
        return self


def _set_limits(ax: Any) -> None:
    """Set the vertical limits by the curves alone: bands may extend to zero or infinity."""
    least, most = measured_range(np.concatenate([np.asarray(line.get_ydata(), dtype=np.float64) for line in ax.lines]))
    if most <= least:
        return
    if ax.get_yscale() == "log":
        ax.set_ylim(least / 3.0, 3.0 * most)
    else:
        padding = 0.3 * (most - least)
        ax.set_ylim(max(0.0, least - padding), most + padding)
