from dataclasses import dataclass

import numpy as np
import pytest

from mvset import MinimumVolumeSet

RNG = np.random.default_rng(0)
X = np.column_stack([RNG.normal(size=(300, 2)), RNG.integers(3, size=300)])


@dataclass
class Batches:
    """A stream of rows; the last column has three values."""

    names = ("a", "b", "site")

    def batches(self):
        return iter(np.array_split(X, 7))


@pytest.mark.parametrize("max_train_samples", ["auto", 20], ids=["all rows are read", "rows are sampled"])
@pytest.mark.parametrize("named", [[2], ["site"], np.array([0, 2])], ids=str)
def test_columns_of_a_stream_cannot_be_named_as_categories(named, max_train_samples):
    """They would be taken for numbers."""
    model = MinimumVolumeSet(sigma=1.0, splits=2, categorical_features=named, max_train_samples=max_train_samples)
    expected = r"categorical_features names columns, but rows of a stream .* are taken as numbers\. Fit to a data frame"
    with pytest.raises(ValueError, match=expected):
        model.fit(Batches())


@pytest.mark.parametrize("named", [None, "from_dtype"])
def test_a_stream_without_named_categories_is_fitted_as_an_array(named):
    settings = {"sigma": 1.0, "splits": 2, "categorical_features": named, "n_volume_points": 500, "random_state": 0}
    model, same = (MinimumVolumeSet(**settings).fit(rows) for rows in (Batches(), X))
    assert model.sets_ == same.sets_
    assert list(model.feature_names_in_) == ["a", "b", "site"]
