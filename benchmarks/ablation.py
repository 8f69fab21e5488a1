"""What each mechanism contributes: the table in docs/ablation.md.

1. Departures from the letter of the paper: mass on new rows, asked for 0.95, over 100 samples of 500 rows. With a given
   bandwidth the model is the paper's own; with automatic ones it is ours, without a scaling and with the paper's ν.
2. The solver of the dual: argmax with the index in the low bits, against an ordinary argmax in two passes.
3. Importance sampling: each mechanism switched off, on sets of known volume.

    python benchmarks/ablation.py
"""

import importlib.util
import re
import sys
import tempfile
import time
import warnings
from contextlib import ExitStack
from pathlib import Path
from unittest import mock

import numpy as np
from joblib import Parallel, delayed
from sklearn.model_selection import ShuffleSplit

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from mvset import MinimumVolumeSet
from mvset.calibration.splits import Split
from mvset.paper import CalibratedOneClassSVM
from mvset.paper.datasets import paper_mixture
from mvset.svm import compiled, dual
from mvset.svm.gram import lazy_gram
from mvset.volume import importance, proposal
from mvset.volume.importance import ImportanceSampler
from mvset.volume.measure import measure
from shapes import Ball, Union, closed_form
from text_table import print_head, print_row

# 1. Splits, offsets and the condition on nu


def upper_ends(held_out_scores):
    return -np.sort(-np.atleast_2d(held_out_scores), axis=1)


def independent_splits(n_rows, n_splits, test_size, rng):
    shuffle = ShuffleSplit(n_splits, test_size=test_size, random_state=rng)
    return [Split(np.sort(train), np.sort(held_out)) for train, held_out in shuffle.split(np.empty(n_rows))]


REPLACEMENTS = {
    "upper end": ("offsets_by_rank", upper_ends),
    "independent": ("random_splits", independent_splits),
    "no condition": ("meets_nu_condition", lambda training_mass, masses: True),
}


def replace_everywhere(stack, name, replacement):
    """Replace a function in every module of mvset that has it."""
    modules = [module for key, module in sys.modules.items() if key.startswith("mvset.") and hasattr(module, name)]
    assert modules, name
    for module in modules:
        stack.enter_context(mock.patch.object(module, name, replacement))


def realised(seed, sigma, n_splits, patches):
    warnings.simplefilter("ignore")
    mixture = paper_mixture()
    X, fresh = mixture.sample(500, random_state=seed), mixture.sample(50_000, random_state=10_000 + seed)
    with ExitStack() as stack:
        for patch in patches:
            replace_everywhere(stack, *REPLACEMENTS[patch])
        if sigma == "auto":
            model = MinimumVolumeSet(scaling=None, nu=0.4, splits=n_splits, random_state=seed).fit(X)
        else:
            model = CalibratedOneClassSVM(sigmas=sigma, n_splits=n_splits, random_state=seed).fit(X)
    return np.mean(model.predict(fresh) == 1), model.sigma_


def splits_and_offsets() -> None:
    print("Mass on new rows, asked for 0.95, 100 samples of 500 rows: the paper's rule, and ours with automatic σ")
    print_head("", "mean", "standard deviation", "σ below 0.3")
    for title, sigma, n_splits, patches in (
        ("σ = 0.8, 10 independent splits, upper end of the interval of offsets", 0.8, 10, ["independent", "upper end"]),
        ("σ = 0.8, 50 independent splits, upper end", 0.8, 50, ["independent", "upper end"]),
        ("σ = 0.8, 10 balanced splits, upper end", 0.8, 10, ["upper end"]),
        ("σ = 0.8, 10 balanced splits, middle of the interval", 0.8, 10, []),
        ("automatic σ, without the condition on ν", "auto", 10, ["no condition"]),
        ("automatic σ", "auto", 10, []),
    ):
        runs = Parallel(n_jobs=-1)(delayed(realised)(seed, sigma, n_splits, patches) for seed in range(100))
        masses, sigmas = np.array(runs).T
        narrow = f"{np.sum(sigmas < 0.3)} of 100" if sigma == "auto" else ""
        print_row(title, f"{masses.mean():.4f}", f"{masses.std(ddof=1):.4f}", narrow)


# 2. The solver of the dual

TWO_PASSES = """
@kernel
def _move_and_find(gradient, up, down, rows, pair, step, reference):
    i, j = pair
    smallest, largest = _HUGE, -_HUGE
    for p in range(gradient.shape[0]):
        gradient[p] += step * (rows[i, p] - rows[j, p])
        largest = float_max(largest, gradient[p] - down[p])
        smallest = float_min(smallest, gradient[p] + up[p])
    first = np.int32(0)
    for p in range(gradient.shape[0]):
        first = int_max(first, np.int32(p) if gradient[p] + up[p] == smallest else np.int32(0))
    return np.int64(first), largest


@kernel
def _best_partner(gradient, down, rows, i, smallest):
    gains = np.empty(gradient.shape[0], np.float32)
    largest = _f32(0.0)
    for p in range(gradient.shape[0]):
        violation = float_max(gradient[p] - down[p] - smallest, _f32(0.0))
        gains[p] = violation * violation / float_max(_f32(1.0) - rows[i, p], _TINY)
        largest = float_max(largest, gains[p])
    best = np.int32(0)
    for p in range(gains.shape[0]):
        best = int_max(best, np.int32(p) if gains[p] == largest else np.int32(0))
    return np.int64(best)
"""


