"""How much of new data each detector accepts when asked for 95 %: ours, the paper's, scikit-learn's and PyOD's.

Every detector is told the share: `mass`, `contamination` or `nu`. 500 rows of four distributions, default settings
otherwise, and the share of 20 000 new rows inside. A detector that sets its threshold on its own training rows accepts
less of new ones the more it adapts to them.

    python benchmarks/mass.py [--quick]
"""

import sys
import warnings

import numpy as np
from joblib import Parallel, delayed
from sklearn.covariance import EllipticEnvelope
from sklearn.ensemble import IsolationForest
from sklearn.neighbors import LocalOutlierFactor
from sklearn.svm import OneClassSVM

from harness import COLOURS, axes, main, peer
from mvset import MinimumVolumeSet
from mvset.paper import CalibratedOneClassSVM
from mvset.paper.datasets import paper_mixture

QUESTION = "Asked for 95 %, how much of new data lies inside?"
KEYS = ("distribution", "method")
MASS, N_ROWS, N_NEW = 0.95, 500, 20_000


def correlated(rng, n):
    factors = np.random.default_rng(7).normal(size=(3, 10))
    return rng.normal(size=(n, 3)) @ factors + 0.3 * rng.normal(size=(n, 10))


DISTRIBUTIONS = {
    "paper's mixture, d = 2": lambda rng, n: paper_mixture().sample(n, random_state=rng.integers(2**31)),
    "factors, d = 10": correlated,
    "t(2), d = 5": lambda rng, n: rng.standard_t(2.0, size=(n, 5)),
    "lognormal, d = 20": lambda rng, n: rng.lognormal(size=(n, 20)),
}


def detectors(seed):
    """Functions from rows to what `predict` says of new rows: 1 inside."""
    share = 1.0 - MASS
    plain = {
        **{
            f"mvset, {mode}": MinimumVolumeSet(MASS, calibration=mode, random_state=seed)
            for mode in ("cross", "conformal", "pac")
        },
        "the paper's algorithm": CalibratedOneClassSVM(MASS, random_state=seed),
        "scikit-learn OneClassSVM": OneClassSVM(nu=share),
        "scikit-learn IsolationForest": IsolationForest(contamination=share, random_state=seed),
        "scikit-learn LOF": LocalOutlierFactor(novelty=True, contamination=share),
        "scikit-learn EllipticEnvelope": EllipticEnvelope(contamination=share, random_state=seed),
    }
    found = {name: (lambda X, each=each: each.fit(X).predict) for name, each in plain.items()}
    if peer("pyod") is not None:
        from pyod.models.ecod import ECOD
        from pyod.models.hbos import HBOS
        from pyod.models.iforest import IForest
        from pyod.models.knn import KNN
        from pyod.models.ocsvm import OCSVM

        theirs = {
            "KNN": KNN(contamination=share),
            "ECOD": ECOD(contamination=share),
            "HBOS": HBOS(contamination=share),
            "IForest": IForest(contamination=share, random_state=seed),
            "OCSVM": OCSVM(contamination=share),
        }
        for name, each in theirs.items():
            found[f"PyOD {name}"] = lambda X, each=each: lambda new: 1 - 2 * each.fit(X).predict(new)
    return found


def masses(name, seed):
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(1000 + seed)
    X, new = DISTRIBUTIONS[name](rng, N_ROWS), DISTRIBUTIONS[name](rng, N_NEW)
    return {method: float(np.mean(fit(X)(new) == 1)) for method, fit in detectors(seed).items()}


def measure(options):
    seeds = 4 if options.quick else 50
    for name in list(DISTRIBUTIONS)[:2] if options.quick else DISTRIBUTIONS:
        runs = Parallel(n_jobs=-1)(delayed(masses)(name, seed) for seed in range(seeds))
        for method in runs[0]:
            found = np.array([run[method] for run in runs])
            yield {
                "distribution": name,
                "method": method,
                "samples": seeds,
                "mean mass": round(float(found.mean()), 4),
                "standard deviation": round(float(found.std(ddof=1)), 4),
                "false alarms for each asked for": round(float((1 - found.mean()) / (1 - MASS)), 2),
            }


def draw(rows):
    names, methods = (list(dict.fromkeys(row[key] for row in rows)) for key in ("distribution", "method"))
    figure, panels = axes(len(names), width=3.0, height=4.6, sharey=True)
    for panel, name in zip(panels, names, strict=True):
        some = [row for row in rows if row["distribution"] == name]
        colours = [COLOURS[0] if row["method"].startswith("mvset") else COLOURS[1] for row in some]
        panel.axvline(MASS, color="#333333", lw=1)
        for y, (row, colour) in enumerate(zip(some, colours, strict=True)):
            error = row["standard deviation"]
            panel.errorbar(row["mean mass"], y, xerr=error, fmt="o", ms=5, color=colour, capsize=2, lw=1.2)
        panel.set(title=name, xlabel="mass of new rows", ylim=(len(methods) - 0.5, -0.5))
    panels[0].set_yticks(range(len(methods)), methods)
    return figure


if __name__ == "__main__":
    main(sys.modules[__name__])
