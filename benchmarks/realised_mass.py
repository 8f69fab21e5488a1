"""Mass on new rows of sets asked to hold 95 %: the mixture of the paper, n = 500, over 100 samples.

python benchmarks/realised_mass.py [n_splits]
"""

from __future__ import annotations

import sys

import numpy as np
from joblib import Parallel, delayed
from sklearn import svm
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from mvset import MinimumVolumeSet
from mvset.datasets import paper_mixture


def realised(seed, n_splits):
    mixture = paper_mixture()
    X, fresh = mixture.sample(500, random_state=seed), mixture.sample(100_000, random_state=10_000 + seed)
    model = MinimumVolumeSet(mass=0.95, splits=n_splits, random_state=seed).fit(X)
    scales = FunctionTransformer(lambda rows: rows / model.column_scales_)  # the bandwidth is that of scaled columns
    plain = make_pipeline(scales, svm.OneClassSVM(nu=0.05, gamma=0.5 / model.sigma_**2)).fit(X)
    scaled = svm.OneClassSVM(nu=0.05, gamma="scale").fit(X)
    return [np.mean(detector.predict(fresh) == 1) for detector in (model, plain, scaled)] + [model.sigma_]


def main() -> None:
    n_splits = int(sys.argv[1]) if len(sys.argv) > 1 else "auto"
    masses = np.array(Parallel(n_jobs=-1)(delayed(realised)(seed, n_splits) for seed in range(100)))
    names = (
        f"MinimumVolumeSet, splits={n_splits}",
        "sklearn OneClassSVM nu=0.05, same sigma",
        "sklearn OneClassSVM nu=0.05, gamma='scale'",
    )
    for name, column in zip(names, masses.T[:3], strict=True):
        print(f"{name:<45} mean {column.mean():.4f}, standard deviation {column.std(ddof=1):.4f}")
    print(f"sigma: median {np.median(masses[:, 3]):.3f}, range {masses[:, 3].min():.3f} to {masses[:, 3].max():.3f}")


if __name__ == "__main__":
    main()
