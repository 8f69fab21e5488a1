"""From raw files to a verdict on a simulated plant: false alarms, onset of a fault, and the column that explains it.

Minutes of sensor readings with modes, products, gaps and autocorrelation (tests/plant.py). The fit is to a week, the
calm table and the faulty one are a day each; the fault begins at minute 900. All through the command line. Six minutes.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from datetime import timedelta
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
import plant
from text_table import print_head, print_row

MVSET = str(Path(sys.executable).parent / "mvset")
N_TRAIN, N_DAY, FAULT = 10_080, 1440, 900


def run(*arguments):
    """What a command prints with --json."""
    done = subprocess.run([MVSET, *arguments, "--json"], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def one(seed, folder):
    """Share of false alarms, whether drift was seen in a calm day, and onset and first column of a faulty one."""
    later = plant.START + timedelta(minutes=N_TRAIN)
    plant.minutes(N_TRAIN, seed).to_csv(folder / "week.csv", index=False)
    plant.minutes(N_DAY, seed + 1000, start=later).to_csv(folder / "calm.csv", index=False)
    plant.minutes(N_DAY, seed + 2000, start=later, fault_at=FAULT).to_csv(folder / "faulty.csv", index=False)
    model = str(folder / "model.mvset")
    run("fit", str(folder / "week.csv"), "--time", "time", "--missing", "impute", "--out", model)
    calm = run("score", model, str(folder / "calm.csv"), "--time", "time")
    faulty = run("score", model, str(folder / "faulty.csv"), "--time", "time")
    return calm, faulty


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    arguments = parser.parse_args()
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(arguments.seeds):
            calm, faulty = one(seed, Path(folder))
            onset = faulty["onset"]
            covered = onset is not None and onset["low"]["row"] <= FAULT <= onset["high"]["row"]
            error = abs(onset["first"]["row"] - FAULT) if onset else np.nan
            width = onset["high"]["row"] - onset["low"]["row"] if onset else np.nan
            first = faulty["columns"][0]["name"] == "vibration"
            found.append((calm["share_outside"], calm["drifted"], faulty["drifted"], covered, error, width, first))
    calm, false_drift, drift, covered, error, width, first = np.array(found, float).T
    print_head(f"{arguments.seeds} plants", "found")
    outside = f"{100 * calm.mean():.2f} %, standard deviation over days {100 * calm.std(ddof=1):.2f} %"
    print_row("minutes outside on a calm day, asked for 5 %", outside)
    print_row("drift found on a calm day", f"{100 * false_drift.mean():.0f} %")
    print_row("drift found on a faulty day", f"{100 * drift.mean():.0f} %")
    print_row("minute of the fault in the interval of the onset", f"{100 * covered.mean():.0f} %")
    print_row("median error of the onset", f"{np.nanmedian(error):.0f} minutes")
    print_row("median width of the interval", f"{np.nanmedian(width):.0f} minutes")
    print_row("vibration explains most rows outside", f"{100 * first.mean():.0f} %")


if __name__ == "__main__":
    main()
