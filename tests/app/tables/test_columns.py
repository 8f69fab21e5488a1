import warnings

import numpy as np
import pytest

from mvset.app.tables.columns import check_columns
from mvset.app.tables.errors import TableError
from mvset.exceptions import MvsetWarning

ROWS = np.random.default_rng(0).normal(size=(200, 3))
NAMES = ["flow", "id", "pressure"]


def check(rows, names):
    check_columns(rows, names, rows.min(axis=0), rows.max(axis=0))


def changed(column, values):
    rows = ROWS.copy()
    rows[:, column] = values
    return rows


def test_ordinary_columns_raise_no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check(ROWS, NAMES)
        check(np.exp(ROWS), NAMES)
        check(ROWS[:20].cumsum(axis=0) + np.arange(20)[:, np.newaxis], NAMES)  # too few rows to call them increasing


def test_an_increasing_column_is_named():
    match = r"Column 'id' is increasing from row to row.* All new rows will lie outside .* To exclude: --exclude id\."
    with pytest.warns(MvsetWarning, match=match):
        check(changed(1, np.arange(200)), NAMES)


def test_a_column_dominated_by_outliers_is_named():
    rows = ROWS.copy()
    rows[:2, 2] = 1e6
    with pytest.warns(
        MvsetWarning, match=r"Column 'pressure' is dominated by a few extreme values.* --exclude pressure\."
    ):
        check(rows, NAMES)


def test_constant_columns_are_named():
    with pytest.warns(MvsetWarning, match=r"Column 'flow' is constant in the training rows\. .* --exclude flow\."):
        check(changed(0, 3.0), NAMES)
    rows = changed(0, 3.0)
    rows[:, 2] = 1.0
    with pytest.warns(MvsetWarning, match=r"Columns 'flow', 'pressure' are constant .* --exclude flow,pressure\."):
        check(rows, NAMES)


def test_identical_rows_are_refused():
    with pytest.raises(TableError, match=r"All rows are identical: .* in 'flow', 'id', 'pressure'\."):
        check(np.ones((5, 3)), NAMES)


@pytest.mark.parametrize("scale", [1e200, 1e-200])
def test_values_that_cannot_be_squared_are_refused(scale):
    with pytest.raises(
        TableError, match=r"'id': values too large or too small .* Rescale, or exclude with --exclude id\."
    ):
        check(changed(1, scale * ROWS[:, 1]), NAMES)
