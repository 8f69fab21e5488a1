"""Simulated tables for ``mvset demo``: a healthy pump, and the same pump on a day when a bearing wears out."""

import csv
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np

from mvset.files.atomic import atomic_write
from mvset.values import Array

COLUMNS = ("flow", "pressure", "temperature", "vibration")
_BETWEEN_LOADS = 33.0  # flow
_BEGIN = datetime(2026, 3, 1)


def pump_readings(n_rows: int, *, worn_from: int | None = None, seed: int) -> Array:
    """Simulate a pump at half or full load; from row `worn_from` on, a worn bearing adds heat and vibration."""
    rng = np.random.default_rng(seed)
    full = rng.uniform(size=n_rows) < 0.6
    flow = np.where(full, 42.0, 24.0) + rng.normal(scale=1.6, size=n_rows)
    pressure = 6.4 - 0.035 * flow + rng.normal(scale=0.06, size=n_rows)
    temperature = 38.0 + 0.45 * flow + rng.gamma(2.0, 0.7, size=n_rows)
    vibration = 0.6 + 0.018 * flow + rng.gamma(3.0, 0.05, size=n_rows)
    if worn_from is not None:
        wear = np.clip((np.arange(n_rows) - worn_from) / 20.0, 0.0, 1.0)
        vibration += 0.9 * wear
        temperature += 5.0 * wear
    return np.column_stack([flow, pressure, temperature, vibration])


def write_table(path: Path, readings: Array, begin: datetime = _BEGIN) -> None:
    """Write readings to a CSV file, with a time stamp and the load of the pump."""
    with atomic_write(path) as aside, aside.open("w", newline="", encoding="utf-8") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(["time", "load", *COLUMNS])
        for i, row in enumerate(readings):
            time = begin + timedelta(minutes=10 * i)
            load = "full" if row[0] > _BETWEEN_LOADS else "half"
            writer.writerow([time.isoformat(), load, *(f"{value:.3f}" for value in row)])


def write_tables(folder: Path) -> tuple[Path, Path]:
    """Write a table of normal behaviour, and one of a later day that ends with a worn bearing."""
    folder.mkdir(parents=True, exist_ok=True)
    normal, today = folder / "normal.csv", folder / "today.csv"
    write_table(normal, pump_readings(1500, seed=0))
    write_table(today, pump_readings(400, worn_from=360, seed=1), _BEGIN + timedelta(days=30))
    return normal, today
