"""Style and parts of the figures: readable in print, with direct labels, the true set dashed as in the paper.

Figures are at most WIDTH inches wide. A page shows all of them without scaling, so that type has one size.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mvset.files.atomic import atomic_write
from mvset.paper.experiments.methods import MASS, Methods, one_class_svm, ours, true_mixture
from mvset.paper.experiments.summary import Interval, Rows, distinct, means, where
from mvset.plotting import palette
from mvset.values import Array, Flags

_RC: Any = {
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.titlelocation": "left",
    "axes.edgecolor": palette.FAINT,
    "axes.linewidth": 0.8,
    "lines.linewidth": 1.8,
    "svg.hashsalt": "mvset",  # reproducible files
    **dict.fromkeys(("axes.spines.top", "axes.spines.right"), False),
    **dict.fromkeys(("axes.labelcolor", "xtick.color", "ytick.color", "text.color"), palette.INK),
}
WIDTH = 9.3
DISTANCE = "symmetric difference / true volume"

# matplotlib is optional.
Figure = Any
Axes = Any
Point = tuple[float, float]
Extent = list[float]


def new_figure(width: float, height: float, n_columns: int = 1, n_rows: int = 1, **options: Any) -> tuple[Any, Any]:
    """Return a new figure of given size in inches, and its axes."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots(n_rows, n_columns, **options)


def draw(plot: Callable[[], Figure], stem: Path) -> list[Path]:
    """Draw a figure; write it as SVG and PNG without a date, so that the same rows give the same files.

    Several panels get a bold letter in front of their titles: a, b, c.
    """
    import matplotlib

    files = {stem.with_suffix(".svg"): {"Date": None}, stem.with_suffix(".png"): {"Software": None}}
    with matplotlib.rc_context(_RC):
        figure = plot()
        for letter, axes in zip("abcdefgh", figure.axes if len(figure.axes) > 1 else [], strict=False):
            axes.set_title(f"$\\mathbf{{{letter}}}$   {axes.get_title(loc='left')}")
        for path, metadata in files.items():
            with atomic_write(path) as aside:
                figure.savefig(aside, format=path.suffix[1:], dpi=160, metadata=metadata)
    return list(files)


def curve(axes: Axes, x: ArrayLike, intervals: Sequence[Interval], colour: str, linestyle: str = "-") -> None:
    """Draw means as a line and their intervals as a band."""
    band(axes, x, intervals, colour)
    axes.plot(x, [each.mean for each in intervals], color=colour, linestyle=linestyle, marker="o", markersize=3.5)


def band(axes: Axes, x: ArrayLike, intervals: Sequence[Interval], colour: str) -> None:
    """Draw intervals as a band, unless they are unbounded because of a single repetition."""
    if all(each.n > 1 for each in intervals):
        lows, highs = [each.low for each in intervals], [each.high for each in intervals]
        axes.fill_between(x, lows, highs, color=colour, alpha=0.2, linewidth=0)


def method_curves(axes: Axes, rows: Rows, by: str, methods: Methods, labels: Mapping[str, tuple[int, Point]]) -> str:
    """Draw the distance of every method against a column, with its name at a point and shift; return the title."""
    x = distinct(rows, by)
    for key, method in methods.items():
        intervals, (index, shift) = means(rows, by, method=key), labels[key]
        curve(axes, x, intervals, method.colour, method.linestyle)
        label(axes, method.name, (x[index], intervals[index].mean), method.colour, shift)
    axes.set_ylabel(DISTANCE)
    return f"mean of {intervals[0].n} samples, 95 % intervals" if intervals[0].n > 1 else "one sample"


def label(axes: Axes, text: str, at: Point, colour: str, shift: Point = (0, 0), **where: Any) -> None:
    """Add a direct label: text in the colour of a curve, at an offset in points from `at`."""
    from matplotlib.patheffects import withStroke

    align = "left" if shift[0] > 0 else "right" if shift[0] < 0 else "center"
    where |= {"xytext": shift, "textcoords": "offset points", "annotation_clip": False}
    halo = [withStroke(linewidth=2.5, foreground="white")]
    axes.annotate(text, at, **where, color=colour, ha=align, va="center", path_effects=halo)


