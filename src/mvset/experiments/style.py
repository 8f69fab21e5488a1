"""Style of the figures: readable in print, with direct labels, the true set dashed as in the paper.

Figures are at most WIDTH inches wide: a page shows all of them without scaling, so that type has one size.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mvset.experiments.plan import Row
from mvset.experiments.summary import Interval
from mvset.files.atomic import atomic_write
from mvset.plotting import palette

_RC: Any = {
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.titlelocation": "left",
    "axes.labelcolor": palette.INK,
    "axes.edgecolor": palette.FAINT,
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.color": palette.INK,
    "ytick.color": palette.INK,
    "text.color": palette.INK,
    "lines.linewidth": 1.8,
    "svg.hashsalt": "mvset",  # reproducible files
}
WIDTH = 9.3
TRUE_SET: dict[str, Any] = {"colors": palette.TRUTH, "linestyles": "dashed", "linewidths": 1.3}


def styled(plot: Callable[[Sequence[Row]], Any]) -> Callable[[Sequence[Row]], Any]:
    """Decorate a plot function to use the common style."""

    @wraps(plot)
    def drawn(rows: Sequence[Row]) -> Any:
        import matplotlib

        with matplotlib.rc_context(_RC):
            return plot(rows)

    return drawn


def new_figure(width: float, height: float, n_columns: int = 1, n_rows: int = 1, **options: Any) -> tuple[Any, Any]:
    """A new figure of given size in inches, and its axes."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots(n_rows, n_columns, **options)


def save(figure: Any, stem: Path) -> list[Path]:
    """Write SVG and PNG files without a date, so that the same rows give the same files."""
    import matplotlib

    svg, png = stem.with_suffix(".svg"), stem.with_suffix(".png")
    with matplotlib.rc_context(_RC):
        with atomic_write(svg) as aside:
            figure.savefig(aside, format="svg", metadata={"Date": None})
        with atomic_write(png) as aside:
            figure.savefig(aside, format="png", dpi=160, metadata={"Software": None})
    return [svg, png]


def curve(
    axes: Any, x: ArrayLike, intervals: Sequence[Interval], colour: str, *, linestyle: str = "-", marker: str = ""
) -> None:
    """Draw means as a line and their intervals as a band."""
    band(axes, x, intervals, colour)
    axes.plot(x, [each.mean for each in intervals], color=colour, linestyle=linestyle, marker=marker, markersize=3.5)


def band(axes: Any, x: ArrayLike, intervals: Sequence[Interval], colour: str) -> None:
    """Draw intervals as a band, unless they are unbounded because of a single repetition."""
    if all(each.n > 1 for each in intervals):
        lows, highs = [each.low for each in intervals], [each.high for each in intervals]
        axes.fill_between(x, lows, highs, color=colour, alpha=0.2, linewidth=0)


def label(axes: Any, text: str, at: tuple[float, float], colour: str, *, shift: tuple[float, float] = (0, 0)) -> None:
    """Add a direct label: text in the colour of a curve, at an offset in points from `at`."""
    from matplotlib.patheffects import withStroke

    align = "left" if shift[0] > 0 else "right" if shift[0] < 0 else "center"
    halo = [withStroke(linewidth=2.5, foreground="white")]
    where: dict[str, Any] = {"xytext": shift, "textcoords": "offset points", "annotation_clip": False}
    axes.annotate(text, at, **where, color=colour, ha=align, va="center", path_effects=halo)


def margin_label(axes: Any, text: str, height: float, colour: str, *, shift: float = 0.0) -> None:
    """Label a horizontal line in the margin on its right, where nothing is drawn; `shift` is upwards, in points."""
    where: dict[str, Any] = {"xycoords": axes.get_yaxis_transform(), "textcoords": "offset points"}
    axes.annotate(text, (1.0, height), xytext=(5, shift), **where, color=colour, ha="left", va="center")


def letter_panels(*panels: Any) -> None:
    """Put a bold letter in front of the title of every panel: a, b, c."""
    for letter, axes in zip("abcdefgh", panels, strict=False):
        axes.set_title(f"$\\mathbf{{{letter}}}$   {axes.get_title(loc='left')}")


def bandwidth_axis(axes: Any, sigmas: Sequence[float]) -> None:
    """Make the horizontal axis logarithmic, with ticks at round numbers."""
    ticks = [tick for tick in (0.1, 0.2, 0.5, 1, 2, 5, 10) if sigmas[0] <= tick * 1.001 and tick <= sigmas[-1] * 1.001]
    axes.set(xscale="log", xlabel="bandwidth σ")
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.xaxis.minorticks_off()


def border(
    axes: Any, score: Callable[[NDArray[np.float64]], NDArray[np.float64]], offsets: ArrayLike, extent: Any, **line: Any
) -> None:
    """Draw the borders of the sets {score >= offset} over `extent` = (x_low, x_high, y_low, y_high)."""
    x, y = np.linspace(extent[0], extent[1], 400), np.linspace(extent[2], extent[3], 400)
    grid = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
    values = score(grid).reshape(len(y), len(x))
    axes.contour(x, y, values, levels=np.sort(np.atleast_1d(offsets)), **line)


def plane(axes: Any, extent: Any) -> None:
    """Set limits, equal scales and short ticks."""
    axes.set(xlim=extent[:2], ylim=extent[2:], aspect="equal")
    axes.tick_params(length=2)


def extent_of(X: NDArray[np.float64], margin: float = 0.08) -> tuple[float, float, float, float]:
    """Bounding box of rows in the plane, with a margin."""
    low, high = X.min(axis=0), X.max(axis=0)
    padding = margin * (high - low)
    (x_low, y_low), (x_high, y_high) = low - padding, high + padding
    return float(x_low), float(x_high), float(y_low), float(y_high)