def plain_solve(folder):
    """`solve` of a copy of the compiled module in which both argmaxes take two passes."""
    source = Path(compiled.__file__).read_text()
    for function in ("_move_and_find", "_best_partner"):
        source, found = re.subn(rf"@kernel\ndef {function}\(.*?\n\n\n", "", source, flags=re.DOTALL)
        assert found == 1
    path = Path(folder) / "plain_compiled.py"
    path.write_text(source.replace("@kernel\ndef _copy_row", f"{TWO_PASSES}\n\n@kernel\ndef _copy_row"))
    spec = importlib.util.spec_from_file_location("plain_compiled", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["plain_compiled"] = module
    spec.loader.exec_module(module)
    return module.solve


def median_times(solvers, task, repetitions):
    """Median seconds of the task with each solver; the solvers take turns, the first turn is a warm-up."""
    times = {name: [] for name in solvers}
    for _ in range(repetitions + 1):
        for name, solver in solvers.items():
            with mock.patch.object(dual, "solve", solver):
                start = time.perf_counter()
                task()
                times[name].append(time.perf_counter() - start)
    return {name: np.median(seconds[1:]) for name, seconds in times.items()}


def argmax() -> None:
    print("\nSolves of the dual: time with an ordinary argmax in two passes, relative to the index in the low bits")
    cases = [(d, sigma) for d, sigmas in ((2, (0.05, 0.2, 0.6, 2.0)), (10, (0.2, 0.9, 2.7))) for sigma in sigmas]
    print_head("rows", *(f"d = {d}, σ = {sigma}" for d, sigma in cases))
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        solvers = {"tagged": compiled.solve, "two passes": plain_solve(folder)}
        for n in (500, 1000, 2000, 5000):
            ratios = []
            for d, sigma in cases:
                X = rng.normal(size=(n, d))

                def task(X=X, sigma=sigma):
                    dual.solve_dual(lazy_gram(X, sigma), np.arange(len(X)), dual.Solver(0.4, 1e-3))

                seconds = median_times(solvers, task, 5 if n == 5000 else 15)
                ratios.append(f"{seconds['two passes'] / seconds['tagged']:.2f}")
            print_row(n, *ratios)


# 3. Importance sampling

SETS = [
    *(("ball", 5), ("box", 20), ("ellipsoid", 10), ("needle", 2), ("needle", 10), ("needle", 20)),
    *(("two components", 5), ("two components", 20), ("eight components", 5), ("eight components", 10)),
]
SWITCHES = {
    "as it is": [],
    "no halves of the rows": [(importance, "_halves", lambda rows: [])],
    "1 adaptation round, not 3": [(importance, "_FIRST_ROUNDS", 1)],
    "2 adaptation rounds, not 3": [(importance, "_FIRST_ROUNDS", 2)],
    "10 % of the points per round": [(importance, "_ROUND_FRACTION", 0.1)],
    "no defensive fraction": [(importance, "_DEFENSIVE_FRACTION", 0.0)],
    "no weight moved outward": [(proposal, "_OUTWARD", 0.0)],
    "1 EM step, not 4": [(proposal, "_EM_STEPS", 1)],
    "up to 100 shapes, not 12": [(proposal, "_MAX_SHAPES", 100)],
    "10 scales, not 20": [(proposal, "N_SCALES", 10), (importance, "N_SCALES", 10)],
}
N_SEEDS = 10


def z_score(sample, shape):
    """Error of the volume in standard errors, of components 1.15 times as wide as in the target; NaN for others."""
    if not isinstance(shape, Union):
        return np.nan
    larger = Union([Ball(part.centre, 1.15 * part.radius) for part in shape.parts])
    volume = measure(sample, larger.contains(sample.points)[:, np.newaxis]).estimate(0)
    return (1.0 - np.exp(larger.log_volume - volume.log_value)) * volume.value / volume.standard_error


def one_volume(switch, name, d, seed):
    X, shape = closed_form(name, d, seed)
    with ExitStack() as stack:
        for module, constant, value in SWITCHES[switch]:
            stack.enter_context(mock.patch.object(module, constant, value))
        start = time.process_time()
        sample = ImportanceSampler(X, np.random.RandomState(seed)).draw(5000, shape.contains)
        seconds = time.process_time() - start
    volume = measure(sample, shape.contains(sample.points)[:, np.newaxis]).estimate(0)
    return volume.effective_sample_size, volume.log_value - shape.log_volume, z_score(sample, shape), seconds


def importance_sampling() -> None:
    print(
        f"\nImportance sampling, 5000 points, {len(SETS)} sets of known volume, {N_SEEDS} seeds, relative to 'as it is'"
    )
    print_head("", "ESS", "worst set", "error", "larger set", "time")
    # The switches take turns, so that all are timed under the same load.
    cases = [(name, d, seed, switch) for name, d in SETS for seed in range(N_SEEDS) for switch in SWITCHES]
    runs = Parallel(n_jobs=-1)(delayed(one_volume)(switch, name, d, seed) for name, d, seed, switch in cases)
    table = np.array(runs).reshape(len(SETS), N_SEEDS, len(SWITCHES), 4)
    sizes = table[..., 0].mean(axis=1)
    errors = np.sqrt((table[..., 1] ** 2).mean(axis=1))
    z = np.sqrt(np.nanmean(table[..., 2] ** 2, axis=(0, 1)))
    seconds = np.median(table[..., 3], axis=1).sum(axis=0)
    for s, switch in enumerate(SWITCHES):
        size, error = sizes[:, s] / sizes[:, 0], errors[:, s] / errors[:, 0]
        means = (np.exp(np.log(size).mean()), size.min(), np.exp(np.log(error).mean()))
        print_row(switch, *(f"{value:.2f}" for value in means), f"{z[s]:.1f}", f"{seconds[s] / seconds[0]:.2f}")


def main() -> None:
    splits_and_offsets()
    argmax()
    importance_sampling()


if __name__ == "__main__":
    main()
