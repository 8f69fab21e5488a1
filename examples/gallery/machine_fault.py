"""A machine fault, minute by minute.

Readings of a machine in time order: neighbouring minutes are alike, so the fit uses `time_order=True`. On the day below
vibration rises slowly from minute 700 on. The share of minutes outside stays near 5 % before, and climbs afterwards.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.signal import lfilter

from mvset import MinimumVolumeSet


def readings(n, seed):
    """Load, temperature and vibration of `n` minutes; temperature and vibration follow the load."""
    noise = np.random.default_rng(seed).normal(size=(n + 100, 3))
    load, heat, shake = lfilter([0.6], [1, -0.8], noise, axis=0)[100:].T
    return np.column_stack([50 + 8 * load, 60 + 4 * load + 2 * heat, 2 + 0.1 * load + 0.2 * shake])


model = MinimumVolumeSet(mass=0.95, time_order=True, random_state=0).fit(readings(3000, seed=0))
day = readings(1200, seed=1)
day[700:, 2] += np.linspace(0, 1.2, 500)
outside = model.predict(day) == -1
share = np.convolve(outside, np.ones(60) / 60, mode="valid")

figure, (top, bottom) = plt.subplots(2, 1, figsize=(7, 4.4), sharex=True, layout="constrained")
minutes = np.arange(len(day))
top.scatter(minutes[~outside], day[~outside, 2], s=3, color="#6b7580", linewidths=0)
top.scatter(minutes[outside], day[outside, 2], s=10, color="#d94801", linewidths=0)
top.set_ylabel("vibration, mm/s")
bottom.plot(minutes[59:], share, color="#d94801")
bottom.axhline(0.05, color="#2171b5", linewidth=1, linestyle="--")
bottom.text(470, 0.09, "5 % expected", color="#2171b5")
bottom.set(xlabel="minute", ylabel="outside, last hour", ylim=(0, 1))
bottom.yaxis.set_major_formatter("{x:.0%}")
for ax in (top, bottom):
    ax.axvline(700, color="#9a9a9a", linewidth=1)
    ax.spines[["top", "right"]].set_visible(False)
top.text(706, top.get_ylim()[1], "fault begins", color="#6b7580", va="top")
