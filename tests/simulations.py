"""Simulations of the promises about mass: each draw is a fit and a large fresh sample to hold it against.

Used by the slow tests, and by benchmarks/promises.py, which prints the tables in docs/promises-measured.md.
Bandwidths are automatic, as users get them.
"""

import warnings

import numpy as np
from joblib import Parallel, delayed

from mvset import MinimumVolumeSet
from mvset.exceptions import DependenceWarning

MASSES = (0.8, 0.9, 0.95, 0.99)
SIZES = (60, 200, 500, 1000)
CONFIDENCE = 0.95
FDR = 0.1
ALARM_RATE = 0.05
N_FRESH = 20_000


def _student(df, d):
    return lambda rng, n: rng.normal(size=(n, d)) / np.sqrt(rng.chisquare(df, size=(n, 1)) / df)


def _ring(rng, n):
    angle, radius = rng.uniform(0, 2 * np.pi, n), 1 + 0.1 * rng.normal(size=n)
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])


def _correlated_lognormal(rng, n):
    return np.exp(rng.multivariate_normal(np.zeros(4), 0.3 * np.eye(4) + 0.7, n))


def _banana(rng, n):
    x = rng.normal(size=n)
    return np.column_stack([x, x**2 + 0.5 * rng.normal(size=n)])


def _rounded_sensor(rng, n):
    return np.round([20, 5, 100] + rng.normal(size=(n, 3)) * [2, 1, 3])


def _atoms(rng, n):
    rows, kind = rng.normal(size=(n, 2)), rng.uniform(size=n)
    rows[kind < 0.2] = 0.0
    rows[(kind >= 0.2) & (kind < 0.3)] = 1.0
    return rows


def _two_scales(rng, n):
    return rng.normal(size=(n, 1)) * np.where(rng.uniform(size=(n, 1)) < 0.5, 0.05, 2.0)


def _zero_inflated(rng, n):
    return rng.lognormal(size=(n, 4)) * (rng.uniform(size=(n, 4)) > 0.5)


def _swiss_roll(rng, n):
    t = 1.5 * np.pi * (1 + 2 * rng.uniform(size=n))
    return np.column_stack([t * np.cos(t), 21 * rng.uniform(size=n), t * np.sin(t)]) + 0.3 * rng.normal(size=(n, 3))


def _contaminated(rng, n):
    rows, stray = rng.normal(size=(n, 3)), rng.uniform(size=n) < 0.03
    rows[stray] = rng.uniform(-10, 10, size=(stray.sum(), 3))
    return rows


def _spiral(rng, n):
    t = 3 * np.pi * np.sqrt(rng.uniform(size=n))
    return np.column_stack([t * np.cos(t), t * np.sin(t)]) + 0.3 * rng.normal(size=(n, 2))


# Name: draw n independent rows.
DISTRIBUTIONS = {
    "Gaussian": lambda rng, n: rng.normal(size=(n, 2)),
    "heavy-tailed": lambda rng, n: rng.standard_t(2, size=(n, 2)),
    "skewed": lambda rng, n: rng.lognormal(size=(n, 2)),
    "bounded": lambda rng, n: rng.uniform(size=(n, 2)),
    "discrete": lambda rng, n: rng.poisson(2.0, size=(n, 2)).astype(float),
    "ring": _ring,
    "t(2), d = 5": _student(2, 5),
    "t(3), d = 5": _student(3, 5),
    "lognormal, d = 4": lambda rng, n: rng.lognormal(size=(n, 4)),
    "correlated lognormal": _correlated_lognormal,
    "Pareto": lambda rng, n: rng.pareto(2.0, size=(n, 2)),
    "banana": _banana,
    "simplex": lambda rng, n: rng.dirichlet([2, 3, 4], n),
    "rounded sensor": _rounded_sensor,
    "atoms": _atoms,
    "two scales, d = 1": _two_scales,
    "zero-inflated": _zero_inflated,
    "swiss roll": _swiss_roll,
    "3 % contamination": _contaminated,
    "spiral": _spiral,
}


def autoregressive(rho, d=3):
    """Draw n rows in time order, each column an AR(1) series."""

    def draw(rng, n):
        rows, now = np.empty((n, d)), rng.normal(size=d)
        for i, noise in enumerate(np.sqrt(1 - rho**2) * rng.normal(size=(n, d))):
            rows[i] = now = rho * now + noise
        return rows

    return draw


_MIXING = np.linalg.cholesky(0.4 * np.eye(3) + 0.6).T


def _vector_autoregressive(rng, n):
    return np.column_stack([autoregressive(rho, 1)(rng, n) for rho in (0.7, 0.9, 0.95)]) @ _MIXING


def _seasonal(rng, n):
    phase = rng.uniform(0, 2 * np.pi) + 2 * np.pi * np.arange(n) / 48
    noise = autoregressive(0.8, 2)(rng, n)
    return np.column_stack([np.sin(phase), np.cos(phase)]) + 0.3 * noise


def _normal(rng, n):
    return rng.normal(size=(n, 3))


