"""Distance to the true set against the number of rows.

The paper: Our approach, with σ selected by the area under the mass-volume curve, beats the OCSVM with σ selected by the
distance to the true set; aggregation improves it further.

The paper states neither its n nor its σ. Our 15 bandwidths begin at 0.5: with few rows, narrower ones fail the paper's
condition on ν (Section II-B), and win with sets that contain too little. *As shipped* is `MinimumVolumeSet()` with its
defaults: 50 splits up to 400 rows and 10 from 2000 rows on, automatic bandwidths, the one-standard-error rule instead
of the least area. With one split, the offset depends on only a fifth of the rows.
"""

import numpy as np

from mvset.paper.experiments import figures
from mvset.paper.experiments.methods import Method, compared
from mvset.paper.experiments.summary import Finding, Row, Rows, column, distinct, everywhere, interval, means, table_of
from mvset.plotting import palette

SIGMAS = np.geomspace(0.5, 4.0, 15)
METHODS = {
    "ocsvm": Method("OCSVM, best σ by the truth", palette.ONE_CLASS_SVM, "--"),
    "ours B=1": Method("ours, B = 1", palette.OURS_LIGHT),
    "ours B=3": Method("ours, B = 3", palette.OURS, ":"),
    "shipped": Method("ours, as shipped", palette.OURS_DARK),
}


def compute(task: Row) -> list[Row]:
    """Fit all methods to one sample."""
    return compared(task, int(task["n"]), SIGMAS, {"ours B=1": 1, "ours B=3": 3})


def findings(rows: Rows) -> list[Finding]:
    """Whether the methods are ordered as in the paper at every number of rows."""
    sizes = distinct(rows, "n")

    def below(better: str, worse: str, least: float = 0, paper: str = "yes") -> Finding:
        curves = (means(rows, "n", method=method) for method in (better, worse))
        apart = {n: a.below(b) for n, a, b in zip(sizes, *curves, strict=True) if n >= least}
        scope = f", n ≥ {least:.0f}" if least else ""
        return everywhere(f"{METHODS[better].name} below {METHODS[worse].name}{scope}, apart", "n", apart, paper)

    first = min((n for n in sizes if n >= 500), default=sizes[-1])
    theirs, single = (column(rows, "difference", method=method, n=first) for method in ("ocsvm", "ours B=1"))
    what = f"n = {first:.0f}: OCSVM less ours, B = 1, on the same sample"
    return [
        below("ours B=1", "ocsvm", 500),
        Finding(what, "", str(interval(theirs - single))),
        below("ours B=3", "ocsvm", 500),
        below("ours B=3", "ours B=1"),
        below("shipped", "ours B=3", paper=""),
    ]


def numbers(rows: Rows) -> list[list[str]]:
    """Table of the distances by number of rows."""
    return table_of(rows, "n", {key: method.name for key, method in METHODS.items()})


def plot(rows: Rows) -> figures.Figure:
    """Draw the distance against the number of rows."""
    figure, axes = figures.new_figure(6.4, 4.2)
    title = figures.method_curves(axes, rows, "n", METHODS, dict.fromkeys(METHODS, (-1, (8, 0))))
    axes.set(xscale="log", yscale="log", xlabel="rows n", title=title[0].upper() + title[1:])
    figures.ticks(axes.xaxis, distinct(rows, "n"))
    figures.ticks(axes.yaxis, [0.02, 0.05, 0.1, 0.2, 0.5])
    return figure
