"""Writes the model files of a format, and their answers, to tests/files/fixtures: python tests/files/make_fixtures.py.

Every later version must read them and answer the same. Run it when `_FORMAT` of mvset.files.model_file is raised, which
no release does without need; never to make a failing test pass.
"""

import json
import sys
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.mixture import GaussianMixture
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

sys.path.insert(0, str(Path(__file__).parents[1]))

import mvset
from model_answers import answers, table_of
from mvset.calibration.calibration import Calibration
from mvset.calibration.offsets import order_statistics
from mvset.calibration.score_summary import ScoreSummary
from mvset.exceptions import MvsetWarning
from mvset.metrics.detectors import detector_by_name
from mvset.paper import CalibratedOneClassSVM, PluginKernelDensity
from mvset.paper.datasets import two_moons

FOLDER = Path(__file__).parent / "fixtures"
ARRAY = two_moons(60, random_state=0)
NEW = two_moons(16, noise=0.4, random_state=1)
SMALL: dict[str, Any] = {"splits": 2, "n_volume_points": 64, "random_state": 0}
CODES = np.arange(60) % 3


def minimum_volume_set(**parameters: Any) -> mvset.MinimumVolumeSet:
    return mvset.MinimumVolumeSet(**{"sigma": 0.5, "mass": 0.9, **SMALL, **parameters})


def frame(X: Any, **columns: Any) -> pd.DataFrame:
    return pd.DataFrame({"a": X[:, 0], "b": X[:, 1], **columns})


def with_gaps(X: Any) -> Any:
    X = X.copy()
    X[::4, 1] = np.nan
    return X


def of_a_large_table() -> mvset.MinimumVolumeSet:
    """The calibration of very many rows: a summary of their scores; and float32 where it is accurate."""
    model = minimum_volume_set(calibration="conformal").fit(ARRAY)
    summary = ScoreSummary(50)
    summary.add(np.round(model.score_samples(two_moons(2000, random_state=2)), 2))
    none = np.ones(len(summary.values))
    calibration = Calibration(
        model.sets_.guarantee,
        order_statistics(summary.values),
        summary.values,
        none,
        none,
        0.0,
        summary.counts,
        summary.exact_up_to,
    )
    function = model.sets_.function
    mixed = replace(function, views=[replace(view, precision="mixed") for view in function.views])
    model.sets_ = replace(model.sets_, calibration=calibration, function=mixed)
    return model


def monitor() -> mvset.DriftMonitor:
    watching = minimum_volume_set(calibration="conformal").fit(ARRAY).drift_monitor(random_state=0)
    watching.update(two_moons(20, random_state=3))
    return watching


MODELS = {
    "plain": lambda: minimum_volume_set(scaling=None).fit(ARRAY),
    "paper": lambda: CalibratedOneClassSVM(0.9, sigmas=[0.4, 0.5], n_splits=2, n_volume_points=64, random_state=0).fit(
        ARRAY
    ),
    "scaling": lambda: minimum_volume_set(scaling="whiten").fit(frame(ARRAY)),
    "two_views": lambda: minimum_volume_set(scaling="both").fit(ARRAY),
    "categories": lambda: minimum_volume_set().fit(frame(ARRAY, c=np.array(["x", "y", "z"])[CODES])),
    "imputation": lambda: minimum_volume_set(missing="impute").fit(with_gaps(ARRAY)),
    "groups": lambda: minimum_volume_set().fit(ARRAY, strata=CODES),
    "large_table": of_a_large_table,
    "calibrated_set": lambda: mvset.CalibratedSet(GaussianMixture(2, random_state=0), **SMALL).fit(frame(ARRAY)),
    "neighbours": lambda: mvset.CalibratedSet(detector_by_name("knn"), **SMALL).fit(frame(ARRAY)),
    "plugin_density": lambda: PluginKernelDensity(sigma=0.3, n_volume_points=64, random_state=0).fit(ARRAY),
    "one_class_svm": lambda: mvset.OneClassSVM(sigma=0.5, nu=0.2).fit(ARRAY),
    "pipeline": lambda: make_pipeline(StandardScaler(), minimum_volume_set()).fit(frame(ARRAY)),
    "drift_monitor": monitor,
}
TABLES = {name: frame(NEW) for name in ("scaling", "calibrated_set", "neighbours", "pipeline")}
TABLES["imputation"] = with_gaps(NEW)
TABLES["two_views"] = np.vstack([NEW, [[1e5, 0.0], [0.0, -1e300]]])  # far rows have an order
TABLES["categories"] = frame(NEW, c=["x", "y", "z", "unseen"] * 4)


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    cases = {}
    for name, fitted in MODELS.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MvsetWarning)  # few rows and sample points
            model = fitted()
        mvset.save(model, FOLDER / f"{name}.mvset")
        columns = pd.DataFrame(TABLES.get(name, NEW))
        rows = {str(column): [None if value != value else value for value in columns[column]] for column in columns}
        cases[name] = case = {"rows": rows, "strata": [0, 1, 2, 1] * 4 if name == "groups" else None}
        case["answers"] = answers(mvset.load(FOLDER / f"{name}.mvset"), table_of(case), case["strata"])
    (FOLDER / "answers.json").write_text(json.dumps(cases, indent=0) + "\n")


if __name__ == "__main__":
    main()
