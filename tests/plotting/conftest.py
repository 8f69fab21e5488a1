import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mvset import MinimumVolumeSet
from mvset.paper.datasets import boston


@pytest.fixture(scope="session")
def suburbs():
    """In random order: neighbouring suburbs are alike."""
    return pd.DataFrame(np.random.default_rng(0).permutation(boston(standardize=False)), columns=["RM", "LSTAT"])


@pytest.fixture(scope="session")
def suburbs_model(suburbs):
    return make_pipeline(StandardScaler(), MinimumVolumeSet(sigma=0.45, splits=5, random_state=0)).fit(suburbs)


@pytest.fixture(scope="session")
def table():
    """Three columns with names, in different units, in one cluster."""
    rows = np.random.default_rng(0).normal(size=(300, 3)) * [1.0, 10.0, 100.0] + [0.0, 5.0, 1000.0]
    return pd.DataFrame(rows, columns=["load", "speed", "pressure"])


@pytest.fixture(scope="session")
def table_model(table):
    return make_pipeline(StandardScaler(), MinimumVolumeSet(sigma=1.0, splits=5, random_state=0)).fit(table)


@pytest.fixture(scope="session")
def machines():
    """Three kinds of machines, each with its own range of temperature and pressure."""
    rng = np.random.default_rng(0)
    kinds = rng.choice(["pump", "fan", "press"], 400, p=[0.5, 0.3, 0.2])
    centres = {"pump": (50.0, 10.0), "fan": (65.0, 11.0), "press": (50.0, 14.0)}
    numbers = np.array([centres[kind] for kind in kinds]) + rng.normal(size=(400, 2)) * [3.5, 0.7]
    return pd.DataFrame({"temperature": numbers[:, 0], "machine": kinds, "pressure": numbers[:, 1]})


@pytest.fixture(scope="session")
def machines_model(machines):
    return MinimumVolumeSet(sigma=0.6, splits=5, random_state=0).fit(machines)
