"""Boston housing.

The paper: Rooms and lower status, standardised, 30 σ in [0.01, 4], 25 splits: the least area is at σ = 0.42; the sets
of mass 0.90 and 0.95 hold 0.91 and 0.95 of the rows, and are nested.

The area is nearly the same at the neighbouring values 0.285 and 0.423 of the paper's list, and which of them has the
smaller one depends on the random splits. The library's own rule, the widest σ within one standard error of the smallest
sets, resolves the tie.
"""

import numpy as np

from mvset.paper import datasets
from mvset.paper.experiments import figures
from mvset.paper.experiments.areas import AT_PAPER, LEAST_AREA, LIBRARY, N_SPLITS, area_rows, draw_areas
from mvset.paper.experiments.methods import ours
from mvset.paper.experiments.summary import Finding, Row, Rows, column
from mvset.plotting import palette
from mvset.values import Array

SIGMAS = np.linspace(0.01, 4.0, 30)
PAPER_SIGMA = 0.42


def compute(task: Row) -> list[Row]:
    """Fit with one draw of the random splits."""
    return area_rows(datasets.boston(), SIGMAS, PAPER_SIGMA, int(task["repetition"]))


def _counts(sigmas: Array) -> str:
    """The distinct bandwidths, each with its number of occurrences."""
    values, counts = np.unique(np.round(sigmas, 3), return_counts=True)
    return ", ".join(f"{value:g} ({count} of {len(sigmas)})" for value, count in zip(values, counts, strict=True))


def findings(rows: Rows) -> list[Finding]:
    """Compare the selected bandwidths, and the masses at the paper's bandwidth, with the paper."""
    least, library = (column(rows, "sigma", choice=choice) for choice in (LEAST_AREA, LIBRARY))
    agree = np.isclose(least, PAPER_SIGMA, atol=0.005)
    found = [
        Finding("σ of the least area, over draws of the splits", "0.42", _counts(least), bool(agree.mean() > 0.5)),
        Finding("σ by the library's rule, from the same list", "", _counts(library)),
    ]
    for name, asked, paper in (("mass_90", 0.90, 0.91), ("mass_95", 0.95, 0.95)):
        masses = column(rows, name, choice=AT_PAPER)
        same = int(np.sum(np.round(masses, 2) == paper))
        text = f"{masses.mean():.4f}, {masses.min():.4f} … {masses.max():.4f}; rounds to it in {same} of {len(masses)}"
        what = f"empirical mass of the set of mass {asked:.2f} at σ = 0.42"
        found.append(Finding(what, f"{paper}", text, same > len(masses) / 2))
    stray = int(column(rows, "stray_points", choice=AT_PAPER).sum())
    text = f"{stray} of {10_000 * len(least)}"
    return [*found, Finding("points of the set of mass 0.90 outside the set of mass 0.95", "none", text, stray == 0)]


def plot(rows: Rows) -> figures.Figure:
    """Draw the area against the bandwidth, and the two sets."""
    figure, (left, right) = figures.new_figure(figures.WIDTH, 4.0, 2)
    draw_areas(left, rows, PAPER_SIGMA)
    n_draws = len(column(rows, "sigma", choice=LEAST_AREA))
    left.set(xlim=(0, 2), title=f"{n_draws} draws of the splits, the first bold")
    X = datasets.boston()
    extent, model = figures.extent_of(X, 0.1), ours(X, PAPER_SIGMA, N_SPLITS, 0)
    figures.points(right, X)
    texts = {}
    for mass, colour in {0.9: palette.OURS_DARK, 0.95: palette.OURS_LIGHT}.items():
        figures.border(right, model.score_samples, model.offset(mass), extent, colour)
        texts[f"mass {mass:.2f}: {np.mean(model.predict(X, mass=mass) == 1):.3f} of the rows"] = colour
    figures.legend(right, texts, (extent[1], extent[3]), (-6, -12))
    right.set(xlim=extent[:2], ylim=extent[2:], xlabel="rooms per dwelling", ylabel="% lower status")
    right.set_title(f"The sets at the paper's σ = {PAPER_SIGMA}, nested")
    return figure
