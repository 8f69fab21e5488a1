"""Figs. 11 and 12: two moons."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mvset.datasets import two_moons
from mvset.experiments.areas import LEAST_AREA, LIBRARY, N_SPLITS, area_rows, draw_areas
from mvset.experiments.methods import fixed
from mvset.experiments.plan import Config, Plan, Row, Task
from mvset.experiments.rows import computed_rows
from mvset.experiments.style import WIDTH, border, extent_of, letter_panels, margin_label, new_figure, plane, styled
from mvset.experiments.summary import Finding, column, distinct, interval, where
from mvset.plotting import palette

TITLE = "Two moons"
FIGURES = "Figs. 11 and 12"
OFFSETS, BANDWIDTH = "paper", "least area; ours, where it says library"
PAPER = (
    "n = 2000, 30 σ in [0.01, 0.5], 25 splits: the least area is at σ = 0.15; the empirical mass of the set is 0.96."
)
REMARK = (
    "The paper does not state the noise of its moons. The σ of the least area depends on the noise; the masses hardly "
    "do. The library's own rule selects, from the same list, the widest σ within one standard error of the smallest "
    "sets."
)
NOISES = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3)
FULL = Plan(cases=[{"noise": noise} for noise in NOISES], repetitions=20)
QUICK = Plan(cases=[{"noise": noise} for noise in (0.1, 0.2, 0.3)], repetitions=2)
SECONDS = 3.0

SIGMAS = np.linspace(0.01, 0.5, 30)
STEP = SIGMAS[1] - SIGMAS[0]
N_ROWS = 2000
PAPER_SIGMA, PAPER_MASS = 0.15, 0.96


def compute(task: Task) -> list[Row]:
    """Fit to one draw of the moons; the repetition is the seed of rows and splits."""
    seed = int(task["repetition"])
    return area_rows(two_moons(N_ROWS, noise=float(task["noise"]), random_state=seed), SIGMAS, PAPER_SIGMA, seed)


def run(config: Config) -> list[Row]:
    """Compute the rows of the experiment, or read those on disk."""
    return computed_rows("moons", compute, config)


def _closest(rows: Sequence[Row]) -> float:
    """The noise at which the bandwidth of the least area most often agrees with the paper, up to one grid step."""

    def misses(noise: float) -> tuple[int, float]:
        away = np.abs(column(rows, "sigma", noise=noise, choice=LEAST_AREA) - PAPER_SIGMA)
        return int(np.sum(away >= STEP)), float(away.mean())

    return min(distinct(rows, "noise"), key=misses)


def findings(rows: Sequence[Row]) -> list[Finding]:
    """The noise that matches the paper, and how well it does."""
    closest = _closest(rows)
    sigmas = column(rows, "sigma", noise=closest, choice=LEAST_AREA)
    near = int(np.sum(np.abs(sigmas - PAPER_SIGMA) < STEP))
    mass = interval(column(rows, "mass_95", noise=closest, choice=LEAST_AREA))
    return [
        Finding("noise that matches", "not stated", f"{closest:g}"),
        Finding(
            "σ of the least area there",
            "0.15",
            f"median {np.median(sigmas):.3f}; within one grid step of 0.15 in {near} of {len(sigmas)} draws",
            near > len(sigmas) / 2,
        ),
        Finding("empirical mass there", "0.96", str(mass), round(float(mass.mean), 2) == PAPER_MASS),
    ]


def numbers(rows: Sequence[Row]) -> list[list[str]]:
    """Table of bandwidth and mass by noise."""
    table = [
        [
            "noise",
            "σ of the least area",
            "from … to",
            "within one grid step of 0.15",
            "empirical mass",
            "σ by the library's rule",
        ]
    ]
    for noise in distinct(rows, "noise"):
        sigmas = column(rows, "sigma", noise=noise, choice=LEAST_AREA)
        near = int(np.sum(np.abs(sigmas - PAPER_SIGMA) < STEP))
        mass = interval(column(rows, "mass_95", noise=noise, choice=LEAST_AREA))
        library = interval(column(rows, "sigma", noise=noise, choice=LIBRARY))
        spread = f"{sigmas.min():.3f} … {sigmas.max():.3f}"
        share = f"{near} of {len(sigmas)}"
        table.append([f"{noise:g}", str(interval(sigmas)), spread, share, str(mass), str(library)])
    return table


@styled
def plot(rows: Sequence[Row]) -> Any:
    """Draw the area against the bandwidth, the set, and bandwidth and mass against the noise."""
    figure, axes = new_figure(WIDTH, 6.4, 2, n_rows=2)
    noise = _closest(rows)
    shown = where(rows, noise=noise)
    draw_areas(axes[0, 0], shown, PAPER_SIGMA)
    axes[0, 0].set_title(f"Noise {noise:g}, {len(distinct(shown, 'repetition'))} draws, the first bold")

    X = two_moons(N_ROWS, noise=noise, random_state=0)
    row = where(shown, choice=LEAST_AREA, repetition=0)[0]
    model = fixed(X, float(row["sigma"]), N_SPLITS, 0)
    extent = extent_of(X)
    outside = model.predict(X) == -1
    axes[0, 1].scatter(*X[~outside].T, s=3, color=palette.FAINT, linewidths=0)
    axes[0, 1].scatter(*X[outside].T, s=10, color=palette.HIGHLIGHT, marker="x", linewidths=0.8)
    border(axes[0, 1], model.decision_function, 0.0, extent, colors=palette.OURS, linewidths=2)
    plane(axes[0, 1], extent)
    axes[0, 1].set_title(f"Mass 0.95: {row['mass_95']:.3f} of the rows are inside")

    _against_noise(axes[1, 0], rows, "sigma", PAPER_SIGMA, "Bandwidth of the least area")
    _against_noise(axes[1, 1], rows, "mass_95", PAPER_MASS, "Empirical mass of the set")
    axes[1, 1].set_ylim(0.945, 0.975)
    letter_panels(*axes.flat)
    return figure


def _against_noise(axes: Any, rows: Sequence[Row], name: str, paper: float, title: str) -> None:
    """Draw every repetition as a point, the mean as a line, and the paper's value dashed."""
    noises = distinct(rows, "noise")
    values = [column(rows, name, noise=noise, choice=LEAST_AREA) for noise in noises]
    for noise, some in zip(noises, values, strict=True):
        spread = np.linspace(-0.006, 0.006, len(some)) if len(some) > 1 else [0.0]
        axes.scatter(noise + np.asarray(spread), some, s=8, color=palette.OURS_LIGHT, linewidths=0)
    axes.plot(noises, [some.mean() for some in values], color=palette.OURS)
    axes.axhline(paper, color=palette.TRUTH, linestyle="--", linewidth=1)
    margin_label(axes, f"paper:\n{paper}", paper, palette.TRUTH)
    axes.set(xlabel="noise of the moons", xticks=noises)
    axes.set_title(title)
