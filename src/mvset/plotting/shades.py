"""Drawing nested sets: filled contours, borders, rows, and a legend to the right of the axes."""

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
_MANY = 600  # with more rows, dots are smaller, so that the shades stay visible


def shades(n_sets: int) -> list[str]:
    """Colours of nested sets, innermost first."""
    from matplotlib.colors import LinearSegmentedColormap, to_hex

    between = LinearSegmentedColormap.from_list("sets", palette.SHADES)
    return [to_hex(between(position)) for position in np.linspace(0.0, 1.0, n_sets)]


def draw_shades(ax: Any, plane: Slice, offsets: Array) -> None:
    """Fill the sets with the given offsets, smallest set first."""
    # One call per set, largest set first: offsets may tie, but the levels of a single contourf call must increase.
    for offset, shade in reversed(list(zip(offsets, shades(len(offsets)), strict=True))):
        above = max(np.nanmax(plane.scores), offset) + 1.0
        ax.contourf(plane.x, plane.y, plane.scores, levels=[offset, above], colors=[shade])


def draw_borders(ax: Any, plane: Slice, offsets: ArrayLike, **lines: Any) -> Any:
    """Draw the borders of the sets that intersect the slice; None if none does."""
    drawn = np.unique(offsets)
    drawn = drawn[(np.nanmin(plane.scores) < drawn) & (drawn < np.nanmax(plane.scores))]
    return ax.contour(plane.x, plane.y, plane.scores, levels=drawn, **lines) if len(drawn) else None


def draw_rows(ax: Any, rows: Array, inside: NDArray[np.bool_], *, faint: bool) -> tuple[Any, Any]:
    """Draw rows inside as dots, with a white edge visible on dark shades, and rows outside as crosses."""
    dot: dict[str, Any] = {"color": palette.FAINT, "s": 5} if faint else {"color": palette.INK, "s": 8}
    cross: dict[str, Any] = {"linewidths": 0.8, "s": 14} if faint else {"linewidths": 1.2, "s": 22}
    smaller = min(1.0, _MANY / max(len(rows), 1))
    dot |= {"s": dot["s"] * smaller**0.7, "linewidths": 0.4 * smaller**0.7}
    dots = ax.scatter(*rows[inside].T, **dot, edgecolors="white")
    crosses = ax.scatter(*rows[~inside].T, **cross, color=palette.HIGHLIGHT, marker="x")
    return dots, crosses


def draw_legend(ax: Any, sets: list[str], border: str | None, band: str | None, outside: str | None) -> None:
    """Add a legend of the shades and lines, to the right of the axes."""
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
