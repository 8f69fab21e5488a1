import sys

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.figure import Figure

from mvset.plotting import BandwidthDisplay, LevelHistogramDisplay, LevelSetDisplay, MassVolumeDisplay
from mvset.plotting.axes import axes_to_draw_on, is_wide, percent, tidy
from mvset.plotting.numbers import BandwidthComparison, Slice

PLANE = Slice(("a", "b"), np.arange(2.0), np.arange(2.0), np.arange(4.0).reshape(2, 2), np.empty((0, 2)))
COMPARED = BandwidthComparison(*np.array([[0.1, 0.2], [1.0, 2.0], [0.1, 0.1]]), np.ones(2, bool), None)
DISPLAYS = {
    "mass_volume": MassVolumeDisplay([0.8, 0.9], [1.0, 2.0]).plot,
    "bandwidth": BandwidthDisplay(COMPARED).plot,
    "level_sets": LevelSetDisplay(slices=[PLANE], masses=np.array([0.9]), offsets=np.array([1.5])).plot,
    "level_histogram": LevelHistogramDisplay([0.2, 0.4, 0.9]).plot,
}


@pytest.mark.parametrize("draw", DISPLAYS.values(), ids=DISPLAYS)
def test_without_matplotlib_one_sentence_says_what_to_install(draw, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"^Plots need one more package: pip install 'mvset\[plot\]'$"):
        draw(None)


@pytest.mark.parametrize("draw", DISPLAYS.values(), ids=DISPLAYS)
def test_draws_on_the_axes_given_or_on_its_own(draw):
    ax = Figure().subplots()
    display = draw(ax)
    assert display.ax_ is ax
    assert display.figure_ is ax.figure
    assert not plt.get_fignums()
    again = display.plot()
    assert again is display
    assert display.ax_ is not ax
    assert plt.get_fignums() == [display.figure_.number]


@pytest.mark.parametrize("draw", DISPLAYS.values(), ids=DISPLAYS)
def test_upper_and_right_spines_are_hidden(draw):
    spines = draw(None).ax_.spines
    assert not spines["top"].get_visible()
    assert not spines["right"].get_visible()


def test_one_axes_per_panel():
    assert len(axes_to_draw_on(None, 3)) == 3
    given = Figure().subplots(1, 2)
    assert axes_to_draw_on(given, 2) == given.tolist()
    with pytest.raises(ValueError, match="ax must have 3 axes, one for each panel; got 2"):
        axes_to_draw_on(given, 3)


def test_without_a_title_the_old_one_is_kept():
    ax = Figure().subplots()
    ax.set_title("mine", loc="left")
    tidy(ax, xlabel="x", ylabel="y")
    assert ax.get_title(loc="left") == "mine"


def test_the_range_ignores_zero_and_infinity():
    assert is_wide(np.array([1.0, 100.0]))
    assert not is_wide(np.array([0.0, 1.0, 10.0, np.inf]))
    assert not is_wide(np.array([np.inf]))


@pytest.mark.parametrize(("share", "text"), [(0.95, "95 %"), (0.29, "29 %"), (0.999, "99.9 %"), (1 - 0.95, "5 %")])
def test_percent(share, text):
    assert percent(share) == text
