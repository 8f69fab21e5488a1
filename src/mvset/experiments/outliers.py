"""Figs. 8 and 9: the mixture with 5 % of uniform outliers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mvset.estimators.minimum_volume_set import MinimumVolumeSet
from mvset.experiments.methods import MASS, distances, fixed, one_class_svm, selected, true_mixture
from mvset.experiments.plan import Config, Plan, Row, Task
from mvset.experiments.rows import computed_rows
from mvset.experiments.style import TRUE_SET, WIDTH, band, border, letter_panels, new_figure, plane, styled
from mvset.experiments.summary import Finding, column, interval, where
from mvset.plotting import palette

TITLE = "A sample with 5 % of uniform outliers"
FIGURES = "Figs. 8 and 9"
OFFSETS, BANDWIDTH = "paper", "least area"
PAPER = "One example of each method: ours is more robust to outliers than the OCSVM at the σ closest to the true set."
REMARK = (
    "The paper shows one sample; these are means over samples. *As shipped* is `MinimumVolumeSet()` with its "
    "defaults: automatic bandwidths and the one-standard-error rule instead of the paper's 20 σ and the least area."
)
FULL = Plan(cases=[{}], repetitions=100)
QUICK = Plan(cases=[{}], repetitions=8)
SECONDS = 1.5

SIGMAS = np.linspace(0.01, 3.0, 20)
SHARE = 0.05
N_ROWS = 1000
N_SPLITS = 10
METHODS = {
    "ocsvm": ("OCSVM, best σ by truth", palette.ONE_CLASS_SVM),
    "ours": ("ours, σ by least area", palette.OURS),
    "shipped": ("ours, as shipped", palette.OURS_DARK),
}


def compute(task: Task) -> list[Row]:
    """Fit all methods to one sample."""
    seed, mixture = int(task["repetition"]), true_mixture(outlier_share=SHARE)
    X = mixture.sample(N_ROWS, random_state=seed)
    models = {
        "ocsvm": [one_class_svm(X, sigma) for sigma in SIGMAS],
        "ours": [selected(X, SIGMAS, N_SPLITS, seed)],
        "shipped": [MinimumVolumeSet(MASS, random_state=seed).fit(X)],
    }
    return distances(mixture, X, models, seed)


def run(config: Config) -> list[Row]:
    """Compute the rows of the experiment, or read those on disk."""
    return computed_rows("outliers", compute, config)


def findings(rows: Sequence[Row]) -> list[Finding]:
    """Mean distance of each method, and the paired difference."""
    means = {method: interval(column(rows, "difference", method=method)) for method in METHODS}
    paired = interval(column(rows, "difference", method="ocsvm") - column(rows, "difference", method="ours"))
    return [
        Finding(METHODS["ocsvm"][0], "worse", str(means["ocsvm"])),
        Finding(METHODS["ours"][0], "better", str(means["ours"]), means["ours"].below(means["ocsvm"])),
        Finding(METHODS["shipped"][0], "", str(means["shipped"])),
        Finding("difference on the same sample, OCSVM less ours", "positive", str(paired), paired.low > 0),
    ]


@styled
def plot(rows: Sequence[Row]) -> Any:
    """Draw the set of each method for the first sample, and the distances for all samples."""
    figure, (left, middle, right) = new_figure(WIDTH, 3.4, 3, width_ratios=(1, 1, 1.05))
    mixture = true_mixture(outlier_share=SHARE)
    X, outlier = mixture.sample(N_ROWS, random_state=0, return_outliers=True)
    extent = (-2.6, 12.6, -2.6, 12.6)
    for axes, method in ((left, "ocsvm"), (middle, "ours")):
        row = where(rows, method=method, repetition=0)[0]
        sigma = float(row["sigma"])
        model = one_class_svm(X, sigma) if method == "ocsvm" else fixed(X, sigma, N_SPLITS, 0)
        name, colour = METHODS[method]
        axes.scatter(*X[~outlier].T, s=3, color=palette.FAINT, linewidths=0)
        axes.scatter(*X[outlier].T, s=14, color=palette.INK, marker="x", linewidths=0.8)
        border(axes, mixture.log_density, mixture.log_threshold(MASS), extent, **TRUE_SET)
        border(axes, model.decision_function, 0.0, extent, colors=colour, linewidths=2)
        plane(axes, extent)
        axes.set_title(f"{name.split(',')[0]}, σ = {sigma:.2f}: {row['difference']:.3f}")
        axes.set_xlabel("dashed: the true set; crosses: outliers")
    _strips(right, rows)
    letter_panels(left, middle, right)
    return figure


def _strips(axes: Any, rows: Sequence[Row]) -> None:
    """Draw the distance in every sample as a point, and the mean with its interval."""
    jitter = np.random.RandomState(0).uniform(-0.16, 0.16, size=len(rows))
    names = []
    for x, (method, (name, colour)) in enumerate(METHODS.items()):
        values = column(rows, "difference", method=method)
        mean = interval(values)
        axes.scatter(x + jitter[: len(values)], values, s=6, color=colour, alpha=0.45, linewidths=0)
        axes.plot([x - 0.28, x + 0.28], [mean.mean] * 2, color=colour)
        band(axes, [x - 0.28, x + 0.28], [mean] * 2, colour)
        names.append(f"{mean}\n" + name.replace(", ", ",\n", 1))
    axes.set(xlim=(-0.5, 2.5), ylim=(0, None), ylabel="symmetric difference / true volume")
    axes.set_xticks(range(len(names)), names)
    for tick, (_, colour) in zip(axes.get_xticklabels(), METHODS.values(), strict=True):
        tick.set(color=colour, fontsize=8)
    axes.tick_params(axis="x", length=0)
    axes.set_title(f"{len(values)} samples and their mean")
