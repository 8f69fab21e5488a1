"""Distance to the true set against the number of columns.

The paper: Both are similar for d = 2 and 3; for d > 3 the plug-in approach deteriorates much faster. The paper ends at
d = 8, because volumes are hard to compute beyond.

Distances are measured with quasi-random points in a box up to three columns and by importance sampling beyond. The
lower panel compares the standard error of one distance here and with the paper's 10 000 points in the cube. The paper
does not state its σ; ours has the least area among the automatic bandwidths of the library. *As shipped* is
`MinimumVolumeSet()` with its defaults, which have the one-standard-error rule. At d = 2 the plug-in approach is better:
the paper's list of bandwidths contains 0.81, which suits this mixture, and overfitting of its threshold is still small.
For large d its distance tends to 1: the threshold is set on the training rows, which leaves small balls around them
with hardly any volume.
"""

import numpy as np

from mvset.paper.experiments import figures
from mvset.paper.experiments.methods import MASS, Method, distances, ours, shipped, true_mixture
from mvset.paper.experiments.summary import Finding, Row, Rows, column, distinct, everywhere, interval, means, table_of
from mvset.paper.plugin_kernel_density import PluginKernelDensity
from mvset.plotting import palette

PAPER_DIMENSIONS = range(2, 9)
N_ROWS, N_SPLITS = 500, 5
PLUG_IN_SIGMAS = np.linspace(0.1, 10.0, 15)
CUBE_POINTS = 10_000
ERROR = "standard error of one distance of ours"
METHODS = {
    "plug-in": Method("plug-in kernel density", palette.PLUG_IN, "--"),
    "ours": Method("ours, B = 5", palette.OURS),
    "shipped": Method("ours, as shipped", palette.OURS_DARK),
}


def compute(task: Row) -> list[Row]:
    """Fit all methods to one sample."""
    seed, mixture = int(task["repetition"]), true_mixture(int(task["d"]))
    X = mixture.sample(N_ROWS, random_state=seed)
    plug_in = PluginKernelDensity(MASS, sigma=PLUG_IN_SIGMAS, n_volume_points=100, random_state=seed).fit(X)
    models = {"plug-in": [plug_in], "ours": [ours(X, "auto", N_SPLITS, seed)], "shipped": [shipped(X, seed)]}
    rows = distances(mixture, X, models, seed)
    box = np.log(np.ptp(X, axis=0)).sum()
    for row in rows:
        share = float(row["difference"]) * np.exp(mixture.volume(MASS).log_value - box)  # of the cube's volume
        row["cube_error"] = float(row["difference"]) * float(np.sqrt(max(1 - share, 0) / share / CUBE_POINTS))
    return rows


def findings(rows: Rows) -> list[Finding]:
    """Compare the distances of both methods by dimension."""
    dimensions = distinct(rows, "d")
    ours_by, plug_in_by = (
        {d: column(rows, "difference", method=method, d=d) for d in dimensions} for method in ("ours", "plug-in")
    )
    means_by = {d: (interval(ours_by[d]), interval(plug_in_by[d])) for d in dimensions}
    few, last = [d for d in dimensions if d <= 3], max(d for d in dimensions if d in PAPER_DIMENSIONS)
    found = []
    for d in few:
        a, b = means_by[d]
        what, paired = f"d = {d:.0f}: plug-in less ours, on the same sample", interval(plug_in_by[d] - ours_by[d])
        found.append(Finding(what, "similar", str(paired), not (a.below(b) or b.below(a))))
    beyond = {d: a.below(b) for d, (a, b) in means_by.items() if d > 3}
    slow, fast = (interval(by[last] - by[few[-1]]) for by in (ours_by, plug_in_by))
    what = f"rise from d = {few[-1]:.0f} to {last:.0f}: plug-in; ours"
    rise = Finding(what, "plug-in much faster", f"{fast}; {slow}", slow.below(fast))
    return [*found, everywhere("ours below the plug-in approach for d > 3, apart", "d", beyond), rise]


def numbers(rows: Rows) -> list[list[str]]:
    """Table of the distances by dimension, with their standard errors."""
    table = table_of(rows, "d", {key: method.name for key, method in METHODS.items()})
    for name, text in (("standard_error", ERROR), ("cube_error", "of the same in the cube")):
        errors = (f"{mean.mean:.2g}" for mean in means(rows, "d", name, method="ours"))
        table = [[*line, cell] for line, cell in zip(table, [text, *errors], strict=True)]
    return table


def plot(rows: Rows) -> figures.Figure:
    """Draw the distance against the dimension, and below it the standard error of one distance."""
    figure, (upper, lower) = figures.new_figure(7.4, 5.6, n_rows=2, height_ratios=(2.4, 1), sharex=True)
    dimensions = distinct(rows, "d")
    labels = {"plug-in": (len(dimensions) // 3, (8, -12)), "ours": (-1, (24, -9)), "shipped": (-1, (24, 7))}
    title = figures.method_curves(upper, rows, "d", METHODS, labels)
    upper.axvspan(8.5, dimensions[-1] + 1, color=palette.FAINT, alpha=0.12, linewidth=0)
    figures.label(upper, "beyond the paper", (8.7, 0.03), palette.FAINT, (1, 0))
    upper.set(xlim=(1.2, dimensions[-1] + 1), ylim=(0, 1.1), title=f"n = {N_ROWS}, {title}")
    for name, text, colour, linestyle in (
        ("standard_error", "as measured here", palette.OURS, "-"),
        ("cube_error", "10 000 points\nin the cube", palette.FAINT, "--"),
    ):
        errors = [each.mean for each in means(rows, "d", name, method="ours")]
        lower.plot(dimensions, errors, color=colour, linestyle=linestyle, marker="o", markersize=3.5)
        figures.label(lower, text, (dimensions[-1], errors[-1]), colour, (24, 0))
    lower.set(yscale="log", xlabel="columns d", title="Standard error of one distance")
    figures.ticks(lower.xaxis, dimensions)
    return figure