def margin_label(axes: Axes, text: str, height: float, colour: str, shift: float = 0.0) -> None:
    """Label a horizontal line in the margin on its right, where nothing is drawn; `shift` is upwards, in points."""
    label(axes, text, (1.0, height), colour, (5, shift), xycoords=axes.get_yaxis_transform())


def legend(axes: Axes, colours: Mapping[str, str], at: Point, shift: Point) -> None:
    """Write lines of text below each other, each in its colour; the first is at an offset in points from `at`."""
    for line, (text, colour) in enumerate(colours.items()):
        label(axes, text, at, colour, (shift[0], shift[1] - 14 * line))


def ticks(axis: Any, values: Sequence[float]) -> None:
    """Put ticks at some values only."""
    axis.set_ticks(values, [f"{value:g}" for value in values])
    axis.minorticks_off()


def bandwidth_axis(axes: Axes, sigmas: Sequence[float]) -> None:
    """Make the horizontal axis logarithmic, with ticks at round numbers."""
    axes.set(xscale="log", xlabel="bandwidth σ")
    round_numbers = (0.1, 0.2, 0.5, 1, 2, 5, 10)
    ticks(axes.xaxis, [each for each in round_numbers if sigmas[0] / 1.001 <= each <= sigmas[-1] * 1.001])


def points(axes: Axes, X: Array, crossed: Flags | None = None, colour: str = palette.INK) -> None:
    """Draw rows as faint points, some of them as crosses."""
    crossed = np.zeros(len(X), bool) if crossed is None else crossed
    axes.scatter(*X[~crossed].T, s=3, color=palette.FAINT, linewidths=0)
    axes.scatter(*X[crossed].T, s=12, color=colour, marker="x", linewidths=0.8)


def border(
    axes: Axes, score: Callable[[Array], Array], offset: ArrayLike, extent: Extent, colour: str, **lines: Any
) -> None:
    """Draw the borders of the sets {score >= offset} over `extent` = (x_low, x_high, y_low, y_high)."""
    x, y, grid = lattice(extent)
    values = score(grid).reshape(len(y), len(x))
    axes.contour(x, y, values, levels=np.sort(np.atleast_1d(offset)), colors=colour, **{"linewidths": 2.0, **lines})


def true_border(axes: Axes, extent: Extent, **mixture: float) -> None:
    """Draw the border of the true set of a mixture, dashed."""
    true = true_mixture(**mixture)
    lines: Any = {"linestyles": "dashed", "linewidths": 1.3}
    border(axes, true.log_density, true.log_threshold(MASS), extent, palette.TRUTH, **lines)


def first_sample(panels: Sequence[Any], rows: Rows, methods: Methods, note: str, **mixture: float) -> None:
    """Draw the first sample in each panel, with the best set of a method and the true set dashed."""
    X, outlier = true_mixture(**mixture).sample(1000, random_state=0, return_outliers=True)
    extent = extent_of(X)
    for axes, (key, method) in zip(panels, methods.items(), strict=False):
        row = min(where(rows, method=key, repetition=0), key=lambda row: row["difference"])
        sigma = float(row["sigma"])
        model: Any = one_class_svm(X, sigma) if key == "ocsvm" else ours(X, sigma, 10, 0)
        points(axes, X, outlier)
        true_border(axes, extent, **mixture)
        border(axes, model.decision_function, 0.0, extent, method.colour)
        plane(axes, extent, f"{method.name.partition(',')[0]}, σ = {sigma:.2f}: {row['difference']:.3f}")
        axes.set_xlabel(note)


def lattice(extent: Extent) -> tuple[Array, Array, Array]:
    """Return the coordinates of a lattice of points over `extent`, and the points."""
    x, y = np.linspace(extent[0], extent[1], 400), np.linspace(extent[2], extent[3], 400)
    return x, y, np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)


def plane(axes: Axes, extent: Extent, title: str) -> None:
    """Set limits, equal scales, short ticks and the title."""
    axes.set(xlim=extent[:2], ylim=extent[2:], aspect="equal", title=title)
    axes.tick_params(length=2)


def extent_of(X: Array, margin: float = 0.08) -> Extent:
    """Return the bounding box of rows in the plane, with a margin."""
    padding = margin * np.ptp(X, axis=0)
    return list(np.stack([X.min(axis=0) - padding, X.max(axis=0) + padding], axis=1).flat)
