"""What all displays share: axes to draw on, and a common look."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mvset.plotting import palette

Array = NDArray[np.float64]

BAND_OPACITY = 0.15
_WIDE = 30.0  # a ratio of values past which they are read on a logarithmic axis only


def axes_to_draw_on(ax: Any, n_axes: int = 1, legend_width: float = 0.0) -> list[Any]:
    """The axes given, or those of a new figure beside each other, with some inches for a legend to their right."""
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
        raise ValueError(f"ax must be {n_axes} axes, one for each picture; got {len(axes)}.")
    return axes


def plain(name: str) -> str:
    """A name that matplotlib writes as it is: between dollars it expects mathematics."""
    return name.replace("$", r"\$")


def tidy(ax: Any, *, xlabel: str, ylabel: str, title: str | None = None) -> None:
    """Labels, and nothing around the data that says nothing."""
    ax.set(xlabel=xlabel, ylabel=ylabel)
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(palette.FAINT)
    ax.tick_params(which="both", color=palette.FAINT, labelcolor=palette.INK)
    if title is not None:
        ax.set_title(title, loc="left", fontsize="medium", color=palette.INK)


def round_bandwidths(axis: Any, sigmas: Array) -> None:
    """Ticks of a logarithmic axis at round numbers, more of them where it is short."""
    from matplotlib.ticker import LogLocator, NullLocator

    short = len(sigmas) > 0 and sigmas.max() < 10.0 * sigmas.min()
    axis.set_major_locator(LogLocator(subs=(1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0) if short else (1.0, 2.0, 5.0)))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter("{x:g}")


def is_measured(values: Array) -> NDArray[np.bool_]:
    """Which volumes or areas can be drawn: those that float64 holds, of sets that some point has hit."""
    return np.asarray(np.isfinite(values) & (values > 0))


def measured_range(values: Array) -> tuple[float, float]:
    """Least and greatest of the values that can be drawn; one and one where there are none."""
    drawn = values[is_measured(values)]
    return (float(drawn.min()), float(drawn.max())) if len(drawn) else (1.0, 1.0)


def is_wide(values: Array) -> bool:
    """Whether values differ so much that they want a logarithmic axis."""
    least, most = measured_range(values)
    return most > _WIDE * least


def percent(share: float) -> str:
    """A share for people: 0.95 is "95 %"."""
    return f"{100 * share:.4g} %"
