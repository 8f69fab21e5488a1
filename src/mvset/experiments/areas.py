"""Shared by `moons` and `boston`: the area under the mass-volume curve by bandwidth, and the selected bandwidths."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mvset.bandwidth.curves import BandwidthCurve
from mvset.estimators.minimum_volume_set import MinimumVolumeSet
from mvset.experiments.methods import MASS, fixed
from mvset.experiments.plan import Row
from mvset.experiments.style import label
from mvset.experiments.summary import column, distinct
from mvset.plotting import palette

CURVE, LEAST_AREA, LIBRARY, AT_PAPER = "curve", "least area", "library", "paper"
N_SPLITS = 25


def area_rows(X: NDArray[np.float64], sigmas: NDArray[np.float64], paper_sigma: float, seed: int) -> list[Row]:
    """One row per bandwidth, then one for each of three choices: least area, the library's own rule, the paper.

    The rows of the three choices also have the shares of X inside the sets of mass 0.90 and 0.95, and the number of
    uniform points that are inside the smaller set but outside the larger.
    """
    settings: dict[str, Any] = {
        "splits": N_SPLITS,
        "calibration": "paper",
        "volume_method": "box",
        "random_state": seed,
    }
    model = MinimumVolumeSet(MASS, sigma=sigmas, **settings).fit(X)
    by_area = MinimumVolumeSet(MASS, sigma=sigmas, selection="area", **settings).fit(X)
    by_sigma = {each.sigma: each for each in model.curves_}
    chosen = {
        LEAST_AREA: by_area.sigma_,
        LIBRARY: model.sigma_,
        AT_PAPER: min(by_sigma, key=lambda sigma: abs(sigma - paper_sigma)),
    }
    points = np.random.RandomState([seed, 1]).uniform(X.min(axis=0), X.max(axis=0), size=(10_000, X.shape[1]))
    rows: list[Row] = [_row(CURVE, each) for each in model.curves_]
    for choice, sigma in chosen.items():
        sets = fixed(X, sigma, N_SPLITS, seed)
        mass_90, mass_95 = (float(np.mean(sets.predict(X, mass=mass) == 1)) for mass in (0.9, 0.95))
        stray = (sets.predict(points, mass=0.9) == 1) & (sets.predict(points, mass=0.95) == -1)
        rows.append(_row(choice, by_sigma[sigma], mass_90, mass_95, float(stray.sum())))
    return rows


def _row(
    choice: str, curve: BandwidthCurve, mass_90: float = np.nan, mass_95: float = np.nan, stray: float = np.nan
) -> Row:
    return {
        "choice": choice,
        "sigma": curve.sigma,
        "area": curve.area,
        "area_error": curve.area_error,
        "mass_90": mass_90,
        "mass_95": mass_95,
        "stray_points": stray,
    }


def draw_areas(axes: Any, rows: Sequence[Row], paper_sigma: float) -> None:
    """Draw the area against the bandwidth: the first repetition bold, the others thin, and the paper's choice."""
    for repetition in reversed([int(value) for value in distinct(rows, "repetition")]):
        first = repetition == 0
        sigmas, areas = (column(rows, name, choice=CURVE, repetition=repetition) for name in ("sigma", "area"))
        axes.plot(sigmas, areas, color=palette.OURS if first else palette.SHADES[3], linewidth=1.8 if first else 0.6)
    best, area = (float(column(rows, name, choice=LEAST_AREA, repetition=0)[0]) for name in ("sigma", "area"))
    axes.plot(best, area, color=palette.HIGHLIGHT, marker="o", markersize=7)
    label(axes, f"least area: σ = {best:.3f}", (best, area), palette.HIGHLIGHT, shift=(8, -10))
    axes.axvline(paper_sigma, color=palette.TRUTH, linestyle="--", linewidth=1)
    curve = column(rows, "area", choice=CURVE)
    low, high = 0.93 * curve.min(), min(1.7 * curve.min(), curve.max())
    axes.set(ylim=(low, high), xlabel="bandwidth σ", ylabel="area under the curve, AMV(σ)")
    label(axes, f"paper: {paper_sigma}", (paper_sigma, high), palette.TRUTH, shift=(5, -8))
