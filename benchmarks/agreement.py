"""Agreement with scikit-learn, at the size of the paper: areas of every bandwidth, and the objective of every solve.

Then the spread over seeds of what the paper reports for two moons. Takes about three minutes.

    python benchmarks/agreement.py
"""

import sys
import warnings
from pathlib import Path
from unittest import mock

import numpy as np
from joblib import Parallel, delayed
from sklearn.svm import OneClassSVM

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
import reference
from mvset import MinimumVolumeSet
from mvset.bandwidth.curves import mass_grid
from mvset.calibration.splits import random_splits
from mvset.paper import CalibratedOneClassSVM
from mvset.paper.datasets import boston, paper_mixture, two_moons
from mvset.svm.dual import Solver, solve_dual
from mvset.svm.gram import gaussian_gram
from mvset.volume.box import draw_box_sample
from text_table import print_head, print_row

TABLES = {
    "two moons": (two_moons(2000, random_state=0), np.linspace(0.01, 0.5, 30), 5),
    "Boston": (boston(), np.linspace(0.01, 4, 30), 25),
    **{
        f"mixture {d}": (paper_mixture(d).sample(500, random_state=0), np.geomspace(0.03, 10, 20), 10)
        for d in (2, 4, 8)
    },
}


def areas(X, sigmas, n_splits):
    """Largest difference of the areas of the bandwidths, relative to those of the loop in scikit-learn."""
    rng = np.random.RandomState(0)
    splits, sample = random_splits(len(X), n_splits, 0.2, rng), draw_box_sample(X, 10_000, rng)
    masses, volume = mass_grid(0.95), np.exp(sample.log_weights).sum()
    theirs = Parallel(n_jobs=-1)(
        delayed(reference.fit)(X, splits, sigma, masses, sample.points, volume) for sigma in sigmas
    )
    with mock.patch("mvset.paper.calibrated_one_class_svm._BOX_COLUMNS", X.shape[1]):  # the same points in all columns
        model = CalibratedOneClassSVM(sigmas=sigmas, n_splits=n_splits, n_jobs=-1, random_state=0).fit(X)
    difference = [abs(curve.area / area - 1) for curve, (_, area) in zip(model.curves_, theirs, strict=True)]
    return f"{100 * max(difference):.4f} %"


def excess(X, sigma, nu):
    """Objective over LIBSVM's, less one, from a cold and from a warm start."""
    train = random_splits(len(X), 1, 0.2, np.random.RandomState(0))[0].train
    gram = reference.kernel(X[train], X[train], sigma)
    svm = OneClassSVM(nu=nu, gamma=0.5 / sigma**2).fit(X[train])
    theirs = np.zeros(len(train))
    theirs[svm.support_] = svm.dual_coef_[0]
    solver = Solver(nu, 1e-3)
    wider = solve_dual(gaussian_gram(X, 1.3 * sigma), train, solver)
    ours = [solve_dual(gaussian_gram(X, sigma), train, solver, start).alpha[train] for start in (None, wider)]
    return [alpha @ gram @ alpha / (theirs @ gram @ theirs) - 1 for alpha in ours]


def moons(data_seed, seed):
    X = two_moons(2000, random_state=data_seed)
    model = MinimumVolumeSet(sigma=np.linspace(0.01, 0.5, 30), splits=25, random_state=seed, n_jobs=-1).fit(X)
    least = min((c for c in model.curves_ if c.training_mass <= c.masses[0]), key=lambda curve: curve.area)
    return model.sigma_, least.sigma, np.mean(model.predict(X) == 1)


def main() -> None:
    warnings.simplefilter("ignore")
    print_head("table", "bandwidths", "largest difference of areas", "objective over LIBSVM's, at most")
    settings = [(sigma, nu) for sigma in np.geomspace(0.01, 10, 13) for nu in (0.01, 0.05, 0.2, 0.4, 0.8)]
    for name, (X, sigmas, n_splits) in TABLES.items():
        worst = np.max([excess(X, sigma, nu) for sigma, nu in settings])
        print_row(name, len(sigmas), areas(X, sigmas, n_splits), f"{worst:+.1e}")
    runs = np.array([moons(data_seed, seed) for data_seed in range(6) for seed in range(3)])
    print_head("two moons, 18 fits", "least", "greatest")
    for name, values in zip(("σ chosen", "σ of the least area", "mass of the training rows"), runs.T, strict=True):
        print_row(name, f"{values.min():.2f}", f"{values.max():.2f}")


if __name__ == "__main__":
    main()
