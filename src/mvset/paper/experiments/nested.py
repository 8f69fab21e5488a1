"""Are the sets nested.

The paper: Independent OCSVMs at different ν need not give nested sets; ours are nested by construction.

The share is the volume of the part of the set of mass 0.90 that lies outside the set of mass 0.95, over the volume of
the set of mass 0.90. It is measured with 2¹⁶ quasi-random points, so shares below about 10⁻⁴ are not detected. *Each at
its best σ* uses, for each ν, the σ closest to the true set, as if both had been tuned perfectly. At the narrowest σ no
weight reaches its bound, and the two problems have the same solution up to a factor. The OCSVMs are solved to a
tolerance of 10⁻⁶; at LIBSVM's default of 10⁻³, much of the volume outside at narrow σ is solver error.
"""

import numpy as np

from mvset.paper.experiments import figures
from mvset.paper.experiments.methods import Set, differences, inside, one_class_svm, ours, true_mixture
from mvset.paper.experiments.summary import Finding, Row, Rows, column, distinct, interval, where
from mvset.plotting import palette
from mvset.values import Array
from mvset.volume.box import draw_box_sample
from mvset.volume.measure import measure

SIGMAS = np.geomspace(0.2, 4.0, 14)
MASSES = (0.9, 0.95)
N_ROWS, N_SPLITS = 1000, 10
N_POINTS = 2**16
TOL = 1e-6
TUNED = "ocsvm tuned"


def compute(task: Row) -> list[Row]:
    """Fit both methods to one sample, at every bandwidth."""
    seed, mixture = int(task["repetition"]), true_mixture()
    X = mixture.sample(N_ROWS, random_state=seed)
    around = np.vstack([X, mixture.sample(1000, random_state=seed + 1)])
    sample = draw_box_sample(around, N_POINTS, np.random.RandomState(seed))

    def row(method: str, sigma: float, smaller: Set, larger: Set) -> Row:
        small = smaller(sample.points)
        found = measure(sample, np.column_stack([small, small & ~larger(sample.points)]))
        return {"method": method, "sigma": float(sigma), "share_outside": float(found.values[1] / found.values[0])}

    svms = {mass: [inside(one_class_svm(X, sigma, mass, TOL)) for sigma in SIGMAS] for mass in MASSES}
    rows = []
    for sigma, *pair in zip(SIGMAS, *svms.values(), strict=True):
        model = ours(X, sigma, N_SPLITS, seed)
        rows += [row("ocsvm", sigma, *pair), row("ours", sigma, *(inside(model, mass=mass) for mass in MASSES))]
    best = {mass: int(np.argmin(differences(mixture, X, svms[mass], seed, mass), axis=0)[0]) for mass in MASSES}
    return [*rows, row(TUNED, SIGMAS[best[0.95]], *(svms[mass][best[mass]] for mass in MASSES))]


def _shares(rows: Rows, method: str) -> dict[float, Array]:
    """Return the shares outside in all repetitions, by bandwidth."""
    shown = where(rows, method=method)
    return {sigma: column(shown, "share_outside", sigma=sigma) for sigma in distinct(shown, "sigma")}


def findings(rows: Rows) -> list[Finding]:
    """How often the sets are not nested, and how much volume lies outside."""
    tuned, nested = (column(rows, "share_outside", method=method) for method in (TUNED, "ours"))
    same = {sigma: float(np.mean(shares > 0)) for sigma, shares in _shares(rows, "ocsvm").items()}
    most, often = max(same.values()), float(np.mean(tuned > 0))
    at = [sigma for sigma, share in same.items() if share == most]
    same_sigma = f"{most:.0%}, for σ from {at[0]:.2f} to {at[-1]:.2f}"
    best_sigma = f"{often:.0%}; {interval(tuned)}, at most {tuned.max():.3f}"
    stray, never = "share of samples that are not nested", f"{np.sum(nested > 0)} of {len(nested)}"
    return [
        Finding(f"OCSVM, the same σ for both ν: {stray}, at most", "possible", same_sigma, most > 0),
        Finding(f"OCSVM, each at its best σ: {stray}; volume outside", "possible", best_sigma, often > 0),
        Finding("ours, at every σ: samples that are not nested", "never", never, not nested.any()),
    ]


def numbers(rows: Rows) -> list[list[str]]:
    """Table by bandwidth: share of samples that are not nested, and mean volume outside."""
    header = ["σ", "OCSVM: samples not nested", "volume outside", "ours: samples not nested", "volume outside"]
    both = [_shares(rows, method) for method in ("ocsvm", "ours")]
    cells = {sigma: [(f"{np.mean(by[sigma] > 0):.0%}", f"{by[sigma].mean():.4f}") for by in both] for sigma in both[1]}
    return [header, *([f"{sigma:.2f}", *theirs, *nested] for sigma, (theirs, nested) in cells.items())]


def plot(rows: Rows) -> figures.Figure:
    """Draw an example that is not nested, and both shares against the bandwidth."""
    figure, (left, middle, right) = figures.new_figure(figures.WIDTH, 3.4, 3, width_ratios=(1.15, 1, 1))
    _example(left, rows)
    shares, tuned = _shares(rows, "ocsvm"), column(rows, "share_outside", method=TUNED)
    sigmas, colour = list(shares), palette.ONE_CLASS_SVM
    for axes, title, shown in (
        (middle, "Samples not nested", lambda some: np.asarray(some > 0, dtype=np.float64)),
        (right, "Volume outside / volume", lambda some: some),
    ):
        curve, mean = [interval(shown(some)) for some in shares.values()], float(np.mean(shown(tuned)))
        figures.curve(axes, sigmas, curve, colour, "--")
        axes.axhline(mean, color=colour, linewidth=1)
        figures.margin_label(axes, f"best σ\nof each:\n{mean:.2g}", mean, colour, 16)
        axes.axhline(0, color=palette.OURS, linewidth=3)
        figures.margin_label(axes, "ours: 0", 0.0, palette.OURS, -3)
        figures.bandwidth_axis(axes, sigmas)
        axes.set(ylim=(0, None), title=title)
    figures.label(right, "OCSVM,\nthe same σ", (sigmas[6], curve[6].mean), colour, (8, 8))
    return figure


def _example(axes: figures.Axes, rows: Rows) -> None:
    """Draw the first sample at the bandwidth with the largest volume outside."""
    sigma = float(max(where(rows, method="ocsvm", repetition=0), key=lambda row: row["share_outside"])["sigma"])
    X = true_mixture().sample(N_ROWS, random_state=0)
    extent = figures.extent_of(X, 0.04)
    smaller, larger = (one_class_svm(X, sigma, mass, TOL) for mass in MASSES)
    x, y, grid = figures.lattice(extent)
    stray = (inside(smaller)(grid) & ~inside(larger)(grid)).reshape(len(y), len(x))
    figures.points(axes, X)
    axes.contourf(x, y, stray, levels=[0.5, 1.5], colors=palette.TRUTH)
    colours = {"ν = 0.1": palette.ONE_CLASS_SVM_LIGHT, "ν = 0.05": palette.ONE_CLASS_SVM}
    for model, colour in zip((smaller, larger), colours.values(), strict=True):
        figures.border(axes, model.decision_function, 0.0, extent, colour, linewidths=1.6)
    figures.legend(axes, {**colours, "in the first only": palette.TRUTH}, (extent[0], extent[3]), (4, -8))
    figures.plane(axes, extent, f"Two OCSVMs, σ = {sigma:.2f}")
