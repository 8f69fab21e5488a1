from __future__ import annotations

import warnings

import numpy as np
import pytest

from mvset.tables.columns import check_columns
from mvset.tables.errors import TableError

ROWS = np.random.default_rng(0).normal(size=(200, 3))
NAMES = ["flow", "id", "pressure"]


def changed(column, values):
    rows = ROWS.copy()
    rows[:, column] = values
    return rows


def test_plain_columns_are_not_spoken_of():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_columns(ROWS, NAMES)
        check_columns(np.exp(ROWS), NAMES)
        check_columns(ROWS[:20].cumsum(axis=0) + np.arange(20)[:, np.newaxis], NAMES)  # too few to say that they ascend


def test_a_column_that_counts_is_named():
    with pytest.warns(UserWarning, match=r"'id': only count upwards: new rows .* To leave out: --exclude id\."):
        check_columns(changed(1, np.arange(200)), NAMES)


def test_values_that_set_the_scale_alone_are_named():
    rows = ROWS.copy()
    rows[:2, 2] = 1e6
    with pytest.warns(UserWarning, match=r"'pressure': have a few values so far out .* --exclude pressure\."):
        check_columns(rows, NAMES)


def test_columns_that_never_change_are_named():
    with pytest.warns(UserWarning, match=r"'flow': never change here, .* --exclude flow\."):
        check_columns(changed(0, 3.0), NAMES)


def test_equal_rows_are_refused():
    with pytest.raises(TableError, match=r"All rows are equal: 'flow', 'id', 'pressure' never change"):
        check_columns(np.ones((5, 3)), NAMES)


@pytest.mark.parametrize("scale", [1e200, 1e-200])
def test_what_cannot_be_squared_is_refused(scale):
    with pytest.raises(TableError, match=r"'id': too large or too small to compute with\. Rescale, or --exclude id\."):
        check_columns(changed(1, scale * ROWS[:, 1]), NAMES)
