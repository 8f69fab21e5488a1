"""Display of nested sets over pairs of columns."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from mvset.estimators.fitted_model import FittedModel
from mvset.plotting import palette
from mvset.plotting.axes import Drawn, axes_to_draw_on, percent, plain, tidy
from mvset.plotting.numbers import CONTOUR_MASSES, DrawnTable, Slice, masses_around
from mvset.rows.validation import checked_share
from mvset.values import Array, Flags
from mvset.wording import counted

_BORDER: dict[str, Any] = {"colors": palette.HIGHLIGHT, "linewidths": 1.8, "linestyles": "solid"}
_BAND_BORDER: dict[str, Any] = {"colors": palette.HIGHLIGHT, "linewidths": 0.9, "linestyles": "dashed"}
_LEGEND_WIDTH = 1.6  # inches
_MANY = 600  # with more rows, dots are smaller, so that the shades stay visible


@dataclass(kw_only=True, eq=False)
class LevelSetDisplay(Drawn):
    """Nested sets as filled contours, the border of the fitted set, and the rows; rows outside are crosses.

    Create it with :meth:`from_estimator`, or from slices; the parameters are stored as attributes.

    Parameters
    ----------
    slices : list of Slice
        One panel each: ``names`` of the two columns, the grid ``x`` and ``y``, its ``scores``, and the ``rows`` in
        these columns.
    masses, offsets : ndarray of shape (n_masses,)
        Masses and offsets of the filled sets, smallest set first.
    mass, offset : float, optional
        Mass and offset of the set whose border is drawn.
    around : ndarray of shape (n_around,)
        Offsets of up to two sets that enclose, with the given confidence, the border of the set with exactly this mass.
    confidence : float, optional
        Confidence of that band.
    inside : ndarray of bool of shape (n_samples,), optional
        Whether each row lies in the set.
    caption : str, optional
        Title of every panel.

    Attributes
    ----------
    borders_, band_borders_ : list of matplotlib ContourSet
        Borders of the set and of its confidence band, one per panel; None where they do not intersect the slice.
    inside_, outside_ : list of matplotlib PathCollection
        Rows inside and outside, one per panel.
    ax_, axes_, figure_ : matplotlib Axes, list of Axes, Figure
        The axes of the first panel, all axes, and the figure.

    Examples
    --------
    >>> from mvset import MinimumVolumeSet
    >>> from mvset.paper.datasets import paper_mixture
    >>> from mvset import LevelSetDisplay
    >>> X = paper_mixture(4).sample(500, random_state=0)
    >>> display = LevelSetDisplay.from_estimator(MinimumVolumeSet(random_state=0).fit(X), X, features=[(0, 1), (2, 3)])
    >>> [ax.get_xlabel() for ax in display.axes_]
    ['x0', 'x2']
    """

    slices: list[Slice]
    masses: Array
    offsets: Array
    mass: float | None = None
    offset: float | None = None
    around: Array = field(default_factory=lambda: np.empty(0))
    confidence: float | None = None
    inside: Flags | None = None
    caption: str | None = None
    axes_: list[Any] = field(init=False, repr=False, default_factory=list)
    borders_: list[Any] = field(init=False, repr=False, default_factory=list)
    band_borders_: list[Any] = field(init=False, repr=False, default_factory=list)
    inside_: list[Any] = field(init=False, repr=False, default_factory=list)
    outside_: list[Any] = field(init=False, repr=False, default_factory=list)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        *,
        masses: ArrayLike | None = None,
        features: Sequence[Any] | None = None,
        at: ArrayLike | None = None,
        confidence: float = 0.95,
        ax: Any = None,
    ) -> Self:
        """Draw the nested sets of a fitted model.

        Parameters
        ----------
        estimator : fitted estimator
            A :class:`MinimumVolumeSet` or another estimator of nested sets, or a Pipeline that ends in one. Axes are in
            the units of X, also for a Pipeline.
        X : array-like of shape (n_samples, n_features)
            Rows to draw.
        masses : array-like of shape (n_masses,), optional
            Masses of the filled sets; by default 0.7, 0.8, 0.9, 0.95 and 0.99, as far as the model can
            guarantee them.
        features : list of pairs of str or int, or of str or int, optional
            Pairs of columns, by name or index, one panel each; or a list of columns, for all of their pairs. By default
            all pairs of the first three columns. Columns with categories cannot be drawn.
        at : array-like of shape (n_features,), optional
            Values at which the other columns are fixed, e.g. a row of interest. By default these are medians and the
            most frequent categories. If that point lies outside all sets, as happens between clusters, the row with
            the highest score is used.
        confidence : float, default=0.95
            Confidence of the band around the border.
        ax : matplotlib Axes or array of them, optional
            Axes to draw on, one for each pair; a new figure by default.

        Returns
        -------
        display : LevelSetDisplay
            The display, drawn.

        Examples
        --------
        >>> from mvset import MinimumVolumeSet
        >>> from mvset.paper.datasets import two_moons
        >>> from mvset import LevelSetDisplay
        >>> X = two_moons(500, random_state=0)
        >>> model = MinimumVolumeSet(random_state=0).fit(X)
        >>> display = LevelSetDisplay.from_estimator(model, X)
        >>> bool((display.inside == (model.predict(X) == 1)).all())
        True
        """
        model = FittedModel.of(estimator)
        sets, table = model.sets, DrawnTable.of(model, X)
        drawn = (
            sets.calibration.guaranteed(CONTOUR_MASSES)
            if masses is None
            else np.sort(np.ravel(np.asarray(masses, np.float64)))
        )
        offsets = np.array([sets.offset(float(mass)) for mass in drawn])
        around = [sets.offset(mass) for mass in masses_around(sets, checked_share(confidence, "confidence"))]
        pairs = table.pairs(features)
        centre, caption = table.anchor(at, min([*offsets, sets.offset()]))
        return cls(
            slices=[table.slice_through(centre, pair) for pair in pairs],
            masses=drawn,
            offsets=offsets,
            mass=sets.mass,
            offset=sets.offset(),
            around=np.array(around),
            confidence=confidence,
            inside=table.score(table.rows) >= sets.offset(),
            caption=caption if len(table.names) > 2 else None,
        ).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw one panel for each slice.

        Parameters
        ----------
        ax : matplotlib Axes or array of them, optional
            Axes to draw on, one for each slice; a new figure by default.

        Returns
        -------
        self : LevelSetDisplay
            The display.
        """
        self.axes_ = axes_to_draw_on(ax, len(self.slices), _LEGEND_WIDTH)
        self.ax_, self.figure_ = self.axes_[0], self.axes_[0].figure
        self.borders_, self.band_borders_, self.inside_, self.outside_ = [], [], [], []
        inside = np.ones(len(self.slices[0].rows), dtype=bool) if self.inside is None else self.inside
        for each, plane in zip(self.axes_, self.slices, strict=True):
            _draw_shades(each, plane, self.offsets)
            border = [] if self.offset is None else [self.offset]
            self.borders_.append(_draw_borders(each, plane, border, **_BORDER))
            self.band_borders_.append(_draw_borders(each, plane, self.around, **_BAND_BORDER))
            dots, crosses = _draw_rows(each, plane.rows, inside, faint=self.caption is not None)
            self.inside_.append(dots)
            self.outside_.append(crosses)
            title = None if self.caption is None else plain(self.caption)
            tidy(each, xlabel=plain(plane.names[0]), ylabel=plain(plane.names[1]), title=title)
        self._draw_legend(inside)
        return self

    def _draw_legend(self, inside: Flags) -> None:
        """Add a legend of the shades and lines, to the right of the axes."""
        from matplotlib.lines import Line2D
        from matplotlib.patches import Patch

        colours = zip(_shades(len(self.masses)), self.masses, strict=True)
        handles: list[Any] = [Patch(color=shade, label=percent(mass)) for shade, mass in colours]
        line: dict[str, Any] = {"color": palette.HIGHLIGHT}
        if self.mass is not None:
            label = f"border of {percent(self.mass)}"
            handles.append(Line2D([], [], **line, linewidth=_BORDER["linewidths"], label=label))
        if self.confidence and len(self.around):
            label = f"border, {percent(self.confidence)} band"
            width = _BAND_BORDER["linewidths"]
            handles.append(Line2D([], [], **line, linewidth=width, linestyle="dashed", label=label))
        if self.inside is not None:
            label = f"{(~inside).sum()} of {counted(len(inside), 'row')} outside"
            handles.append(Line2D([], [], **line, linestyle="", marker="x", label=label))
        place = {"loc": "center left", "bbox_to_anchor": (1.0, 0.5), "alignment": "left"}
        self.axes_[-1].legend(handles=handles, frameon=False, title="mass", **place)


