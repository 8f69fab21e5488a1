"""How long one solve takes, kernel included: ours, scikit-learn's and ThunderSVM's.

Both ways of ours: the solve and its kernel alone, and `OneClassSVM.fit` as a user calls it. Narrow is the median
distance to the nearest neighbour, wide the global scale of the rows, middle their geometric mean. The limit is that of
half the kernel matrix, computed once on one core.

    python benchmarks/solve.py [--quick]
"""

import sys

import numpy as np
from sklearn import svm

from harness import axes, geometric_mean, in_turn, limit, main, measured_ticks, peer
from mvset import OneClassSVM
from mvset.bandwidth.grid import bandwidth_grid
from mvset.paper.datasets import paper_mixture, two_moons
from mvset.svm.dual import Solver, solve_dual
from mvset.svm.gram import lazy_gram

QUESTION = "How long does one solve take?"
KEYS = ("data", "rows", "width")
NU = 0.4


def solve_and_kernel(X, sigma):
    solve_dual(lazy_gram(X, sigma), np.arange(len(X)), Solver(NU, 1e-3))


def measure(options):
    thunder = peer("thundersvm")
    for n in (500, 2000) if options.quick else (500, 2000, 5000, 10_000):
        tables = {"moons": two_moons(n, random_state=0), "mixture 4": paper_mixture(4).sample(n, random_state=0)}
        for data, X in tables.items():
            grid = bandwidth_grid(X, np.random.RandomState(0))
            for width, sigma in {"narrow": grid[-1], "middle": np.sqrt(grid[0] * grid[-1]), "wide": grid[0]}.items():
                gamma = 0.5 / sigma**2
                calls = {
                    "scikit-learn": lambda X=X, gamma=gamma: svm.OneClassSVM(nu=NU, gamma=gamma).fit(X),
                    "solve": lambda X=X, sigma=sigma: solve_and_kernel(X, sigma),
                    "fit": lambda X=X, sigma=sigma: OneClassSVM(nu=NU, sigma=sigma).fit(X),
                }
                if thunder is not None:
                    calls["ThunderSVM"] = lambda X=X, gamma=gamma: thunder.OneClassSVM(nu=NU, gamma=gamma).fit(X)
                repeats = 9 if n <= 500 else 5 if n <= 2000 else 3
                found = in_turn(calls, repeats)
                ours = found["fit"]
                yield {
                    "data": data,
                    "rows": n,
                    "width": width,
                    "sigma": float(sigma),
                    **{f"{name}, ms": 1e3 * timing.median for name, timing in found.items()},
                    "ratio to scikit-learn": found["scikit-learn"].median / ours.median,
                    **({"ratio to ThunderSVM": found["ThunderSVM"].median / ours.median} if thunder else {}),
                    "spread": ours.spread,
                    "limit, ms": 1e3 * limit(n * n / 2, X.shape[1]),
                }


def summary(rows):
    for field in ("ratio to scikit-learn", "ratio to ThunderSVM"):
        if field in rows[0]:
            yield f"- geometric mean of the {field}: {geometric_mean(row[field] for row in rows):.1f}"


def draw(rows):
    figure, panels = axes(2, sharey=True)
    styles = {"scikit-learn, ms": "#d9822b", "ThunderSVM, ms": "#9b5aa6", "fit, ms": "#1f5fa8", "limit, ms": "#7a7a7a"}
    for panel, data in zip(panels, dict.fromkeys(row["data"] for row in rows), strict=True):
        for field, colour in styles.items():
            for width, line in {"narrow": "-", "wide": ":"}.items():
                some = [row for row in rows if row["data"] == data and row["width"] == width and field in row]
                if some and not (field.startswith("limit") and width == "wide"):
                    label = {"fit, ms": "mvset", "limit, ms": "limit of one core"}.get(field, field.split(",")[0])
                    label = label if width == "narrow" else None
                    x, y = [row["rows"] for row in some], [row[field] for row in some]
                    panel.loglog(x, y, line, marker="o", ms=4, color=colour, label=label)
        panel.set(title=data, xlabel="rows")
        measured_ticks(panel, [row["rows"] for row in rows])
    panels[0].set_ylabel("milliseconds (narrow σ; dotted: wide σ)")
    panels[0].legend(frameon=False)
    return figure


if __name__ == "__main__":
    main(sys.modules[__name__])
