"""A naive float64 oracle of every step, a few lines each, on scikit-learn's own solver."""

import math

import numpy as np
from scipy.spatial.distance import cdist
from scipy.special import logsumexp
from sklearn.metrics import auc
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import OneClassSVM


def kernel(X, Y, sigma):
    return rbf_kernel(X, Y, gamma=0.5 / sigma**2)


def expansion(X, centres, weights, sigma):
    return kernel(X, centres, sigma) @ weights


def log_expansion(X, centres, weights, sigma):
    """The logarithm of an expansion, which does not underflow."""
    exponents = -0.5 * cdist(X / sigma, centres / sigma, "sqeuclidean")
    return logsumexp(exponents, b=weights, axis=1)


def mean_shift(X, centres, weights, sigma):
    shares = weights * kernel(X, centres, sigma)
    return shares @ centres / shares.sum(axis=1, keepdims=True)


def precision(scaling, X, shrinkage=1e-6):
    """The matrix P of a scaling fitted to rows: its squared distances are (x - y)ᵀ P (x - y)."""
    low, high = np.percentile(X, [25, 75], axis=0)
    X = np.clip(X, low - 10 * (high - low), high + 10 * (high - low))
    scales = X.std(axis=0)
    correlation = np.eye(len(scales))
    if scaling == "whiten":
        correlation = (1 - shrinkage) * np.corrcoef(X, rowvar=False) + shrinkage * correlation
    return np.linalg.inv(correlation) / np.outer(scales, scales)


def scaled_kernel(X, Y, sigma, precision):
    return np.exp(-0.5 * cdist(X, Y, "mahalanobis", VI=precision) ** 2 / sigma**2)


def scaled_expansion(X, centres, weights, sigma, precisions):
    """The sum over scalings of expansions, each with its row of weights."""
    return sum(scaled_kernel(X, centres, sigma, each) @ row for each, row in zip(precisions, weights, strict=True))


def scaled_log_expansion(X, centres, weights, sigma, precisions):
    """The logarithm of the same sum: rows are mapped by a root of each precision."""
    roots = [np.linalg.cholesky(each) for each in precisions]
    logs = [log_expansion(X @ root, centres @ root, row, sigma) for root, row in zip(roots, weights, strict=True)]
    return logsumexp(logs, axis=0)


def category_kernel(codes, sigma, rarities):
    """The factor of the category columns: for each, one if two rows have the same value, less if they differ.

    `rarities` are the shares of pairs of rows that differ in each column, or ones without a scaling.
    """
    differ = codes[:, np.newaxis] != codes
    return np.prod(np.where(differ, np.exp(-1.0 / (np.asarray(rarities) * sigma**2)), 1.0), axis=2)


def offset(held_out_scores, mass):
    """Middle of the offsets that hold the least number of rows whose share reaches `mass`, by trying them all."""
    n = len(held_out_scores)
    held = [np.sum(held_out_scores >= s) for s in held_out_scores]
    least = min(h for h in held if h >= math.ceil(mass * n - 1e-9))
    highest = max(s for s, h in zip(held_out_scores, held, strict=True) if h == least)
    lower = [s for s in held_out_scores if s < highest]
    return (highest + max(lower)) / 2 if lower else highest


def fit(X, splits, sigma, masses, points, box_volume, nu=0.4):
    """Both algorithms of the paper at one bandwidth, as a plain scikit-learn loop: volumes and area.

    Scores are computed from the dual coefficients: scikit-learn's own carry the rounding errors of a difference.
    Held-out scores that are negligible beside that of the border count as zero.
    """
    scores = np.zeros(len(points))
    offsets = np.zeros(len(masses))
    for split in splits:
        svm = OneClassSVM(nu=nu, gamma=0.5 / sigma**2).fit(X[split.train])
        weights = svm.dual_coef_[0]
        held_out_scores = expansion(X[split.held_out], svm.support_vectors_, weights, sigma)
        held_out_scores[held_out_scores <= 0.5 * np.finfo(float).eps * svm.offset_[0]] = 0.0
        offsets += [offset(held_out_scores, mass) for mass in masses]
        scores += expansion(points, svm.support_vectors_, weights, sigma)
    volumes = np.array([box_volume * np.mean(scores >= rho) for rho in offsets])
    return volumes, auc(masses, volumes)
