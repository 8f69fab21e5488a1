"""Nested sets over two columns, drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array

from mvset.estimators.pipeline import FittedModel, columns_in_order
from mvset.metrics.detectors import dress_of
from mvset.plotting.axes import axes_to_draw_on, percent, plain, tidy
from mvset.plotting.shades import BAND_BORDER, BORDER, LEGEND_WIDTH, draw_borders, draw_legend, draw_rows, draw_shades
from mvset.summaries.masses import claimable, masses_around
from mvset.summaries.slices import Slice, anchor, column_pairs, slice_through
from mvset.validation import checked_mass

Array = NDArray[np.float64]

_MASSES = (0.7, 0.8, 0.9, 0.95, 0.99)


@dataclass(kw_only=True, eq=False)
class LevelSetDisplay:
    """Nested sets as shades, the border of one as a line, and the rows, those outside marked.

    Create it with :meth:`from_estimator` or :meth:`from_predictions`; parameters are stored as attributes.

    Parameters
    ----------
    slices : list of Slice
        Scores over grids in two columns each, a picture for each; a Slice has the names of the columns, the grid
        ``x`` and ``y``, ``scores`` on it, and the ``rows`` projected on it.
    masses, offsets : ndarray of shape (n_masses,)
        The nested sets drawn as shades, smallest first.
    mass, offset : float, optional
        The set whose border is drawn.
    around : ndarray of shape (n_around,)
        Offsets of up to two sets around it: between their borders lies that of the true mass.
    confidence : float, optional
        With which it does.
    inside : ndarray of bool of shape (n_samples,), optional
        Which rows lie in the set.
    caption : str, optional
        Title of every picture.

    Attributes
    ----------
    borders_, band_borders_ : list of matplotlib ContourSet
        In each picture the border, and those around it, where there are any.
    inside_, outside_ : list of matplotlib PathCollection
        In each picture the rows.
    ax_, axes_, figure_ : matplotlib Axes, list of Axes, Figure
        The first picture, all of them, and where they are.

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
            A :class:`MinimumVolumeSet` or another estimator of nested sets, or a Pipeline that ends in one. Pictures
            are in the units of X, whatever the Pipeline does to them.
        X : array-like of shape (n_samples, n_features)
            Rows to draw.
        masses : array-like of shape (n_masses,), optional
            Of the shades; by default 0.7, 0.8, 0.9, 0.95 and 0.99, as far as the model has rows enough.
        features : list of pairs of str or int, or of str or int, optional
            Columns to draw over, by name or index, a picture for each pair, or for each pair of those listed; by
            default for the pairs of the first three.
        at : array-like of shape (n_features,), optional
            Where the other columns are fixed, such as a row to look at. By default at their medians or, where these
            lie outside all sets, as happens between clusters, as in the row of the highest score.
        confidence : float, default=0.95
            Of the band around the border, for models with `mass_band`.
        grid_resolution : int, default=200
            Number of values in each of the two columns.
        ax : matplotlib Axes or array of them, optional
            Where to draw, one for each pair; a new figure by default.

        Returns
        -------
        display : LevelSetDisplay
            With the numbers, and drawn.

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
        model = FittedModel.of(estimator)
        sets, names = model.sets, model.feature_names
        inside = sets.predict(model.prepared(X)) == 1
        rows = check_array(X, dtype=np.float64, ensure_all_finite="allow-nan")
        dressed = dress_of(X if hasattr(X, "dtypes") else rows)  # for steps that pick columns by name
        drawn = claimable(sets, _MASSES) if masses is None else np.sort(np.atleast_1d(np.asarray(masses, np.float64)))
        offsets = np.array([sets.offset(float(mass)) for mass in drawn])

        around = [sets.offset(mass) for mass in masses_around(sets, checked_mass(confidence, "confidence"))]

        def score(points: Array) -> Array:
            with columns_in_order():
                return np.asarray(sets.score_samples(model.prepared(dressed(points))))

        pairs = column_pairs(features, names)
        centre, caption = anchor(score, rows, at, min([*offsets, sets.offset_]))
        slices = [slice_through(centre, pair, score, rows, names, grid_resolution) for pair in pairs]
        return cls(
            slices=slices,
            masses=drawn,
            offsets=offsets,
            mass=sets.mass,
            offset=sets.offset_,
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
        """Draw one picture from its numbers.

        Parameters
        ----------
        x, y : array-like of shape (n_x,), (n_y,)
            The grid.
        scores : array-like of shape (n_y, n_x)
            Scores on it.
        masses, offsets : array-like of shape (n_masses,)
            The nested sets, smallest first.
        mass, offset : float, optional
            The set whose border is drawn.
        rows : array-like of shape (n_samples, 2), optional
            Rows to draw.
        inside : array-like of bool of shape (n_samples,), optional
            Which of them lie in the set.
        names : tuple of str, default=("x0", "x1")
            Of the columns.
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        display : LevelSetDisplay
            With the numbers, and drawn.

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
        """Draw a picture for each slice.

        Parameters
        ----------
        ax : matplotlib Axes or array of them, optional
            Where to draw, one for each slice; a new figure by default.

        Returns
        -------
        self : LevelSetDisplay
            Drawn.
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
            outside=f"{(~inside).sum()} of {len(inside)} rows outside" if self.inside is not None else None,
        )
        return self
