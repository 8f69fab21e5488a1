"""All answers of a model of any kind on some rows, as numbers: what a model file must keep."""

from typing import Any

import numpy as np
import pandas as pd
from sklearn.pipeline import Pipeline

from mvset import DriftMonitor, OneClassSVM

MASSES = (0.5, 0.8, 0.9)


def table_of(case: dict[str, Any]) -> Any:
    """The rows of a case: a table if its columns have names, else an array."""
    columns = {name: [np.nan if value is None else value for value in each] for name, each in case["rows"].items()}
    if all(name.isdigit() for name in columns):
        return np.column_stack(list(columns.values()))
    return pd.DataFrame(columns)


def answers(model: Any, X: Any, strata: Any = None) -> dict[str, list[float]]:
    """Answers by name."""
    if isinstance(model, DriftMonitor):
        found = {}
        for i, batch in enumerate((X[: len(X) // 2], X[len(X) // 2 :])):
            model.update(batch)
            found[f"update {i}"] = [model.log_martingale_, model.n_rows_, model.drifted_]
        return numbers(found)
    found = {"score": model.score_samples(X), "label": model.predict(X)}
    if isinstance(model, OneClassSVM):
        return numbers({**found, "decision": model.decision_function(X)})
    if isinstance(model, Pipeline):  # the other answers are about rows as its last step takes them
        X, model = model[:-1].transform(X), model[-1]
    sets = model.sets_
    if strata is not None:
        found["label by group"], found["level by group"] = (
            model.predict(X, strata=strata),
            model.level(X, strata=strata),
        )
    found["level"] = model.level(X)
    found["offset"] = [sets.offset(mass) for mass in MASSES]
    found["log volume"] = [sets.volume(mass).log_value for mass in MASSES]
    if hasattr(model, "explain"):
        found["explanation"] = np.ravel(model.explain(X))
    if sets.calibration.is_calibrated:
        found["p-value"] = model.p_value(X)
        interval = sets.mass_interval(0.9)
        found["interval"] = [interval.low, interval.high, interval.effective_rows]
    return numbers(found)


def numbers(found: dict[str, Any]) -> dict[str, list[float]]:
    """The same as lists."""
    return {name: [float(value) for value in np.asarray(values, dtype=np.float64)] for name, values in found.items()}
