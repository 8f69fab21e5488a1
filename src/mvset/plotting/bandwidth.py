"""The choice of the bandwidth, drawn."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mvset.estimators.pipeline import FittedModel
from mvset.plotting import palette
from mvset.plotting.axes import BAND_OPACITY, axes_to_draw_on, is_measured, is_wide, round_bandwidths, tidy
from mvset.summaries.candidates import Candidates

Array = NDArray[np.float64]

_HEIGHT = 1.6  # of the picture, as a ratio of areas: the minimum is flat, and far from it areas explode

_HOW = {
    "volume": "The widest σ of the smallest sets is chosen",
    "feature subsets": "The widest σ of the smallest sets is chosen, on subsets of the columns",
    "middle": "No point reaches some of the sets: the σ in the middle of them is chosen",
}


@dataclass(kw_only=True, eq=False)
class BandwidthDisplay:
    """Area under the mass-volume curve against the bandwidth, and the bandwidth chosen.

    Create it with :meth:`from_estimator` or :meth:`from_predictions`, whose parameters are stored as attributes.

    Attributes
    ----------
    line_ : matplotlib Line2D
        The areas.
    band_ : matplotlib PolyCollection or None
        Their standard errors.
    invalid_ : matplotlib Line2D or None
        Hollow markers of bandwidths that do not compete.
    choice_ : matplotlib Line2D or None
        Marker of the choice; a vertical line where its area is not drawn.
    ax_, figure_ : matplotlib Axes, Figure
        Where they are.

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
    areas: Array
    errors: Array | None = None
    valid: NDArray[np.bool_] | None = None
    chosen: float | None = None
    title: str | None = None
    line_: Any = field(init=False, repr=False)
    band_: Any = field(init=False, repr=False)
    invalid_: Any = field(init=False, repr=False)
    choice_: Any = field(init=False, repr=False)
    ax_: Any = field(init=False, repr=False)
    figure_: Any = field(init=False, repr=False)

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None, **kwargs: Any) -> BandwidthDisplay:
        """Draw the bandwidths that a fitted model has tried.

        Parameters
        ----------
        estimator : fitted MinimumVolumeSet
            Or a Pipeline that ends in one.
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        **kwargs : dict
            For the line, as in ``Axes.plot``.

        Returns
        -------
        display : BandwidthDisplay
            With the numbers, and drawn.

        Examples
        --------
        >>> from mvset import MinimumVolumeSet
        >>> from mvset.datasets import two_moons
        >>> from mvset import BandwidthDisplay
        >>> model = MinimumVolumeSet(sigma=[0.1, 0.2, 0.4], random_state=0).fit(two_moons(500, random_state=0))
        >>> BandwidthDisplay.from_estimator(model).sigmas
        array([0.1, 0.2, 0.4])
        """
        sets = FittedModel.of(estimator).sets
        if not hasattr(sets, "curves_"):
            raise TypeError(f"{type(sets).__name__} does not choose a bandwidth by volume: there is nothing to draw.")
        tried = Candidates.of(sets.curves_)
        return cls.from_predictions(
            tried.sigmas,
            tried.areas,
            errors=tried.errors,
            valid=tried.valid,
            chosen=sets.sigma_,
            title=_HOW.get(sets.selection_.criterion),
            ax=ax,
            **kwargs,
        )

    @classmethod
    def from_predictions(
        cls,
        sigmas: ArrayLike,
        areas: ArrayLike,
        *,
        errors: ArrayLike | None = None,
        valid: ArrayLike | None = None,
        chosen: float | None = None,
        title: str | None = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> BandwidthDisplay:
        """Draw areas from their numbers.

        Parameters
        ----------
        sigmas, areas : array-like of shape (n_candidates,)
            The bandwidths, ascending, and the area of each. Areas that are infinite or zero, because float64 does not
            hold them or no point reached the sets, are not drawn; those far above the least leave the picture.
        errors : array-like of shape (n_candidates,), optional
            Standard errors of the areas.
        valid : array-like of bool of shape (n_candidates,), optional
            Whether each bandwidth meets the paper's condition on ν, and so competes.
        chosen : float, optional
            The bandwidth chosen.
        title : str, optional
            How.
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        **kwargs : dict
            For the line, as in ``Axes.plot``.

        Returns
        -------
        display : BandwidthDisplay
            With the numbers, and drawn.

        Examples
        --------
        >>> from mvset import BandwidthDisplay
        >>> display = BandwidthDisplay.from_predictions([0.1, 0.2, 0.4], [0.5, 0.4, 0.45], chosen=0.2)
        >>> display.choice_.get_xydata()
        array([[0.2, 0.4]])
        """
        return cls(
            sigmas=np.asarray(sigmas, dtype=np.float64),
            areas=np.asarray(areas, dtype=np.float64),
            errors=None if errors is None else np.asarray(errors, dtype=np.float64),
            valid=None if valid is None else np.asarray(valid, dtype=np.bool_),
            chosen=chosen,
            title=title,
        ).plot(ax, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> BandwidthDisplay:
        """Draw the areas and the choice.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        **kwargs : dict
            For the line, as in ``Axes.plot``.

        Returns
        -------
        self : BandwidthDisplay
            Drawn.
        """
        (ax,) = axes_to_draw_on(ax)
        measured = is_measured(self.areas)
        sigmas, areas = self.sigmas[measured], self.areas[measured]
        look = {"color": palette.OURS, "linewidth": 1.8, "marker": "o", "markersize": 4, **kwargs}
        (self.line_,) = ax.plot(sigmas, areas, **look)
        self.band_ = self.invalid_ = self.choice_ = None
        if self.errors is not None:
            errors = self.errors[measured]
            shade = {"color": self.line_.get_color(), "alpha": BAND_OPACITY, "linewidth": 0}
            self.band_ = ax.fill_between(sigmas, areas - errors, areas + errors, **shade)
        valid = np.ones(len(areas), dtype=bool) if self.valid is None else self.valid[measured]
        if not valid.all():
            label = "fails the condition on ν"
            hollow = {**look, "linestyle": "", "markerfacecolor": "white", "label": label}
            (self.invalid_,) = ax.plot(sigmas[~valid], areas[~valid], **hollow)
        if self.chosen is not None:
            self._mark_choice(ax, sigmas, areas)
        if len(areas):
            self._set_limits(ax, areas, int(np.argmin(np.where(valid, areas, np.inf))))
        ax.set_xscale("log")
        round_bandwidths(ax.xaxis, sigmas)
        tidy(ax, xlabel="bandwidth σ", ylabel="area under the mass-volume curve", title=self.title)
        if self.invalid_ is not None:
            ax.legend(loc="upper center", frameon=False)  # areas rise towards both sides
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _mark_choice(self, ax: Any, sigmas: Array, areas: Array) -> None:
        """Mark the choice by a point; by a vertical line if its area is not drawn."""
        from matplotlib.patheffects import withStroke

        at = np.flatnonzero(sigmas == self.chosen)
        if len(at):
            (self.choice_,) = ax.plot(self.chosen, areas[at], color=palette.HIGHLIGHT, marker="o", markersize=9)
            where: dict[str, Any] = {"xy": (self.chosen, areas[at[0]]), "xytext": (7, -7), "va": "top"}
        else:
            self.choice_ = ax.axvline(self.chosen, color=palette.HIGHLIGHT, linewidth=1.6)
            where = {"xy": (self.chosen, 0.0), "xycoords": ("data", "axes fraction"), "xytext": (7, 7), "va": "bottom"}
        # To the lower right: the curve rises beyond the widest of the smallest.
        look = {"textcoords": "offset points", "ha": "left", "color": palette.HIGHLIGHT, "fontweight": "bold"}
        halo = [withStroke(linewidth=2.5, foreground="white")]
        ax.annotate(f"σ = {self.chosen:.3g}", **where, **look, path_effects=halo)

    @staticmethod
    def _set_limits(ax: Any, areas: Array, least: int) -> None:
        """Show the least area and its neighbours, and let areas far from it leave the picture."""
        logs = np.log(areas)
        near = np.abs(logs - logs[least]) < np.log(_HEIGHT)
        near[max(least - 2, 0) : least + 3] = True
        wide = is_wide(areas[near])
        shown = logs[near] if wide else areas[near]
        room = np.ptp(shown) * np.array([-0.15, 0.05])  # below for the label of the choice
        limits = np.array([shown.min(), shown.max()]) + room
        if wide:
            ax.set_yscale("log")
        if limits[1] > limits[0]:
            ax.set_ylim(np.exp(limits) if wide else limits)
