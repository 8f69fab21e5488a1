"""scikit-learn's own tests of its one-class SVM, run with ours in its place.

They are imported from the installed scikit-learn: every test of ``sklearn.svm.tests.test_svm`` that names OneClassSVM,
with the parameters that scikit-learn gives it.
"""

import inspect
from itertools import product

import pytest
import sklearn
from sklearn.base import BaseEstimator

from mvset import OneClassSVM


def with_gaussian_kernel(kernel):
    """Ours, for tests that ask for the linear kernel although what they assert holds for any."""
    assert kernel == "linear"
    return OneClassSVM(kernel="rbf")


# Every test that is run, and what replaces scikit-learn's class in its parameters.
REPLACEMENTS = {
    "test_oneclass": OneClassSVM,
    "test_oneclass_decision_function": OneClassSVM,
    "test_oneclass_score_samples": OneClassSVM,
    "test_n_support": OneClassSVM,
    "test_negative_sample_weights_mask_all_samples": with_gaussian_kernel,
    "test_n_iter_libsvm": with_gaussian_kernel,
}
NOT_RUN = {"test_immutable_coef_property": "about coef_, which exists for the linear kernel only"}


@pytest.fixture(scope="module")
def theirs(request):
    """Their test module."""
    request.config.addinivalue_line("markers", "thread_unsafe: a marker of scikit-learn's, unknown to ours")
    return pytest.importorskip(
        "sklearn.svm.tests.test_svm", reason="This scikit-learn is installed without its tests of sklearn.svm."
    )


def parameters(test, theirs, ours):
    """The arguments of each run of `test` for scikit-learn's class, with ours in its place."""
    tables = []
    for mark in getattr(test, "pytestmark", []):
        if mark.name == "parametrize":
            names, rows = mark.args
            names = [name.strip() for name in names.split(",")]
            tables.append([dict(zip(names, row if len(names) > 1 else [row], strict=True)) for row in rows])
    for rows in product(*tables):
        arguments = {name: value for row in rows for name, value in row.items()}
        classes = [
            value for value in arguments.values() if isinstance(value, type) and issubclass(value, BaseEstimator)
        ]
        if all(value is theirs for value in classes):
            if "global_random_seed" in inspect.signature(test).parameters:
                arguments["global_random_seed"] = 42  # the default of scikit-learn's fixture
            yield {name: ours if value is theirs else value for name, value in arguments.items()}


@pytest.mark.parametrize("name", REPLACEMENTS)
def test_passes_with_ours(name, theirs, monkeypatch):
    test = getattr(theirs, name, None)
    if test is None:
        pytest.skip(f"scikit-learn {sklearn.__version__} no longer has a test of this name.")
    runs = list(parameters(test, theirs.OneClassSVM, REPLACEMENTS[name]))
    assert runs
    monkeypatch.setattr(theirs.svm, "OneClassSVM", OneClassSVM)
    for arguments in runs:
        test(**arguments)


def test_every_test_of_theirs_is_listed(theirs):
    named = {
        name
        for name, value in vars(theirs).items()
        if name.startswith("test_") and "OneClassSVM" in inspect.getsource(value)
    }
    assert named, "scikit-learn keeps its tests of OneClassSVM elsewhere now."
    assert named <= {*REPLACEMENTS, *NOT_RUN}
