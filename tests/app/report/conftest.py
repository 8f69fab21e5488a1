import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mvset import MinimumVolumeSet
from mvset.app.report.write import report_scan
from mvset.estimators.fitted_model import FittedModel

EVIL = "<script>alert(1)</script>"
NAMES = [EVIL, "a & b", "cost in $, or $"]


@pytest.fixture(scope="session")
def rows():
    """A table whose column names must be escaped; its last rows are far out in the second column."""
    rows = np.random.default_rng(1).normal(size=(300, 3)) * [1.0, 10.0, 100.0]
    rows[-12:, 1] += 80.0
    return pd.DataFrame(rows, columns=NAMES)


@pytest.fixture(scope="session")
def model():
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(500, 3)) * [1.0, 10.0, 100.0], columns=NAMES)
    return make_pipeline(StandardScaler(), MinimumVolumeSet(sigma=[0.7, 1.0], random_state=0)).fit(frame)


@pytest.fixture(scope="session")
def fitted(model):
    return FittedModel.of(model)


@pytest.fixture(scope="session")
def survey(fitted, rows):
    survey = report_scan(fitted, 0.95)
    scored = survey.score(rows)
    kept = lambda selected: [{"<i>id</i>": f"<b>{k}</b>"} for k in selected]  # noqa: E731
    survey.add(rows.to_numpy(), scored, np.arange(300), kept)
    return survey.result()
