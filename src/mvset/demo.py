"""The data sets of the paper, fitted and drawn: ``python -m mvset.demo --out DIR``."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mvset import palette
from mvset.datasets import boston, two_moons
from mvset.estimator import MinimumVolumeSet

MASSES = (0.7, 0.8, 0.9, 0.95, 0.99)


def draw_nested_sets(axes: Any, model: MinimumVolumeSet, X: NDArray[np.float64], labels: tuple[str, str]) -> None:
    """Nested sets as shades, the border of the fitted mass as a line, and the rows, those outside marked."""
    low, high = X.min(axis=0), X.max(axis=0)
    margin = 0.12 * (high - low)
    x, y = (np.linspace(a, b, 300) for a, b in zip(low - margin, high + margin, strict=True))
    grid = np.stack(np.meshgrid(x, y), axis=-1)
    scores = model.score_samples(grid.reshape(-1, 2)).reshape(grid.shape[:2])
    offsets = [model.offset(mass) for mass in reversed(MASSES)]
    axes.contourf(x, y, scores, levels=[*offsets, scores.max() + 1.0], colors=palette.SHADES[::-1])
    axes.contour(x, y, scores, levels=[model.offset_], colors=palette.HIGHLIGHT, linewidths=1.6)
    inside = model.predict(X) == 1
    axes.scatter(*X[inside].T, s=4, color=palette.INK, alpha=0.35, linewidths=0)
    axes.scatter(*X[~inside].T, s=14, color=palette.HIGHLIGHT, marker="x", linewidths=0.9)
    axes.set(xlabel=labels[0], ylabel=labels[1])
    handles = [axes.plot([], [], color=shade, lw=8)[0] for shade in palette.SHADES]
    names = [f"{100 * mass:.0f} %" for mass in MASSES]
    axes.legend(handles, names, title="mass", frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    axes.set_title(
        f"Sets of smallest volume; {int((~inside).sum())} of {len(X)} rows outside {model.mass:.0%}", loc="left"
    )


def draw_volumes(axes: Any, model: MinimumVolumeSet) -> None:
    """Mean volume of the nested sets against the bandwidth, with its standard error and the choice."""
    sigmas = np.array([curve.sigma for curve in model.curves_])
    volumes = np.exp([curve.mean_log_volume for curve in model.curves_])
    errors = volumes * [curve.area_error / curve.area for curve in model.curves_]
    best = int(np.flatnonzero(sigmas == model.sigma_)[0])
    axes.fill_between(sigmas, volumes - errors, volumes + errors, color=palette.SHADES[3], linewidth=0)
    axes.plot(sigmas, volumes, color=palette.SHADES[1], marker="o", markersize=3.5)
    axes.plot(sigmas[best], volumes[best], color=palette.HIGHLIGHT, marker="o", markersize=8)
    axes.annotate(
        f"σ = {model.sigma_:.3g}",
        (sigmas[best], volumes[best]),
        textcoords="offset points",
        xytext=(0, -20),
        ha="center",
        color=palette.HIGHLIGHT,
        fontweight="bold",
    )
    axes.set(xlabel="bandwidth σ", ylabel="geometric mean volume of the nested sets", xscale="log")
    axes.set_ylim(0.95 * volumes.min(), min(volumes.max(), 1.6 * volumes.min()))
    axes.xaxis.set_major_formatter("{x:g}")
    axes.set_title("The widest σ of the smallest sets is chosen", loc="left")


def draw(model: MinimumVolumeSet, X: NDArray[np.float64], title: str, labels: tuple[str, str], path: Path) -> None:
    """One figure: nested sets on the left, choice of the bandwidth on the right."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 4.8), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(3, 2))
    draw_nested_sets(left, model, X, labels)
    draw_volumes(right, model)
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
    figure.suptitle(title, fontsize=14, fontweight="bold", x=0.01, ha="left")
    figure.savefig(path, dpi=150)


def run(out: Path) -> None:
    """Fit, print the table and write the pictures."""
    out.mkdir(parents=True, exist_ok=True)
    print("Loading the compiled kernels; the first time this takes some ten seconds.", file=sys.stderr)
    MinimumVolumeSet(sigma=0.5, n_splits=2).fit(two_moons(200, random_state=0))
    jobs = {
        "two moons": (two_moons(2000, random_state=0), ("x", "y"), two_moons(50_000, random_state=1)),
        "Boston": (boston(), ("rooms per dwelling, standardised", "% lower status, standardised"), None),
    }
    print(f"{'data':<10} {'rows':>5} {'sigma':>7} {'mass':>6} {'on rows':>8} {'on new':>7}  {'volume':<16} {'time':>7}")
    for name, (X, labels, fresh) in jobs.items():
        began = time.perf_counter()
        model = MinimumVolumeSet(mass=0.95, n_splits=25, n_jobs=-1, random_state=0).fit(X)
        spent = time.perf_counter() - began
        for mass in (0.9, 0.95):
            on_rows = np.mean(model.predict(X, mass=mass) == 1)
            on_new = "" if fresh is None else f"{np.mean(model.predict(fresh, mass=mass) == 1):.3f}"
            print(
                f"{name:<10} {len(X):5d} {model.sigma_:7.3f} {mass:6.2f} {on_rows:8.3f} {on_new:>7}"
                f"  {model.volume(mass)!s:<16} {spent:5.2f} s"
            )
        path = out / f"{name.replace(' ', '_').lower()}.png"
        draw(model, X, f"{name.capitalize()}: {len(X)} rows", labels, path)
        print(f"{'':<10} {path}")


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(prog="python -m mvset.demo", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("demo-output"), help="folder for the pictures")
    arguments = parser.parse_args()
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        print("The demo draws pictures: pip install 'mvset[plot]'", file=sys.stderr)
        return 1
    run(arguments.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
