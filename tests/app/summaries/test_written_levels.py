import numpy as np
import pytest

from mvset.app.summaries.scan import written_levels


def test_no_dust_of_rounding():
    assert written_levels([0.0, 0.05 + 1e-12, 0.95 + 1e-12, 1.0], 400).tolist() == [0.0, 0.050001, 0.950001, 1.0]


@pytest.mark.parametrize("n_rows", [10, 400, 123_456, 10_000_000])
def test_written_levels_say_the_same_about_every_set(n_rows):
    rng = np.random.default_rng(0)
    ranks = np.append(rng.integers(0, n_rows + 1, size=1000), [0, 1, n_rows - 1, n_rows])
    levels = np.minimum(ranks / (n_rows + 1) + 1e-12, 1.0)
    written = written_levels(levels, n_rows)
    for mass in [*np.linspace(0, 1, 101)[1:-1], 0.999, 0.95, 0.123456]:
        np.testing.assert_array_equal(written <= round(mass, 6), levels <= round(mass, 6))
    assert np.all((written - levels >= 0) & (written - levels <= 0.1 / n_rows))
    assert len(np.unique(written)) == len(np.unique(levels))  # ranks stay apart
    assert max(len(str(level)) for level in written) <= 2 + max(6, len(str(n_rows)) + 2)
