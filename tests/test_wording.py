import pytest

from mvset.calibration.splits import warn_if_unresolved
from mvset.exceptions import CalibrationWarning
from mvset.wording import are, columns_named, counted


@pytest.mark.parametrize(
    ("number", "text"),
    [(0, "0 rows"), (1, "1 row"), (0.9, "1 row"), (1.2, "1 row"), (2, "2 rows"), (1500, "1500 rows")],
)
def test_one_and_many(number, text):
    assert counted(number, "row") == text


def test_verbs_and_columns():
    assert (are(1), are(2)) == ("is", "are")
    assert columns_named(["a"]) == "Column a"
    assert columns_named(["a", 3]) == "Columns a, 3"


def test_a_warning_about_one_row_and_about_many():
    with pytest.warns(CalibrationWarning, match=r"^1 held-out row cannot .* At least 9 are needed"):
        warn_if_unresolved(0.9, 1)
    with pytest.warns(CalibrationWarning, match="^2 held-out rows cannot "):
        warn_if_unresolved(0.9, 2)


def test_one_label_and_many_that_are_missing():
    from mvset.rows.validation import checked_labels

    with pytest.raises(ValueError, match=r"^strata has no label for 1 row, row 1\. "):
        checked_labels(["a", None], 2, "strata")
    with pytest.raises(ValueError, match=r"^strata has no label for 2 rows, the first of them row 1\. "):
        checked_labels(["a", None, None], 3, "strata")
