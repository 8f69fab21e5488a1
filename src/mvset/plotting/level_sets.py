"""Display of nested sets over pairs of columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mvset.estimators.model_parts import ModelParts
from mvset.metrics.detectors import input_format
from mvset.plotting.axes import axes_to_draw_on, percent, plain, tidy
from mvset.plotting.shades import BAND_BORDER, BORDER, LEGEND_WIDTH, draw_borders, draw_legend, draw_rows, draw_shades
from mvset.summaries.masses import CONTOUR_MASSES, masses_around
from mvset.summaries.slices import Slice, anchor, column_pairs, slice_through
from mvset.validation import checked_rows, checked_share
from mvset.wording import counted

Array = NDArray[np.float64]


@dataclass(kw_only=True, eq=False)
class LevelSetDisplay:
    """Nested sets as filled contours, the border of the fitted set, and the rows; rows outside are crosses.

    Create it with :meth:`from_estimator` or :meth:`from_predictions`. The parameters are stored as attributes.

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
    >>> from mvset.datasets import paper_mixture
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
    inside: NDArray[np.bool_] | None = None
    caption: str | None = None
    borders_: list[Any] = field(init=False, repr=False)
    band_borders_: list[Any] = field(init=False, repr=False)
    inside_: list[Any] = field(init=False, repr=False)
    outside_: list[Any] = field(init=False, repr=False)
    ax_: Any = field(init=False, repr=False)
    axes_: list[Any] = field(init=False, repr=False)
    figure_: Any = field(init=False, repr=False)

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
        grid_resolution: int = 200,
        ax: Any = None,
    ) -> LevelSetDisplay:
        """Draw the nested sets of a fitted model.

        Parameters
        ----------
        estimator : fitted estimator
            A :class:`MinimumVolumeSet` or another estimator of nested sets, or a Pipeline that ends in one. Axes are in
            the units of X, also for a Pipeline.
        X : array-like of shape (n_samples, n_features)
            Rows to draw.
        masses : array-like of shape (n_masses,), optional
            Masses of the filled sets; by default those of 0.7, 0.8, 0.9, 0.95 and 0.99 that the model can guarantee.
        features : list of pairs of str or int, or of str or int, optional
            Pairs of columns, by name or index, one panel each; or a list of columns, for all of their pairs. By default
            all pairs of the first three columns.
        at : array-like of shape (n_features,), optional
            Values at which the other columns are fixed, e.g. a row of interest. By default their medians or, if these
            lie outside all sets, as happens between clusters, the row with the highest score.
        confidence : float, default=0.95
            Confidence of the band around the border.
        grid_resolution : int, default=200
            Number of grid values per column.
        ax : matplotlib Axes or array of them, optional
            Axes to draw on, one for each pair; a new figure by default.

        Returns
        -------
        display : LevelSetDisplay
            The display, drawn.

        Examples
        --------
        >>> from mvset import MinimumVolumeSet
        >>> from mvset.datasets import two_moons
        >>> from mvset import LevelSetDisplay
        >>> X = two_moons(500, random_state=0)
        >>> model = MinimumVolumeSet(random_state=0).fit(X)
        >>> display = LevelSetDisplay.from_estimator(model, X)
        >>> bool((display.inside == (model.predict(X) == 1)).all())
        True
        """
        model = ModelParts.of(estimator)
        sets, names = model.sets, model.feature_names
        inside = model.scores(X) >= sets.offset()
        rows = checked_rows(X, ensure_all_finite="allow-nan")
        as_input = input_format(X if hasattr(X, "dtypes") else rows)  # some steps select columns by name
        drawn = (
            sets.guaranteed(CONTOUR_MASSES)
            if masses is None
            else np.sort(np.atleast_1d(np.asarray(masses, np.float64)))
        )
        offsets = np.array([sets.offset(float(mass)) for mass in drawn])

        around = [sets.offset(mass) for mass in masses_around(sets, checked_share(confidence, "confidence"))]

        def score(points: Array) -> Array:
            return model.scores(as_input(points))

        pairs = column_pairs(features, names)
        centre, caption = anchor(score, rows, at, min([*offsets, sets.offset()]))
        slices = [slice_through(centre, pair, score, rows, names, grid_resolution) for pair in pairs]
        return cls(
            slices=slices,
            masses=drawn,
            offsets=offsets,
            mass=sets.mass,
            offset=sets.offset(),
            around=np.array(around),
            confidence=confidence,
            inside=inside,
            caption=caption if len(names) > 2 else None,
        ).plot(ax)

    @classmethod
    def from_predictions(
        cls,
        x: ArrayLike,
        y: ArrayLike,
        scores: ArrayLike,
        *,
        masses: ArrayLike,
        offsets: ArrayLike,
        mass: float | None = None,
        offset: float | None = None,
        rows: ArrayLike | None = None,
        inside: ArrayLike | None = None,
        names: tuple[str, str] = ("x0", "x1"),
        ax: Any = None,
    ) -> LevelSetDisplay:
        """Draw one panel from arrays.

        Parameters
        ----------
        x, y : array-like of shape (n_x,), (n_y,)
            Grid values of the two columns.
        scores : array-like of shape (n_y, n_x)
            Scores at the grid points.
        masses, offsets : array-like of shape (n_masses,)
            Masses and offsets of the filled sets, smallest set first.
        mass, offset : float, optional
            Mass and offset of the set whose border is drawn.
        rows : array-like of shape (n_samples, 2), optional
            Rows to draw.
        inside : array-like of bool of shape (n_samples,), optional
            Whether each row lies in the set.
        names : tuple of str, default=("x0", "x1")
            Names of the columns.
        ax : matplotlib Axes, optional
            Axes to draw on; a new figure by default.

        Returns
        -------
        display : LevelSetDisplay
            The display, drawn.

        Examples
        --------
        >>> import numpy as np
        >>> from mvset import LevelSetDisplay
        >>> x = y = np.linspace(-3.0, 3.0, 50)
        >>> score = np.exp(-(x**2 + y[:, np.newaxis] ** 2) / 2)
        >>> display = LevelSetDisplay.from_predictions(x, y, score, masses=[0.8, 0.95], offsets=[0.2, 0.05])
        >>> display.ax_.get_ylabel()
        'x1'
        """
        projected = np.empty((0, 2)) if rows is None else np.asarray(rows, dtype=np.float64)
        grids = [np.asarray(values, dtype=np.float64) for values in (x, y, scores)]
        return cls(
            slices=[Slice(names, grids[0], grids[1], grids[2], projected)],
            masses=np.asarray(masses, dtype=np.float64),
            offsets=np.asarray(offsets, dtype=np.float64),
            mass=mass,
            offset=offset,
            inside=None if inside is None else np.asarray(inside, dtype=np.bool_),
        ).plot(ax)

    def plot(self, ax: Any = None) -> LevelSetDisplay:
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
        self.axes_ = axes_to_draw_on(ax, len(self.slices), LEGEND_WIDTH)
        self.ax_, self.figure_ = self.axes_[0], self.axes_[0].figure
        self.borders_, self.band_borders_, self.inside_, self.outside_ = [], [], [], []
        inside = np.ones(len(self.slices[0].rows), dtype=bool) if self.inside is None else self.inside
        for each, plane in zip(self.axes_, self.slices, strict=True):
            draw_shades(each, plane, self.offsets)
            border = [] if self.offset is None else [self.offset]
            self.borders_.append(draw_borders(each, plane, border, **BORDER))
            self.band_borders_.append(draw_borders(each, plane, self.around, **BAND_BORDER))
            dots, crosses = draw_rows(each, plane.rows, inside, faint=self.caption is not None)
            self.inside_.append(dots)
            self.outside_.append(crosses)
            tidy(each, xlabel=plain(plane.names[0]), ylabel=plain(plane.names[1]), title=self.caption)
        draw_legend(
            self.axes_[-1],
            sets=[percent(mass) for mass in self.masses],
            border=None if self.mass is None else f"border of {percent(self.mass)}",
            band=f"border, {percent(self.confidence)} band" if self.confidence and len(self.around) else None,
            outside=f"{(~inside).sum()} of {counted(len(inside), 'row')} outside" if self.inside is not None else None,
        )
        return self
