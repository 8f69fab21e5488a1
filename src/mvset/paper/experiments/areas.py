"""Shared by `moons` and `boston`: the area under the mass-volume curve by bandwidth, and the selected bandwidths."""

import numpy as np

from mvset.estimators.minimum_volume_set import MinimumVolumeSet
from mvset.paper.experiments import figures
from mvset.paper.experiments.methods import MASS, ours
from mvset.paper.experiments.summary import Row, Rows, column, distinct
from mvset.plotting import palette
from mvset.values import Array

CURVE, LEAST_AREA, LIBRARY, AT_PAPER = "curve", "least area", "library", "paper"
N_SPLITS = 25


def area_rows(X: Array, sigmas: Array, paper_sigma: float, seed: int) -> list[Row]:
    """Return one row per bandwidth, then one for each choice: least area, the library's own rule, the paper.

    The rows of the three choices also have the shares of X inside the sets of mass 0.90 and 0.95, and the number of
    uniform points that are inside the smaller set but outside the larger.
    """
    curves = {curve.sigma: curve for curve in ours(X, sigmas, N_SPLITS, seed).curves_}
    library = MinimumVolumeSet(MASS, sigma=sigmas, scaling=None, splits=N_SPLITS, random_state=seed).fit(X)
    chosen = {
        LEAST_AREA: min(curves, key=lambda sigma: curves[sigma].area),
        LIBRARY: library.sigma_,
        AT_PAPER: min(curves, key=lambda sigma: abs(sigma - paper_sigma)),
    }
    points = np.random.RandomState([seed, 1]).uniform(X.min(axis=0), X.max(axis=0), size=(10_000, X.shape[1]))

    def row(choice: str, sigma: float, *answers: float) -> Row:
        area = {"sigma": sigma, "area": curves[sigma].area, "area_error": curves[sigma].area_error}
        return {"choice": choice, **area, **dict(zip(("mass_90", "mass_95", "stray_points"), answers, strict=True))}

    rows = [row(CURVE, sigma, *[np.nan] * 3) for sigma in curves]
    for choice, sigma in chosen.items():
        sets = ours(X, sigma, N_SPLITS, seed)
        shares = [float(np.mean(sets.predict(X, mass=mass) == 1)) for mass in (0.9, 0.95)]
        smaller, larger = (sets.predict(points, mass=mass) == 1 for mass in (0.9, 0.95))
        rows.append(row(choice, sigma, *shares, float(np.sum(smaller & ~larger))))
    return rows


def draw_areas(axes: figures.Axes, rows: Rows, paper_sigma: float) -> None:
    """Draw the area against the bandwidth: the first repetition bold, the others thin, and the paper's choice."""
    for repetition in reversed([int(value) for value in distinct(rows, "repetition")]):
        first = repetition == 0
        sigmas, areas = (column(rows, name, choice=CURVE, repetition=repetition) for name in ("sigma", "area"))
        axes.plot(sigmas, areas, color=palette.OURS if first else palette.SHADES[3], linewidth=1.8 if first else 0.6)
    best, area = (float(column(rows, name, choice=LEAST_AREA, repetition=0)[0]) for name in ("sigma", "area"))
    axes.plot(best, area, color=palette.HIGHLIGHT, marker="o", markersize=7)
    figures.label(axes, f"least area: σ = {best:.3f}", (best, area), palette.HIGHLIGHT, (8, -10))
    axes.axvline(paper_sigma, color=palette.TRUTH, linestyle="--", linewidth=1)
    curve = column(rows, "area", choice=CURVE)
    low, high = 0.93 * curve.min(), min(1.7 * curve.min(), curve.max())
    axes.set(ylim=(low, high), xlabel="bandwidth σ", ylabel="area under the curve, AMV(σ)")
    figures.label(axes, f"paper: {paper_sigma}", (paper_sigma, high), palette.TRUTH, (5, -8))