def _any_season(rng, n):
    phase = rng.uniform(0, 2 * np.pi, n)
    return np.column_stack([np.sin(phase), np.cos(phase)]) + 0.3 * rng.normal(size=(n, 2))


# Name: draw n rows in time order, draw n independent rows of the same distribution.
SERIES = {
    "AR(1), ρ = 0.5": (autoregressive(0.5), _normal),
    "AR(1), ρ = 0.9": (autoregressive(0.9), _normal),
    "AR(1), ρ = 0.95": (autoregressive(0.95), _normal),
    "AR(1), ρ = 0.98": (autoregressive(0.98), _normal),
    "VAR(1)": (_vector_autoregressive, lambda rng, n: _normal(rng, n) @ _MIXING),
    "seasonal": (_seasonal, _any_season),
}


def one_draw(draw, n, seed, mode="cross", *, n_batch=200, fresh_draw=None, **settings):
    """Everything promised, held against the truth once."""
    rng = np.random.default_rng([seed, n])
    X, fresh, batch = draw(rng, n), (fresh_draw or draw)(rng, N_FRESH), draw(rng, n_batch)
    anomalies = (fresh_draw or draw)(rng, 20) + 40.0
    watched = draw(rng, 400)
    model = MinimumVolumeSet(
        calibration=mode, confidence=CONFIDENCE, n_volume_points=2000, random_state=seed, **settings
    )
    with warnings.catch_warnings(record=True) as raised:
        warnings.simplefilter("always")
        model.fit(X)
    scores = np.sort(model.score_samples(fresh))
    found = {"warned": any(issubclass(warning.category, DependenceWarning) for warning in raised)}

    def true_mass(offsets):
        return 1.0 - np.searchsorted(scores, offsets, side="left") / N_FRESH

    for mass in MASSES:
        if model.sets_.calibration.can_guarantee(mass):
            mass_found = found["mass", mass] = true_mass(model.offset(mass))
            interval = model.mass_interval(mass)
            found["interval", mass] = interval.low <= mass_found <= interval.high
    band = model.mass_band(confidence=CONFIDENCE)
    masses = true_mass(np.array([model.offset(mass) for mass in band.masses]))
    found["band"] = bool(np.all((band.lower <= masses) & (masses <= band.upper)))
    found["p"] = float(np.mean(model.p_value(fresh[:5000]) <= 0.05))
    flagged = model.detect(np.vstack([fresh[:180], anomalies]), fdr=FDR).flagged
    found["fdp"] = flagged[:180].sum() / max(1, flagged.sum())
    found["power"] = float(flagged[180:].mean())
    found["drift"] = model.check_drift(batch, false_alarm_rate=ALARM_RATE).drifted
    monitor = model.drift_monitor(false_alarm_rate=ALARM_RATE, random_state=seed)
    found["monitor"] = [monitor.update(rows) for rows in np.array_split(watched, 8)][-1]
    return found


def simulate(draw, n, n_draws=300, mode="cross", *, n_jobs=-1, **settings):
    """Results of many draws, by what was measured."""
    draws = Parallel(n_jobs)(delayed(_quiet_draw)(draw, n, seed, mode, settings) for seed in range(n_draws))
    return {key: np.array([found[key] for found in draws], dtype=float) for key in draws[0]}


def _quiet_draw(draw, n, seed, mode, settings):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # advice about small samples
        return one_draw(draw, n, seed, mode, **settings)


def broken_guarantees(found, mode, n_draws):
    """What "conformal" or "pac" guarantees and is missed by more than Monte Carlo error: four standard errors."""

    def mean_slack(values):
        return 4.0 * values.std(ddof=1) / np.sqrt(n_draws)

    def share_slack(share):
        return 4.0 * np.sqrt(share * (1.0 - share) / n_draws)

    broken = []
    for mass in MASSES:
        inside = found.get(("mass", mass))
        if inside is None:
            continue
        if mode == "conformal" and inside.mean() < mass - mean_slack(inside):
            broken.append(f"coverage {inside.mean():.4f} of {mass}")
        if mode == "pac" and np.mean(inside < mass) > 1 - CONFIDENCE + share_slack(CONFIDENCE):
            broken.append(f"failures {np.mean(inside < mass):.4f} at {mass}")
    for key, limit in (("p", 0.05), ("fdp", 0.9 * FDR)):  # nine tenths of the batch are normal
        if found[key].mean() > limit + mean_slack(found[key]):
            broken.append(f"{key} {found[key].mean():.4f} > {limit}")
    alarmed = [key for key in ("drift", "monitor") if found[key].mean() > ALARM_RATE + share_slack(ALARM_RATE)]
    broken += [f"{key} {found[key].mean():.4f} > {ALARM_RATE}" for key in alarmed]
    # Ties may cost the interval a percent or two, as its docstring says.
    least = {"band": CONFIDENCE, ("interval", 0.9): 0.93}
    for key, confidence in least.items():
        if key in found and found[key].mean() < confidence - share_slack(confidence):
            broken.append(f"{key} {found[key].mean():.4f} < {confidence}")
    return broken
