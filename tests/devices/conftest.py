"""Arrays of other libraries in place of a GPU: the same code, on the CPU."""

import warnings

import numpy as np
import pytest

from mvset import MinimumVolumeSet
from mvset.devices.places import Place
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
    assert model._function.precision == "mixed"
    return model


def many_columns(sigma):
    """A model of thirty columns, with scores in float32."""
    parameters = {"scaling": "standard", "splits": 3, "max_train_samples": 100, "n_volume_points": 200}
    X = np.random.default_rng(0).normal(size=(1000, 30))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # volumes are not what is tested
        model = MinimumVolumeSet(sigma=sigma, random_state=0, **parameters).fit(X)
    assert model._function.precision == "mixed"
    return model


@pytest.fixture(scope="session")
def wide_model():
    """Kernels by a matrix product."""
    return many_columns(sigma=4.0)


@pytest.fixture(params=["small_model", "large_model"])
def model(request):
    return request.getfixturevalue(request.param)


@pytest.fixture(scope="session")
def new_rows():
    """Normal rows, far ones, and one so far that its square is no number of float32."""
    rng = np.random.default_rng(0)
    near = paper_mixture(3).sample(1000, random_state=1)
    return np.vstack([near, rng.normal(5.0, 30.0, size=(100, 3)), np.full((1, 3), 1e30)])
