"""Volumes of known sets: errors, coverage of the error bars, what Sobol points buy, and two hard kernel sets.

python benchmarks/volume_estimators.py
"""

import sys
import warnings
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from mvset import MinimumVolumeSet
from mvset.paper.datasets import two_moons
from mvset.volume.box import draw_box_sample
from mvset.volume.importance import ImportanceSampler
from mvset.volume.measure import measure
from mvset.volume.sampler import SUFFICIENT, VolumeSampler
from shapes import Ball, closed_form
from text_table import print_head, print_row

SHAPES = ("ball", "box", "box of a Gaussian", "ellipsoid", "needle", "two components")
N_POINTS = 20_000


def one_volume(name, d, seed):
    X, body = closed_form(name, d, seed)
    sample = ImportanceSampler(X, np.random.RandomState(seed)).draw(N_POINTS, body.contains)
    volume = measure(sample, body.contains(sample.points)[:, np.newaxis]).estimate(0)
    error = volume.log_value - body.log_volume
    covered = abs(1.0 - np.exp(-error)) <= 1.96 * volume.standard_error / volume.value
    return error, covered, volume.effective_sample_size


def closed_forms(run):
    print(f"Importance sampling, {N_POINTS} points, 500 rows: the largest error of the log volume over 20 seeds, and")
    print("in brackets the effective sample size in thousands; coverage over 60 seeds of each.")
    dimensions = (2, 4, 8, 20, 30, 50)
    print_head("", *(f"d = {d}" for d in dimensions))
    coverage = {d: [] for d in dimensions}
    for name in SHAPES:
        cells = []
        for d in dimensions:
            runs = np.array(run(delayed(one_volume)(name, d, seed) for seed in range(60)))
            error, covered, effective = runs.T
            coverage[d].append(covered.mean())
            cells.append(f"{np.abs(error[:20]).max():.3f} ({effective.mean() / 1000:.1f})")
        print_row(name, *cells)
    print_row("± 1.96 standard errors cover", *(f"{100 * np.mean(shares):.1f} %" for shares in coverage.values()))


def box_errors(d, seed):
    ball = Ball(np.zeros(d), 1.0)
    corners = np.vstack([-np.ones(d), np.ones(d)])
    sample = draw_box_sample(corners, N_POINTS, np.random.RandomState(seed))
    even = measure(sample, ball.contains(sample.points)[:, np.newaxis]).estimate(0)
    random = 2.0**d * ball.contains(np.random.RandomState(seed).uniform(-1, 1, size=sample.points.shape)).mean()
    truth = np.exp(ball.log_volume)
    return even.value / truth - 1, random / truth - 1, abs(even.value - truth) <= 1.96 * even.standard_error


def sobol(run):
    print("\nThe ball in its cube: root mean square error of the volume over 400 seeds")
    dimensions = (2, 3, 4, 6, 8)
    columns = []
    for d in dimensions:
        even, random, covered = np.array(run(delayed(box_errors)(d, seed) for seed in range(400))).T
        rms = [100 * np.sqrt(np.mean(e**2)) for e in (even, random)]
        ratio = rms[1] / rms[0]
        columns.append((f"{rms[0]:.3f} %", f"{rms[1]:.3f} %", f"{ratio:.1f}", f"{100 * covered.mean():.1f} %"))
    print_head("", *(f"d = {d}" for d in dimensions))
    names = ("Sobol", "random", "ratio", "± 1.96 standard errors cover")
    for name, cells in zip(names, zip(*columns, strict=True), strict=True):
        print_row(name, *cells)


def hard_rows(kind, d):
    rng = np.random.default_rng(0)
    rotation = np.linalg.qr(rng.normal(size=(d, d)))[0]
    if kind == "condition 10 000":
        return rng.normal(size=(500, d)) * np.geomspace(0.01, 1.0, d) @ rotation
    return np.hstack([two_moons(500, 0.05, random_state=0), 0.02 * rng.normal(size=(500, d - 2))]) @ rotation


def hard_volume(X, model, seed):
    def inside(points):
        return model.predict(points, mass=0.99) == 1

    sample = VolumeSampler("auto", X, 10_000, np.random.RandomState(seed)).draw(inside)
    volume = measure(sample, inside(sample.points)[:, np.newaxis]).estimate(0)
    return volume.value, volume.standard_error, volume.effective_sample_size


def hard_sets(run):
    print("\nKernel sets of hard rows, volume 'auto', 100 seeds: is the spread over draws what the error bars say?")
    print_head("rows", "d", "spread", "reported", "covered by ± 1.96", "effective size", "warnings")
    for kind in ("condition 10 000", "folded moons"):
        for d in (6, 10, 20):
            X = hard_rows(kind, d)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model = MinimumVolumeSet(random_state=0).fit(X)
            value, error, size = np.array(run(delayed(hard_volume)(X, model, seed) for seed in range(100))).T
            best = np.average(value, weights=size)
            covered = np.abs(value - best) <= 1.96 * error
            print_row(
                kind, d, f"{100 * value.std(ddof=1) / best:.1f} %", f"{100 * np.sqrt(np.mean(error**2)) / best:.1f} %",
                f"{100 * covered.mean():.0f} %", f"{size.min():.0f} to {size.max():.0f}",
                f"{100 * np.mean(size < SUFFICIENT):.0f} %",
            )  # fmt: skip


def main() -> None:
    with Parallel(n_jobs=-1) as run:
        closed_forms(run)
        sobol(run)
        hard_sets(run)


if __name__ == "__main__":
    main()
