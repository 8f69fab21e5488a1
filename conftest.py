"""For tests and doctests alike: figures are drawn without a screen, and closed."""

import matplotlib
import matplotlib.pyplot as plt
import pytest

matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def no_figures_left():
    """Close what a test has drawn."""
    yield
    plt.close("all")
