"""Helpers shared by all displays: axes to draw on, and a common style."""

from typing import Any

import numpy as np

from mvset.plotting import palette
from mvset.plotting.numbers import is_measured
from mvset.values import Array

BAND_OPACITY = 0.15
_WIDE = 30.0  # larger ratios of values get a logarithmic axis
_STEPS = (  # round numbers of a decade, from dense to sparse
    (1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0),
    (1.0, 1.5, 2.0, 3.0, 5.0, 7.0),
    (1.0, 2.0, 5.0),
    (1.0, 3.0),
    (1.0,),
)


class Drawn:
    """What a display has after ``plot``: its axes and its artists."""

    ax_: Any
    figure_: Any
    line_: Any
    band_: Any


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


def round_ticks(values: Array, at_most: int = 6) -> list[float]:
    """Round numbers for a logarithmic axis, so few that their labels do not touch."""
    if not len(values):
        return []
    low, high = 0.9 * float(values.min()), 1.1 * float(values.max())
    decades = 10.0 ** np.arange(np.floor(np.log10(low)), np.ceil(np.log10(high)) + 1.0)
    for steps in _STEPS:
        ticks = np.outer(decades, steps).ravel()
        ticks = ticks[(ticks >= low) & (ticks <= high)]
        if len(ticks) <= at_most:
            break
    return ticks[:: -(-len(ticks) // at_most) or 1].tolist()  # type: ignore[no-any-return]


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
