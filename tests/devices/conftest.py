"""Arrays of other libraries in place of a GPU: the same code, on the CPU."""

import warnings

import numpy as np
import pytest

from mvset import MinimumVolumeSet
from mvset.devices.places import Place
from mvset.devices.scores import DOUBLE_ERROR, SINGLE_ERROR
from mvset.paper.datasets import paper_mixture

LIBRARIES = ("array_api_strict", "torch")


@pytest.fixture(params=LIBRARIES)
def as_array(request, monkeypatch):
    """Rows as an array that is judged on its device; tensors as if they were not in host memory."""
    library = pytest.importorskip(request.param)
    monkeypatch.setattr(Place, "in_host_memory", False)

    def convert(rows):
        return library.asarray(np.array(rows))

    return convert


@pytest.fixture(scope="session")
def small_model():
    """Of few rows: scores in float64."""
    return MinimumVolumeSet(sigma=1.0, splits=3, n_volume_points=200, random_state=0).fit(
        paper_mixture(3).sample(300, random_state=0)
    )


@pytest.fixture(scope="session")
def large_model():
    """Of many rows: scores in float32, and a scaling."""
    parameters = {"scaling": "whiten", "splits": 5, "max_train_samples": 200, "n_volume_points": 200}
    model = MinimumVolumeSet(sigma=0.5, random_state=0, **parameters).fit(paper_mixture(3).sample(5000, random_state=0))
    assert is_mixed(model)
    return model


@pytest.fixture(scope="session")
def two_views_model():
    """Of many rows, in two scalings: scores in float32."""
    parameters = {"scaling": "both", "splits": 5, "max_train_samples": 200, "n_volume_points": 200}
    model = MinimumVolumeSet(sigma=0.5, random_state=0, **parameters).fit(correlated_rows(5000, seed=0))
    assert is_mixed(model)
    assert len(model._neighbourhood.views) == 2
    return model


def correlated_rows(n_rows, seed):
    return paper_mixture(3).sample(n_rows, random_state=seed) @ [[1.0, 0.8, 0.3], [0.0, 0.5, 0.2], [0.0, 0.0, 1.0]]


def is_mixed(model):
    return all(view.precision == "mixed" for view in model._neighbourhood.views)


def assert_scores_agree(found, expected, model, *, single=True):
    """Up to the error that is promised: an absolute one in float32, and beside it a relative one."""
    error = max(view.slope for view in model._neighbourhood.views) * (SINGLE_ERROR if single else DOUBLE_ERROR)
    np.testing.assert_allclose(found, expected, rtol=DOUBLE_ERROR, atol=error)


def many_columns(sigma):
    """A model of thirty columns, with scores in float32."""
    parameters = {"scaling": "standard", "splits": 3, "max_train_samples": 100, "n_volume_points": 200}
    X = np.random.default_rng(0).normal(size=(1000, 30))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # volumes are not what is tested
        model = MinimumVolumeSet(sigma=sigma, random_state=0, **parameters).fit(X)
    assert is_mixed(model)
    return model


@pytest.fixture(scope="session")
def wide_model():
    """Kernels by a matrix product."""
    return many_columns(sigma=4.0)


@pytest.fixture(params=["small_model", "large_model", "two_views_model"])
def model(request):
    return request.getfixturevalue(request.param)


@pytest.fixture(scope="session")
def new_rows():
    """Normal rows, far ones, and one so far that its square is no number of float32."""
    rng = np.random.default_rng(0)
    near = paper_mixture(3).sample(1000, random_state=1)
    return np.vstack([near, rng.normal(5.0, 30.0, size=(100, 3)), np.full((1, 3), 1e30)])
