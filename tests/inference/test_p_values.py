from __future__ import annotations

import numpy as np

from mvset.inference.p_values import conformal_p_values, detect_outliers


def test_conformal_p_values():
    np.testing.assert_allclose(conformal_p_values([0, 4, 9], 9), [0.1, 0.5, 1.0])


def test_rows_are_flagged_by_the_procedure_of_benjamini_and_hochberg():
    found = detect_outliers(np.array([0.02, 0.9, 0.05, 0.5]), 0.1)  # at most 0.1 k / 4 for some k: 0.025, 0.05
    np.testing.assert_array_equal(found.flagged, [True, False, True, False])
    assert (found.threshold, found.fdr) == (0.05, 0.1)
    nothing = detect_outliers(np.array([0.03, 0.9, 0.06, 0.5]), 0.1)
    assert not nothing.flagged.any()
    assert nothing.threshold == 0.0
