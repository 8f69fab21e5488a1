"""Two moons.

The paper: n = 2000, 30 σ in [0.01, 0.5], 25 splits: the least area is at σ = 0.15; the empirical mass of the set is
0.96.

The paper does not state the noise of its moons. The σ of the least area depends on the noise; the masses hardly do. The
library's own rule is `MinimumVolumeSet` with the same bandwidths and number of splits. It selects the widest σ within
one standard error of the smallest sets.
"""

import numpy as np

from mvset.paper.datasets import two_moons
from mvset.paper.experiments import figures
from mvset.paper.experiments.areas import LEAST_AREA, LIBRARY, N_SPLITS, area_rows, draw_areas
from mvset.paper.experiments.methods import ours
from mvset.paper.experiments.summary import Finding, Row, Rows, column, distinct, interval, where
from mvset.plotting import palette
from mvset.values import Array

SIGMAS = np.linspace(0.01, 0.5, 30)
STEP = SIGMAS[1] - SIGMAS[0]
N_ROWS = 2000
PAPER_SIGMA, PAPER_MASS = 0.15, 0.96


def compute(task: Row) -> list[Row]:
    """Fit to one draw of the moons; the repetition is the seed of rows and splits."""
    seed = int(task["repetition"])
    return area_rows(two_moons(N_ROWS, noise=float(task["noise"]), random_state=seed), SIGMAS, PAPER_SIGMA, seed)


def _near(sigmas: Array) -> int:
    """Return how many bandwidths are within one grid step of the paper's."""
    return int(np.sum(np.abs(sigmas - PAPER_SIGMA) < STEP))


def _closest(rows: Rows) -> float:
    """Return the noise at which the bandwidth of the least area most often agrees with the paper."""
    by_noise = {noise: column(rows, "sigma", noise=noise, choice=LEAST_AREA) for noise in distinct(rows, "noise")}
    distance = {noise: float(np.abs(sigmas - PAPER_SIGMA).mean()) for noise, sigmas in by_noise.items()}
    return max(by_noise, key=lambda noise: (_near(by_noise[noise]), -distance[noise]))


def findings(rows: Rows) -> list[Finding]:
    """The noise that matches the paper, and how well it does."""
    closest = _closest(rows)
    sigmas, masses = (column(rows, name, noise=closest, choice=LEAST_AREA) for name in ("sigma", "mass_95"))
    near, mass = _near(sigmas), interval(masses)
    text = f"median {np.median(sigmas):.3f}; within one grid step of 0.15 in {near} of {len(sigmas)} draws"
    return [
        Finding("noise that matches", "not stated", f"{closest:g}"),
        Finding("σ of the least area there", "0.15", text, near > len(sigmas) / 2),
        Finding("empirical mass there", "0.96", str(mass), round(float(mass.mean), 2) == PAPER_MASS),
    ]


def numbers(rows: Rows) -> list[list[str]]:
    """Table of bandwidth and mass by noise."""
    header = ["noise", "σ of the least area", "from … to", "within one grid step of 0.15", "empirical mass"]
    table = [[*header, "σ by the library's rule"]]
    for noise in distinct(rows, "noise"):
        sigmas, masses = (column(rows, name, noise=noise, choice=LEAST_AREA) for name in ("sigma", "mass_95"))
        spread, share = f"{sigmas.min():.3f} … {sigmas.max():.3f}", f"{_near(sigmas)} of {len(sigmas)}"
        means = [str(interval(some)) for some in (sigmas, masses, column(rows, "sigma", noise=noise, choice=LIBRARY))]
        table.append([f"{noise:g}", means[0], spread, share, *means[1:]])
    return table


def plot(rows: Rows) -> figures.Figure:
    """Draw the area against the bandwidth, the set, and bandwidth and mass against the noise."""
    figure, ((area, example), (sigma, mass)) = figures.new_figure(figures.WIDTH, 6.4, 2, n_rows=2)
    noise = _closest(rows)
    shown = where(rows, noise=noise)
    draw_areas(area, shown, PAPER_SIGMA)
    area.set_title(f"Noise {noise:g}, {len(distinct(shown, 'repetition'))} draws, the first bold")

    X = two_moons(N_ROWS, noise=noise, random_state=0)
    [row] = where(shown, choice=LEAST_AREA, repetition=0)
    model, extent = ours(X, float(row["sigma"]), N_SPLITS, 0), figures.extent_of(X)
    figures.points(example, X, model.predict(X) == -1, palette.HIGHLIGHT)
    figures.border(example, model.decision_function, 0.0, extent, palette.OURS)
    figures.plane(example, extent, f"Mass 0.95: {row['mass_95']:.3f} of the rows are inside")

    _against_noise(sigma, rows, "sigma", PAPER_SIGMA, "Bandwidth of the least area")
    _against_noise(mass, rows, "mass_95", PAPER_MASS, "Empirical mass of the set")
    mass.set_ylim(0.945, 0.975)
    return figure


def _against_noise(axes: figures.Axes, rows: Rows, name: str, paper: float, title: str) -> None:
    """Draw every repetition as a point, the mean as a line, and the paper's value dashed."""
    noises = distinct(rows, "noise")
    values = [column(rows, name, noise=noise, choice=LEAST_AREA) for noise in noises]
    for noise, some in zip(noises, values, strict=True):
        spread = 0.006 * np.linspace(-1, 1, len(some)) if len(some) > 1 else np.zeros(1)
        axes.scatter(noise + spread, some, s=8, color=palette.OURS_LIGHT, linewidths=0)
    axes.plot(noises, [some.mean() for some in values], color=palette.OURS)
    axes.axhline(paper, color=palette.TRUTH, linestyle="--", linewidth=1)
    figures.margin_label(axes, f"paper:\n{paper}", paper, palette.TRUTH)
    axes.set(xlabel="noise of the moons", xticks=noises, title=title)
