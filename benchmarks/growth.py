"""How the time of a fit grows with rows, columns, candidate bandwidths and splits.

Default settings, all cores, one quantity varied at a time around 2000 rows, 4 columns; beside IsolationForest in the
same run. The exponent is that from one size to the next. The limit is that of the kernel values which every candidate
needs, the rows against each other and against the points of the volumes, up to the rows at which samples train.

    python benchmarks/growth.py [--quick]
"""

import itertools
import math
import os
import sys
import warnings
from functools import partial

import numpy as np
from sklearn.ensemble import IsolationForest

from harness import COLOURS, axes, in_turn, limit, main, measured_ticks
from mvset import MinimumVolumeSet
from mvset.paper.datasets import paper_mixture

QUESTION = "How does the time of a fit grow?"
KEYS = ("varied", "value")
N_CORES = os.cpu_count() or 1
SIZES = {
    "rows": (500, 2000, 8000, 32_000, 128_000, 512_000),
    "columns": (2, 8, 32, 128),
    "candidates": (5, 10, 20, 40, 80),
    "splits": (5, 20, 80),
}


def case(varied, value):
    """Settings and rows."""
    n, d = {"rows": (value, 4), "columns": (2000, value)}.get(varied, (2000, 4))
    X = paper_mixture(d).sample(n, random_state=0)
    settings = {"candidates": {"sigma": np.geomspace(0.05, 5, value)}, "splits": {"splits": value}}.get(varied, {})
    return X, settings


def measure(options):
    warnings.simplefilter("ignore")
    for varied, values in SIZES.items():
        before = None
        for value in values[:3] if options.quick else values:
            X, settings = case(varied, value)
            model = MinimumVolumeSet(n_jobs=-1, random_state=0, **settings)
            forest = IsolationForest(contamination=0.05, n_jobs=-1, random_state=0)
            found = in_turn({"mvset": partial(model.fit, X), "forest": partial(forest.fit, X)}, 3)
            seconds, selection = found["mvset"].median, model.selection_
            values_needed = len(selection.sigmas) * len(X) * (len(X) / 2 + selection.n_points)
            yield {
                "varied": varied,
                "value": value,
                "mvset, s": seconds,
                "spread": found["mvset"].spread,
                "IsolationForest, s": found["forest"].median,
                "ratio": found["forest"].median / seconds,
                "exponent": math.log(seconds / before[1]) / math.log(value / before[0]) if before else math.nan,
                "limit, s": limit(values_needed, X.shape[1], cores=N_CORES) if len(X) <= 2000 else math.nan,
            }
            before = value, seconds


def draw(rows):
    figure, panels = axes(len(SIZES), width=3.2, height=3.4, sharey=True)
    for panel, (varied, some) in zip(panels, itertools.groupby(rows, key=lambda row: row["varied"]), strict=True):
        some = list(some)
        x = [row["value"] for row in some]
        panel.loglog(x, [row["mvset, s"] for row in some], "o-", color=COLOURS[0], label="mvset")
        panel.loglog(x, [row["IsolationForest, s"] for row in some], "o-", color=COLOURS[1], label="IsolationForest")
        panel.set_xlabel(varied)
        measured_ticks(panel, x)
    panels[0].set_ylabel("seconds to fit")
    panels[0].legend(frameon=False)
    return figure


if __name__ == "__main__":
    main(sys.modules[__name__])
