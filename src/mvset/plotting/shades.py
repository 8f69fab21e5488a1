"""How nested sets are drawn: shades, borders, rows, and a legend beside the picture."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mvset.plotting import palette
from mvset.summaries.slices import Slice

Array = NDArray[np.float64]

BORDER: dict[str, Any] = {"colors": palette.HIGHLIGHT, "linewidths": 1.8, "linestyles": "solid"}
BAND_BORDER: dict[str, Any] = {"colors": palette.HIGHLIGHT, "linewidths": 0.9, "linestyles": "dashed"}
LEGEND_WIDTH = 1.6  # inches
_MANY = 600  # rows: the dots of more are smaller, to leave the shades visible


def shades(n_sets: int) -> list[str]:
    """Colours of nested sets, innermost first."""
    from matplotlib.colors import LinearSegmentedColormap, to_hex

    between = LinearSegmentedColormap.from_list("sets", palette.SHADES)
    return [to_hex(between(place)) for place in np.linspace(0.0, 1.0, n_sets)]


def draw_shades(ax: Any, plane: Slice, offsets: Array) -> None:
    """Sets of given offsets, innermost first."""
    # One over the other, largest first: offsets of few rows may tie, which levels of a single call must not.
    for offset, shade in reversed(list(zip(offsets, shades(len(offsets)), strict=True))):
        above = max(np.nanmax(plane.scores), offset) + 1.0
        ax.contourf(plane.x, plane.y, plane.scores, levels=[offset, above], colors=[shade])


def draw_borders(ax: Any, plane: Slice, offsets: ArrayLike, **lines: Any) -> Any:
    """Borders of those sets that reach the plane; None if none does."""
    levels = np.unique(offsets)
    levels = levels[(np.nanmin(plane.scores) < levels) & (levels < np.nanmax(plane.scores))]
    return ax.contour(plane.x, plane.y, plane.scores, levels=levels, **lines) if len(levels) else None


def draw_rows(ax: Any, rows: Array, inside: NDArray[np.bool_], *, faint: bool) -> tuple[Any, Any]:
    """Rows inside as dots, with a light edge to be seen on dark shades, and those outside as crosses."""
    dot: dict[str, Any] = {"color": palette.FAINT, "s": 5} if faint else {"color": palette.INK, "s": 8}
    cross: dict[str, Any] = {"linewidths": 0.8, "s": 14} if faint else {"linewidths": 1.2, "s": 22}
    smaller = min(1.0, _MANY / max(len(rows), 1))
    dot |= {"s": dot["s"] * smaller**0.7, "linewidths": 0.4 * smaller**0.7}
    dots = ax.scatter(*rows[inside].T, **dot, edgecolors="white")
    crosses = ax.scatter(*rows[~inside].T, **cross, color=palette.HIGHLIGHT, marker="x")
    return dots, crosses


def draw_legend(ax: Any, sets: list[str], border: str | None, band: str | None, outside: str | None) -> None:
    """What each shade and line is, to the right of the axes, where no data is."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles: list[Any] = [Patch(color=shade, label=label) for shade, label in zip(shades(len(sets)), sets, strict=True)]
    line: dict[str, Any] = {"color": palette.HIGHLIGHT}
    if border is not None:
        handles.append(Line2D([], [], **line, linewidth=BORDER["linewidths"], label=border))
    if band is not None:
        handles.append(Line2D([], [], **line, linewidth=BAND_BORDER["linewidths"], linestyle="dashed", label=band))
    if outside is not None:
        handles.append(Line2D([], [], **line, linestyle="", marker="x", label=outside))
    ax.legend(
        handles=handles, frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5), title="mass", alignment="left"
    )
