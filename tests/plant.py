"""A simulated plant: minutes of sensor readings with modes, products and gaps, and a fault from a known minute on."""

from datetime import datetime, timedelta

import numpy as np
import pandas as pd
from scipy.signal import lfilter

START = datetime(2026, 3, 1)
MODES = ("idle", "heating", "running")
PRODUCTS = ("A12", "B07", "C33")


def minutes(n: int, seed: int, *, start: datetime = START, fault_at: int | None = None) -> pd.DataFrame:
    """Readings of `n` minutes; from `fault_at` on, vibration rises where the plant is running.

    Flow, pressure and temperature depend on the mode and follow each other. All are autocorrelated. The dosing sensor
    has no value while the plant is idle; other sensors fail now and then.
    """
    rng = np.random.default_rng(seed)
    mode = np.repeat(rng.choice(3, n // 20 + 1, p=[0.2, 0.2, 0.6]), 20)[:n]
    if fault_at is not None:
        mode[fault_at : fault_at + 20] = 2  # it shows from its first minute on
    product = np.repeat(rng.choice(3, n // 60 + 1), 60)[:n]

    def noise(scale: float, memory: float) -> np.ndarray:
        return scale * lfilter([np.sqrt(1 - memory**2)], [1, -memory], rng.normal(size=n + 200))[200:]

    demand = noise(1.0, 0.9)
    flow = np.array([0.0, 20.0, 50.0])[mode] + 3.0 * demand * (mode > 0) + noise(0.5, 0.5)
    pressure = 1.0 + 0.04 * flow + noise(0.1, 0.7)
    temperature = np.array([25.0, 60.0, 80.0])[mode] + 2.0 * product + noise(1.0, 0.8)
    vibration = np.exp(0.3 * noise(1.0, 0.6)) + 0.5 * (mode == 2)
    if fault_at is not None:
        vibration += np.where((np.arange(n) >= fault_at) & (mode == 2), 3.0, 0.0)
    table = pd.DataFrame(
        {
            "time": [(start + timedelta(minutes=i)).strftime("%Y-%m-%d %H:%M") for i in range(n)],
            "mode": np.array(MODES)[mode],
            "product": np.array(PRODUCTS)[product],
            "flow": flow.round(2),
            "pressure": pressure.round(3),
            "temperature": temperature.round(1),
            "vibration": vibration.round(3),
            "dosing": np.where(mode == 0, np.nan, 5.0 + 0.5 * demand + noise(0.3, 0.5)).round(3),
        }
    )
    for name in ("pressure", "temperature"):
        table.loc[rng.uniform(size=n) < 0.02, name] = np.nan
    return table
