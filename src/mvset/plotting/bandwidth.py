"""Display of the bandwidth selection: the criterion of every candidate."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mvset.estimators.model_parts import ModelParts
from mvset.plotting import palette
from mvset.plotting.axes import BAND_OPACITY, axes_to_draw_on, is_wide, round_bandwidths, tidy
from mvset.summaries.bandwidths import VOLUME_LABEL, BandwidthComparison, is_measured

Array = NDArray[np.float64]

_HEIGHT = 1.6  # height of the plot, as a ratio of values: the minimum is flat, and volumes grow fast away from it


@dataclass(kw_only=True, eq=False)
class BandwidthDisplay:
    """The selection criterion against the bandwidth, with the selected bandwidth marked.

    By default the criterion is the geometric mean of the volume over the masses around `mass`, relative to the
    smallest, with the standard error of this ratio. With ``selection="area"`` it is the area under the mass-volume
    curve.

    Create it with :meth:`from_estimator` or :meth:`from_predictions`, whose parameters are stored as attributes.

    Attributes
    ----------
    line_ : matplotlib Line2D
        The criterion.
    band_ : matplotlib PolyCollection or None
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
    >>> from mvset.datasets import two_moons
    >>> from mvset import BandwidthDisplay
    >>> display = BandwidthDisplay.from_estimator(MinimumVolumeSet(random_state=0).fit(two_moons(500, random_state=0)))
    >>> display.ax_.get_xscale()
    'log'
    """

    sigmas: Array
    values: Array
    errors: Array | None = None
    eligible: NDArray[np.bool_] | None = None
    chosen: float | None = None
    title: str | None = None
    value_label: str = VOLUME_LABEL
    line_: Any = field(init=False, repr=False)
    band_: Any = field(init=False, repr=False)
    ineligible_: Any = field(init=False, repr=False)
    choice_: Any = field(init=False, repr=False)
    ax_: Any = field(init=False, repr=False)
    figure_: Any = field(init=False, repr=False)

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None, **kwargs: Any) -> BandwidthDisplay:
        """Draw the bandwidths tried by a fitted model.

        Parameters
        ----------
        estimator : MinimumVolumeSet or Pipeline
            Fitted; a Pipeline must end in a MinimumVolumeSet.
        ax : matplotlib Axes, optional
            Axes to draw on; a new figure by default.
        **kwargs : dict
            Properties of the line, passed to ``Axes.plot``.

        Returns
        -------
        display : BandwidthDisplay
            The display, drawn.

        Examples
        --------
        >>> from mvset import MinimumVolumeSet
        >>> from mvset.datasets import two_moons
        >>> from mvset import BandwidthDisplay
        >>> model = MinimumVolumeSet(sigma=[0.1, 0.2, 0.4], random_state=0).fit(two_moons(500, random_state=0))
        >>> BandwidthDisplay.from_estimator(model).sigmas
        array([0.1, 0.2, 0.4])
        """
        fitted = ModelParts.of(estimator).estimator
        if not hasattr(fitted, "selection_"):
            raise TypeError(f"{type(fitted).__name__} does not select a bandwidth by volume: nothing to draw.")
        compared = BandwidthComparison.of(fitted.selection_)
        return cls.from_predictions(
            compared.sigmas,
            compared.values,
            errors=compared.errors,
            eligible=compared.eligible,
            chosen=fitted.sigma_,
            title=compared.title,
            value_label=compared.label,
            ax=ax,
            **kwargs,
        )

    @classmethod
    def from_predictions(
        cls,
        sigmas: ArrayLike,
        values: ArrayLike,
        *,
        errors: ArrayLike | None = None,
        eligible: ArrayLike | None = None,
        chosen: float | None = None,
        title: str | None = None,
        value_label: str = VOLUME_LABEL,
        ax: Any = None,
        **kwargs: Any,
    ) -> BandwidthDisplay:
        """Draw a selection from arrays.

        Parameters
        ----------
        sigmas, values : array-like of shape (n_candidates,)
            The bandwidths, ascending, and their criteria. Values that are infinite (overflow) or zero (no sample point
            in the sets) are not drawn; values far above the minimum lie outside the axes.
        errors : array-like of shape (n_candidates,), optional
            Standard errors of the values.
        eligible : array-like of bool of shape (n_candidates,), optional
            Whether each bandwidth meets the paper's condition on ν and can be selected.
        chosen : float, optional
            The selected bandwidth.
        title : str, optional
            The title of the plot.
        value_label : str, optional
            The label of the vertical axis.
        ax : matplotlib Axes, optional
            Axes to draw on; a new figure by default.
        **kwargs : dict
            Properties of the line, passed to ``Axes.plot``.

        Returns
        -------
        display : BandwidthDisplay
            The display, drawn.

        Examples
        --------
        >>> from mvset import BandwidthDisplay
        >>> display = BandwidthDisplay.from_predictions([0.1, 0.2, 0.4], [0.5, 0.4, 0.45], chosen=0.2)
        >>> display.choice_.get_xydata()
        array([[0.2, 0.4]])
        """
        return cls(
            sigmas=np.asarray(sigmas, dtype=np.float64),
            values=np.asarray(values, dtype=np.float64),
            errors=None if errors is None else np.asarray(errors, dtype=np.float64),
            eligible=None if eligible is None else np.asarray(eligible, dtype=np.bool_),
            chosen=chosen,
            title=title,
            value_label=value_label,
        ).plot(ax, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> BandwidthDisplay:
        """Draw the criterion and the selected bandwidth.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on; a new figure by default.
        **kwargs : dict
            Properties of the line, passed to ``Axes.plot``.

        Returns
        -------
        self : BandwidthDisplay
            The display.
        """
        (ax,) = axes_to_draw_on(ax)
        measured = is_measured(self.values)
        sigmas, values = self.sigmas[measured], self.values[measured]
        style = {"color": palette.OURS, "linewidth": 1.8, "marker": "o", "markersize": 4, **kwargs}
        (self.line_,) = ax.plot(sigmas, values, **style)
        self.band_ = self.ineligible_ = self.choice_ = None
        if self.errors is not None:
            errors = self.errors[measured]
            shade = {"color": self.line_.get_color(), "alpha": BAND_OPACITY, "linewidth": 0}
            self.band_ = ax.fill_between(sigmas, values - errors, values + errors, **shade)
        eligible = np.ones(len(values), dtype=bool) if self.eligible is None else self.eligible[measured]
        if not eligible.all():
            label = "fails the condition on ν"
            hollow = {**style, "linestyle": "", "markerfacecolor": "white", "label": label}
            (self.ineligible_,) = ax.plot(sigmas[~eligible], values[~eligible], **hollow)
        if self.chosen is not None:
            self._mark_choice(ax, sigmas, values)
        if len(values):
            least = int(np.argmin(np.where(eligible, values, np.inf)))
            ax.axhline(values[least], color=palette.FAINT, linewidth=0.8, linestyle=":", zorder=0)
            self._set_limits(ax, values, least)
        ax.set_xscale("log")
        round_bandwidths(ax.xaxis, sigmas)
        tidy(ax, xlabel="bandwidth σ", ylabel=self.value_label, title=self.title)
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
