"""Helpers shared by all displays: axes to draw on, and a common style."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mvset.plotting import palette
from mvset.summaries.bandwidths import is_measured

Array = NDArray[np.float64]

BAND_OPACITY = 0.15
_WIDE = 30.0  # ratio of values from which on a logarithmic axis is used


def axes_to_draw_on(ax: Any, n_axes: int = 1, legend_width: float = 0.0) -> list[Any]:
    """The given axes, or side-by-side axes of a new figure with `legend_width` inches to their right."""
    if ax is None:
        try:
            import matplotlib.pyplot as plt
        except ImportError as missing:
            raise ImportError("Plots need one more package: pip install 'mvset[plot]'") from missing
        width, height = plt.rcParams["figure.figsize"]
        widths = width if n_axes == 1 else 0.7 * width * n_axes
        _, ax = plt.subplots(1, n_axes, figsize=(widths + legend_width, height), layout="constrained")
    axes: list[Any] = np.ravel(ax).tolist()
    if len(axes) != n_axes:
        raise ValueError(f"ax must have {n_axes} axes, one for each panel; got {len(axes)}.")
    return axes


def plain(name: str) -> str:
    """Escape dollar signs, which matplotlib would read as the start of mathematical text."""
    return name.replace("$", r"\$")


def tidy(ax: Any, *, xlabel: str, ylabel: str, title: str | None = None) -> None:
    """Set the labels, and remove the upper and right spines."""
    ax.set(xlabel=xlabel, ylabel=ylabel)
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(palette.FAINT)
    ax.tick_params(which="both", color=palette.FAINT, labelcolor=palette.INK)
    if title is not None:
        ax.set_title(title, loc="left", fontsize="medium", color=palette.INK)


def round_bandwidths(axis: Any, sigmas: Array) -> None:
    """Put the ticks of a logarithmic axis at round numbers, more densely if its range is short."""
    from matplotlib.ticker import LogLocator, NullLocator

    short = len(sigmas) > 0 and sigmas.max() < 10.0 * sigmas.min()
    axis.set_major_locator(LogLocator(subs=(1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0) if short else (1.0, 2.0, 5.0)))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter("{x:g}")


def measured_range(values: Array) -> tuple[float, float]:
    """Smallest and largest value that can be drawn; (1, 1) if there is none."""
    drawn = values[is_measured(values)]
    return (float(drawn.min()), float(drawn.max())) if len(drawn) else (1.0, 1.0)


def is_wide(values: Array) -> bool:
    """Whether the values span a range that needs a logarithmic axis."""
    least, most = measured_range(values)
    return most > _WIDE * least


def percent(share: float) -> str:
    """A share as a percentage: 0.95 becomes "95 %"."""
    return f"{100 * share:.4g} %"
