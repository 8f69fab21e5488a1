"""A sample with 5 % of uniform outliers.

The paper: One example of each method: ours is more robust to outliers than the OCSVM at the σ closest to the true set.

The paper shows one sample; these are means over samples. *As shipped* is `MinimumVolumeSet()` with its defaults:
automatic bandwidths and the one-standard-error rule instead of the paper's 20 σ and the least area.
"""

import numpy as np

from mvset.paper.experiments import figures
from mvset.paper.experiments.methods import Method, compared
from mvset.paper.experiments.summary import Finding, Row, Rows, column, interval
from mvset.plotting import palette

SIGMAS = np.linspace(0.01, 3.0, 20)
SHARE = 0.05
METHODS = {
    "ocsvm": Method("OCSVM, best σ by truth", palette.ONE_CLASS_SVM),
    "ours": Method("ours, σ by least area", palette.OURS),
    "shipped": Method("ours, as shipped", palette.OURS_DARK),
}


def compute(task: Row) -> list[Row]:
    """Fit all methods to one sample."""
    return compared(task, 1000, SIGMAS, {"ours": 10}, outlier_share=SHARE)


def findings(rows: Rows) -> list[Finding]:
    """Mean distance of each method, and the paired difference."""
    theirs, best, default = (column(rows, "difference", method=method) for method in METHODS)
    paired, better = interval(theirs - best), interval(best).below(interval(theirs))
    return [
        Finding(METHODS["ocsvm"].name, "worse", str(interval(theirs))),
        Finding(METHODS["ours"].name, "better", str(interval(best)), better),
        Finding(METHODS["shipped"].name, "", str(interval(default))),
        Finding("difference on the same sample, OCSVM less ours", "positive", str(paired), paired.low > 0),
    ]


def plot(rows: Rows) -> figures.Figure:
    """Draw the set of each method for the first sample, and the distances for all samples."""
    figure, (*panels, right) = figures.new_figure(figures.WIDTH, 3.4, 3, width_ratios=(1, 1, 1.05))
    figures.first_sample(panels, rows, METHODS, "dashed: the true set; crosses: outliers", outlier_share=SHARE)
    _strips(right, rows)
    return figure


def _strips(axes: figures.Axes, rows: Rows) -> None:
    """Draw the distance in every sample as a point, and the mean with its interval."""
    for x, (key, method) in enumerate(METHODS.items()):
        values = column(rows, "difference", method=key)
        mean, jitter = interval(values), np.random.RandomState(0).uniform(-0.16, 0.16, size=len(values))
        axes.scatter(x + jitter, values, s=6, color=method.colour, alpha=0.45, linewidths=0)
        figures.curve(axes, [x - 0.28, x + 0.28], [mean] * 2, method.colour)
        text = f"{mean}\n" + method.name.replace(", ", ",\n", 1)
        figures.label(axes, text, (x, 0), method.colour, (0, -20), fontsize=8)
    axes.set(xlim=(-0.5, 2.5), ylim=(0, None), ylabel=figures.DISTANCE, title=f"{len(values)} samples and their mean")
    axes.set_xticks([])
