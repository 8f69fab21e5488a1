"""Arrays and frames of any shape, type and value: a fit and its answers, or a ValueError or TypeError that says why.

Answers are finite, levels lie between 0 and 1, `level <= mass` decides, and no warning is one that numpy would give.
"""

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from mvset import MinimumVolumeSet
from mvset.exceptions import MvsetWarning

Rng = np.random.Generator
ODD = (np.nan, np.inf, -np.inf, 0.0, -0.0, 1e308, -1e308, 5e-324, 1e-160, 1e160, 2.0**53, -1.0)


def warm_up() -> None:
    """Compile the kernels, and import what frames need."""
    rows = np.random.default_rng(0).normal(size=(60, 3))
    for scaling in ("standard", "whiten", "auto"):
        MinimumVolumeSet(splits=2, scaling=scaling, random_state=0).fit(rows).explain(rows)
    frame = pd.DataFrame(np.where(rows > 2, np.nan, rows), columns=["a", "b", "c"]).assign(kind=["a", "b"] * 30)
    MinimumVolumeSet(splits=2, missing="impute", random_state=0).fit(frame).predict(frame)


def run_case(seed: int, folder: Path) -> str:
    """Fit to an odd table, and judge another."""
    rng = np.random.default_rng(seed)
    X = table(rng)
    new = X[::2] if isinstance(X, list | np.ndarray) and rng.uniform() < 0.5 else table(rng)
    parameters: dict[str, Any] = {"splits": 3, "random_state": 0, "n_volume_points": 500}
    if rng.uniform() < 0.5:
        parameters["mass"] = float(rng.choice([0.5, 0.9, 0.99, 1e-6, 1 - 1e-6]))
    if rng.uniform() < 0.3:
        parameters["missing"] = "impute"
    if rng.uniform() < 0.3:
        parameters["scaling"] = rng.choice(["standard", "whiten"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", MvsetWarning)
        warnings.filterwarnings("ignore", ".*feature names.*")
        try:
            model = MinimumVolumeSet(**parameters).fit(X)
        except (ValueError, TypeError) as error:
            return f"fit refused: {type(error).__name__}"
        _check(model, X)
        try:
            _check(model, new)
        except (ValueError, TypeError):
            return "fitted, other rows refused"
    return "answered"


def _check(model: MinimumVolumeSet, X: Any) -> None:
    levels, scores = model.level(X), model.score_samples(X)
    assert np.isfinite(scores).all()
    assert ((levels >= 0) & (levels <= 1)).all()
    np.testing.assert_array_equal(model.predict(X) == 1, levels <= model.mass)
    assert np.isfinite(model.explain(X)).all()
    assert np.isfinite(model.decision_function(X)).all()


def table(rng: Rng) -> Any:
    """An odd table."""
    n, d = int(rng.choice([0, 1, 2, 3, 5, 20, 60, 60, 200, 200])), int(rng.choice([0, 1, 2, 2, 2, 2, 3, 3, 8]))
    X: Any = rng.normal(size=(n, d))
    for _ in range(rng.integers(0, 4)):
        kind = rng.integers(9)
        if kind == 0 and X.size:
            X[rng.integers(n), rng.integers(d)] = rng.choice(ODD)
        elif kind == 1 and d:
            X[:, rng.integers(d)] = rng.choice(ODD)
        elif kind == 2 and d:
            X[:, rng.integers(d)] *= 10.0 ** rng.integers(-170, 170)
        elif kind == 3:
            X = np.round(X)
        elif kind == 4 and n > 3:
            X[n // 3 :] = X[0]
        elif kind == 5 and d > 1:
            X[:, 1] = X[:, 0]
        elif kind == 6:
            X = X + 10.0 ** rng.integers(0, 17)
        elif kind == 7 and X.size:
            X[rng.uniform(size=X.shape) < 0.1] = np.nan
        elif kind == 8:
            X = X * 10.0 ** rng.integers(-170, 170)
    kind = rng.integers(8)
    if kind == 0:
        with np.errstate(over="ignore"):
            return X.astype(rng.choice(["f4", "f2"]))
    if kind == 1:
        return np.nan_to_num(np.clip(X, -1e6, 1e6)).astype(rng.choice(["i8", "i4", "u1", "?"]))
    if kind == 2:
        return X.tolist()
    if kind == 3:
        return np.asfortranarray(X)
    if kind == 4:
        frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(d)])
        if rng.uniform() < 0.5:
            frame["kind"] = rng.choice(np.array(["a", "b", None], dtype=object), n)
        return frame
    if kind == 5:
        return X[:, 0] if d else X.ravel()
    if kind == 6:
        return X.astype(object)
    return X
