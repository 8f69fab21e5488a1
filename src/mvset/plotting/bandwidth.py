"""Display of the bandwidth selection: the criterion of every candidate."""

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from mvset.estimators.fitted_model import FittedModel
from mvset.plotting import palette
from mvset.plotting.axes import BAND_OPACITY, Drawn, axes_to_draw_on, is_wide, round_ticks, tidy
from mvset.plotting.numbers import VOLUME_LABEL, BandwidthComparison
from mvset.values import Array

_HEIGHT = 1.6  # height of the plot, as a ratio of values: the minimum is flat, and volumes grow fast away from it


@dataclass(eq=False)
class BandwidthDisplay(Drawn):
    """The selection criterion against the bandwidth, with the selected bandwidth marked.

    The criterion is the geometric mean of the volume over the masses around `mass`, relative to the smallest, with the
    standard error of this ratio.

    Create it with :meth:`from_estimator`; the parameters are stored as attributes.

    Parameters
    ----------
    compared : BandwidthComparison
        The bandwidths in ascending order, their criteria with standard errors, and whether each can be selected.
    chosen : float, optional
        The selected bandwidth.

    Attributes
    ----------
    line_ : matplotlib Line2D
        The criterion.
    band_ : matplotlib PolyCollection
        Plus or minus one standard error.
    ineligible_ : matplotlib Line2D or None
        Hollow markers of the bandwidths that fail the condition on ν and cannot be selected.
    choice_ : matplotlib Line2D or None
        Marker of the selected bandwidth; a vertical line if its value is not drawn.
    ax_, figure_ : matplotlib Axes, Figure
        The axes and the figure.

    Examples
    --------
    >>> from mvset import MinimumVolumeSet
    >>> from mvset.paper.datasets import two_moons
    >>> from mvset import BandwidthDisplay
    >>> display = BandwidthDisplay.from_estimator(MinimumVolumeSet(random_state=0).fit(two_moons(500, random_state=0)))
    >>> display.ax_.get_xscale()
    'log'
    """

    compared: BandwidthComparison
    chosen: float | None = None
    ineligible_: Any = field(init=False, repr=False, default=None)
    choice_: Any = field(init=False, repr=False, default=None)

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> Self:
        """Draw the bandwidths tried by a fitted model.

        Parameters
        ----------
        estimator : MinimumVolumeSet or Pipeline
            Fitted; a Pipeline must end in a MinimumVolumeSet.
        ax : matplotlib Axes, optional
            Axes to draw on; a new figure by default.

        Returns
        -------
        display : BandwidthDisplay
            The display, drawn.

        Examples
        --------
        >>> from mvset import MinimumVolumeSet
        >>> from mvset.paper.datasets import two_moons
        >>> from mvset import BandwidthDisplay
        >>> model = MinimumVolumeSet(sigma=[0.1, 0.2, 0.4], random_state=0).fit(two_moons(500, random_state=0))
        >>> BandwidthDisplay.from_estimator(model).compared.sigmas
        array([0.1, 0.2, 0.4])
        """
        fitted = FittedModel.of(estimator).estimator
        if not hasattr(fitted, "selection_"):
            raise TypeError(f"{type(fitted).__name__} does not select a bandwidth by volume: nothing to draw.")
        return cls(BandwidthComparison.of(fitted.selection_), fitted.sigma_).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the criterion and the selected bandwidth.

        Values far above the minimum lie outside the axes.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on; a new figure by default.

        Returns
        -------
        self : BandwidthDisplay
            The display.
        """
        (ax,) = axes_to_draw_on(ax)
        tried = self.compared
        sigmas, values, eligible = tried.sigmas, tried.values, tried.eligible
        style = {"color": palette.OURS, "linewidth": 1.8, "marker": "o", "markersize": 4}
        (self.line_,) = ax.plot(sigmas, values, **style)
        shade = {"color": palette.OURS, "alpha": BAND_OPACITY, "linewidth": 0}
        self.band_ = ax.fill_between(sigmas, values - tried.errors, values + tried.errors, **shade)
        self.ineligible_ = self.choice_ = None
        if not eligible.all():
            hollow = {**style, "linestyle": "", "markerfacecolor": "white", "label": "fails the condition on ν"}
            (self.ineligible_,) = ax.plot(sigmas[~eligible], values[~eligible], **hollow)
        if self.chosen is not None:
            self._mark_choice(ax, sigmas, values)
        if len(values):
            least = int(np.argmin(np.where(eligible, values, np.inf)))
            ax.axhline(values[least], color=palette.FAINT, linewidth=0.8, linestyle=":", zorder=0)
            self._set_limits(ax, values, least)
        ax.set_xscale("log")
        ticks = round_ticks(sigmas)
        ax.set_xticks(ticks, [f"{tick:.3g}" for tick in ticks])
        ax.set_xticks([], minor=True)
        tidy(ax, xlabel="bandwidth σ", ylabel=VOLUME_LABEL, title=tried.title)
        if self.ineligible_ is not None:
            ax.legend(loc="upper center", frameon=False)  # the curve is lowest in the middle
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _mark_choice(self, ax: Any, sigmas: Array, values: Array) -> None:
        """Mark the selected bandwidth by a point, or by a vertical line if its value is not drawn."""
        from matplotlib.patheffects import withStroke

        at = np.flatnonzero(sigmas == self.chosen)
        if len(at):
            (self.choice_,) = ax.plot(self.chosen, values[at], color=palette.HIGHLIGHT, marker="o", markersize=9)
            where: dict[str, Any] = {"xy": (self.chosen, values[at[0]]), "xytext": (7, -7), "va": "top"}
        else:
            self.choice_ = ax.axvline(self.chosen, color=palette.HIGHLIGHT, linewidth=1.6)
            where = {"xy": (self.chosen, 0.0), "xycoords": ("data", "axes fraction"), "xytext": (7, 7), "va": "bottom"}
        # Label to the lower right: the curve rises to the right of the selected bandwidth.
        style = {"textcoords": "offset points", "ha": "left", "color": palette.HIGHLIGHT, "fontweight": "bold"}
        halo = [withStroke(linewidth=2.5, foreground="white")]
        ax.annotate(f"σ = {self.chosen:.3g}", **where, **style, path_effects=halo)

    @staticmethod
    def _set_limits(ax: Any, values: Array, least: int) -> None:
        """Show the minimum and its neighbours; values far above it lie outside the axes."""
        logs = np.log(values)
        near = np.abs(logs - logs[least]) < np.log(_HEIGHT)
        near[max(least - 2, 0) : least + 3] = True
        wide = is_wide(values[near])
        shown = logs[near] if wide else values[near]
        padding = np.ptp(shown) * np.array([-0.15, 0.05])  # more at the bottom, for the label
        limits = np.array([shown.min(), shown.max()]) + padding
        if wide:
            ax.set_yscale("log")
        if limits[1] > limits[0]:
            ax.set_ylim(np.exp(limits) if wide else limits)