def _shades(n_sets: int) -> list[str]:
    """Colours of nested sets, innermost first."""
    from matplotlib.colors import LinearSegmentedColormap, to_hex

    between = LinearSegmentedColormap.from_list("sets", palette.SHADES)
    return [to_hex(between(position)) for position in np.linspace(0.0, 1.0, n_sets)]


def _draw_shades(ax: Any, plane: Slice, offsets: Array) -> None:
    """Fill the sets with the given offsets, smallest set first."""
    # One call per set, largest set first: offsets may tie, but the levels of a single contourf call must increase.
    for offset, shade in reversed(list(zip(offsets, _shades(len(offsets)), strict=True))):
        above = max(np.nanmax(plane.scores), offset) + 1.0
        ax.contourf(plane.x, plane.y, plane.scores, levels=[offset, above], colors=[shade])


def _draw_borders(ax: Any, plane: Slice, offsets: ArrayLike, **lines: Any) -> Any:
    """Draw the borders of the sets that intersect the slice; None if none does."""
    drawn = np.unique(offsets)
    drawn = drawn[(np.nanmin(plane.scores) < drawn) & (drawn < np.nanmax(plane.scores))]
    return ax.contour(plane.x, plane.y, plane.scores, levels=drawn, **lines) if len(drawn) else None


def _draw_rows(ax: Any, rows: Array, inside: Flags, *, faint: bool) -> tuple[Any, Any]:
    """Draw rows inside as dots, with a white edge visible on dark shades, and rows outside as crosses."""
    dot: dict[str, Any] = {"color": palette.FAINT, "s": 5} if faint else {"color": palette.INK, "s": 8}
    cross: dict[str, Any] = {"linewidths": 0.8, "s": 14} if faint else {"linewidths": 1.2, "s": 22}
    smaller = min(1.0, _MANY / max(len(rows), 1))
    dot |= {"s": dot["s"] * smaller**0.7, "linewidths": 0.4 * smaller**0.7}
    dots = ax.scatter(*rows[inside].T, **dot, edgecolors="white")
    crosses = ax.scatter(*rows[~inside].T, **cross, color=palette.HIGHLIGHT, marker="x")
    return dots, crosses
