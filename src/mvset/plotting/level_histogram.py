"""Display of the levels of rows against the uniform distribution that levels of normal rows follow."""

from dataclasses import dataclass, field
from typing import Any, Literal, Self

import numpy as np

from mvset.estimators.fitted_model import FittedModel
from mvset.inference.results import MassBand
from mvset.plotting import palette
from mvset.plotting.axes import BAND_OPACITY, Drawn, axes_to_draw_on, percent, tidy
from mvset.plotting.numbers import bar_edges, bar_heights, chance_heights, table_scores
from mvset.values import Array
from mvset.wording import counted

Kind = Literal["histogram", "cumulative"]

_UNIFORM: dict[str, Any] = {"color": palette.INK, "linestyle": "--", "linewidth": 1.2, "label": "uniform"}


@dataclass(eq=False)
class LevelHistogramDisplay(Drawn):
    """Histogram or cumulative distribution of the levels of rows.

    The level of a row is the smallest mass whose set contains it. Levels of new rows from the training distribution are
    uniform: for every mass, a share `mass` of them has a level of at most `mass`.

    Create it with :meth:`from_estimator`, or from levels; the parameters are stored as attributes.

    Parameters
    ----------
    levels : array-like of shape (n_samples,)
        Smallest mass whose set contains each row.
    mass : float, optional
        Mass of the set; rows with a higher level are outside.
    band : MassBand, optional
        Simultaneous bounds for the true masses of all sets.
    n_calibration : int, optional
        Number of calibration rows that define the levels. The range of the bars expected by chance then includes the
        sampling error of the calibration rows; otherwise it only includes the error of the rows drawn.
    bins : int, default=20
        Number of bars; `mass` is the edge of one.

    Attributes
    ----------
    bars_ : matplotlib BarContainer or None
        The histogram.
    chance_ : matplotlib PolyCollection or None
        Pointwise 95 % range of the bars expected by chance.
    line_ : matplotlib Line2D
        The uniform distribution: a horizontal line, or the diagonal.
    steps_ : matplotlib Line2D or None
        Empirical distribution function of the levels.
    band_ : matplotlib PolyCollection or None
        Confidence band of the true masses.
    ax_, figure_ : matplotlib Axes, Figure
        The axes and the figure.

    Examples
    --------
    >>> from mvset import MinimumVolumeSet
    >>> from mvset.paper.datasets import two_moons
    >>> from mvset import LevelHistogramDisplay
    >>> model = MinimumVolumeSet(calibration="conformal", random_state=0).fit(two_moons(500, random_state=0))
    >>> drifted = LevelHistogramDisplay.from_estimator(model, two_moons(400, noise=0.3, random_state=1))
    >>> drifted.ax_.get_title(loc="left")
    '400 rows: 14.5 % outside where 5 % are expected'
    """

    levels: Array
    mass: float | None = None
    band: MassBand | None = None
    n_calibration: int | None = None
    bins: int = 20
    bars_: Any = field(init=False, repr=False, default=None)
    chance_: Any = field(init=False, repr=False, default=None)
    steps_: Any = field(init=False, repr=False, default=None)

    def __post_init__(self) -> None:
        self.levels = np.asarray(self.levels, dtype=np.float64)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        *,
        bins: int = 20,
        kind: Kind = "histogram",
        confidence: float = 0.95,
        ax: Any = None,
    ) -> Self:
        """Draw the levels of rows under a fitted model.

        Parameters
        ----------
        estimator : fitted estimator
            A :class:`MinimumVolumeSet` or another estimator of nested sets, or a Pipeline that ends in one.
        X : array-like of shape (n_samples, n_features)
            New rows; training rows lie further inside. In "cross" mode levels of normal rows are uniform above about
            0.5, and roughly so below; with "pac" they are higher than uniform.
        bins : int, default=20
            Number of bars.
        kind : {"histogram", "cumulative"}, default="histogram"
            The kind of plot; see :meth:`plot`.
        confidence : float, default=0.95
            Confidence of the band for the true masses.
        ax : matplotlib Axes, optional
            Axes to draw on; a new figure by default.

        Returns
        -------
        display : LevelHistogramDisplay
            The display, drawn.

        Examples
        --------
        >>> from mvset import MinimumVolumeSet
        >>> from mvset.paper.datasets import two_moons
        >>> from mvset import LevelHistogramDisplay
        >>> model = MinimumVolumeSet(calibration="conformal", random_state=0).fit(two_moons(500, random_state=0))
        >>> X_new = two_moons(400, random_state=1)
        >>> display = LevelHistogramDisplay.from_estimator(model, X_new, kind="cumulative")
        >>> bool((display.levels == model.level(X_new)).all())
        True
        """
        model = FittedModel.of(estimator)
        sets, n_calibration = model.sets, model.sets.calibration.n_rows
        band = sets.calibration.mass_band(confidence=confidence) if n_calibration else None
        return cls(sets.level(table_scores(model, X)), sets.mass, band, n_calibration or None, bins).plot(ax, kind=kind)

    def plot(self, ax: Any = None, *, kind: Kind = "histogram") -> Self:
        """Draw the levels.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on; a new figure by default.
        kind : {"histogram", "cumulative"}, default="histogram"
            "histogram": the density of the levels, the uniform density and the range expected by chance. "cumulative":
            the share of rows up to each level, the diagonal and the band of the true masses.

        Returns
        -------
        self : LevelHistogramDisplay
            The display.
        """
        if kind not in ("histogram", "cumulative"):
            raise ValueError(f'kind must be "histogram" or "cumulative"; got {kind!r}.')
        (ax,) = axes_to_draw_on(ax)
        self.bars_ = self.chance_ = self.steps_ = self.band_ = None
        if kind == "histogram":
            self._draw_histogram(ax)
            ylabel = "density"
        else:
            self._draw_cumulative(ax)
            ylabel = "share of rows up to this level"
        tidy(ax, xlabel="level", ylabel=ylabel, title=self._title())
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _title(self) -> str:
        rows = counted(len(self.levels), "row")
        if self.mass is None:
            return rows
        outside = 100.0 * np.mean(self.levels > self.mass)
        return f"{rows}: {outside:.1f} % outside where {percent(1.0 - self.mass)} are expected"

    def _draw_histogram(self, ax: Any) -> None:
        from matplotlib.colors import to_rgba

        edges = bar_edges(self.bins, self.mass)
        heights = bar_heights(self.levels, edges)
        low, high = chance_heights(len(self.levels), edges, self.n_calibration)
        outside = edges[:-1] >= (1.0 if self.mass is None else self.mass)
        colours = np.where(outside, palette.HIGHLIGHT, palette.OURS_LIGHT)
        bars = {"align": "edge", "color": colours, "edgecolor": "white", "linewidth": 0.8}
        self.bars_ = ax.bar(edges[:-1], heights, np.diff(edges), **bars)
        self.bars_.patches[-1].set_label("outside" if outside[-1] else None)
        shade = {"facecolor": to_rgba(palette.INK, 0.1), "edgecolor": palette.INK, "linewidth": 0.6}
        low, high = np.append(low, low[-1]), np.append(high, high[-1])
        self.chance_ = ax.fill_between(edges, low, high, step="post", label="95 % range by chance", **shade)
        (self.line_,) = ax.plot([0.0, 1.0], [1.0, 1.0], **_UNIFORM)
        ax.set(xlim=(0.0, 1.0), ylim=(0.0, 1.2 * max(heights.max(), high.max())))
        ax.legend(loc="upper left", ncols=3, frameon=False)

    def _draw_cumulative(self, ax: Any) -> None:
        if self.band is not None:
            label = f"true masses, {percent(self.band.confidence)} confidence"
            shade = {"color": palette.OURS, "alpha": BAND_OPACITY, "linewidth": 0, "label": label}
            self.band_ = ax.fill_between(self.band.masses, self.band.lower, self.band.upper, **shade)
        (self.line_,) = ax.plot([0.0, 1.0], [0.0, 1.0], **_UNIFORM)
        self.steps_ = ax.ecdf(self.levels, color=palette.OURS, linewidth=1.8, label="rows")
        if self.mass is not None:
            point = {"color": palette.HIGHLIGHT, "linestyle": "", "marker": "o", "markersize": 8}
            ax.plot(self.mass, np.mean(self.levels <= self.mass), **point, label=f"set of {percent(self.mass)}")
        ax.set(xlim=(0.0, 1.0), ylim=(0.0, 1.0))
        ax.legend(loc="upper left", frameon=False)
