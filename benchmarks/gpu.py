"""Rows judged on a GPU: how fast, how near to the limits of the device, and the labels of the CPU beside them.

    limits   what the device does in a second: multiplications with addition and exponentials in float32, bytes
    scoring  kernel values a second, rows on the device, in 10, 2 and 50 columns; our CPU path and scikit-learn's
             OneClassSVM on the same machine; memory on the device beside rows and results
    labels   of ten million rows: how many differ from those of the CPU
    twin     a kernel written for the device, in Triton, beside the formula that torch compiles
    fit      a table on the device: the rows that train nothing calibrate there
    table    a Parquet file by `mvset score --engine cuda`, and by all cores

    PYTHONPATH=src python benchmarks/gpu.py [--out FOLDER] [--parts limits scoring ...] [--rows N] [--device cuda]

Prints each figure as it is measured, and writes gpu.csv. `--device cpu --rows 100000` tries the script without a GPU.
"""

import argparse
import csv
import importlib.util
import os
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import torch
from sklearn import svm

from mvset import MinimumVolumeSet
from mvset.devices import scores as array_scores
from mvset.paper.datasets import paper_mixture

PARTS = ("limits", "scoring", "labels", "twin", "fit", "table")
TILES = ((128, 32, 4), (64, 64, 4), (128, 64, 4), (128, 64, 8), (256, 32, 8), (64, 32, 4))  # rows, centres, warps
FOUND = []


def note(part, what, value, unit):
    """Print and keep one figure."""
    FOUND.append({"part": part, "what": what, "value": f"{value:.4g}", "unit": unit})
    print(f"{part:8} {what:70} {value:12.4g} {unit}", flush=True)
    return value


def wait(device):
    if device == "cuda":
        torch.cuda.synchronize()


def seconds(call, device, repeats=3):
    """The fastest of some runs, after one that is not counted."""
    call()
    found = []
    for _ in range(repeats):
        wait(device)
        began = time.perf_counter()
        call()
        wait(device)
        found.append(time.perf_counter() - began)
    return min(found)


def rows_on(device, n_rows, d, dtype=torch.float32, seed=0):
    """Rows of the paper's mixture, made on the device, some at a time."""
    generator = torch.Generator(device).manual_seed(seed)
    rows = torch.empty((n_rows, d), dtype=dtype, device=device)
    for start in range(0, n_rows, 10_000_000):
        part = rows[start : start + 10_000_000]
        part.normal_(generator=generator)
        second = torch.rand(len(part), 1, device=device, generator=generator) < 0.5
        part += 2.5 + 5.0 * second
    return rows


def fitted(d, n_rows=100_000):
    """A model of a large table: about 4000 centres."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return MinimumVolumeSet(n_jobs=-1, random_state=0).fit(paper_mixture(d).sample(n_rows, random_state=0))


# ---------------------------------------------------------------- the device


def _products(x):
    for _ in range(512):
        x = x * 0.999 + 0.001
    return x


def _exponentials(x):
    for _ in range(128):
        x = torch.exp(-x)
    return x


def limits(options):
    n = 2**26 if options.device == "cuda" else 2**18
    x = torch.rand(n, device=options.device)
    products, exponentials = torch.compile(_products), torch.compile(_exponentials)
    found = {
        "products": note("limits", "products", 512 * n / seconds(lambda: products(x), options.device), "1/s"),
        "exponentials": note(
            "limits", "exponentials", 128 * n / seconds(lambda: exponentials(x), options.device), "1/s"
        ),
    }
    large = torch.rand(4 * n, device=options.device)
    copy = torch.empty_like(large)
    elapsed = seconds(lambda: copy.copy_(large), options.device)
    found["bytes"] = note("limits", "bytes read and written", 8 * len(large) / elapsed, "1/s")
    return found


# ---------------------------------------------------------------- scoring


def scoring(options, rates):
    for d in (10, 2, 50):
        _scoring_in(options, rates, d)
        if options.device == "cuda":
            torch.cuda.empty_cache()


def _scoring_in(options, rates, d):
    model = fitted(d)
    m = sum(np.count_nonzero(view.weights) for view in model._neighbourhood.views)
    note("scoring", f"d={d}: centres", m, "")
    rows = rows_on(options.device, options.rows, d)
    values = m * options.rows
    began = time.perf_counter()
    array_scores._Compiler.n_values = 1e15  # compile at once
    model.score_samples(rows[: min(options.rows, 2_000_000)])
    wait(options.device)
    note("scoring", f"d={d}: first call, with the time to compile", time.perf_counter() - began, "s")
    if options.device == "cuda":
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
    rate = values / seconds(lambda: model.score_samples(rows), options.device, 2)
    note("scoring", f"d={d}: score_samples, {options.rows:.0e} rows, float32", rate, "kernel values/s")
    if options.device == "cuda":
        beside = torch.cuda.max_memory_allocated() - before
        note("scoring", f"d={d}: memory on the device beside rows", beside / 2**20, "MiB")
        joined = 16 * options.rows / 2**20  # eight bytes a row, twice while the chunks are joined
        note("scoring", f"d={d}: of it results", joined, "MiB")
    if rates:
        # A difference and a product with addition for each column; a product with the weight, and an exponential.
        bound = min(rates["products"] / (2 * d + 1), rates["exponentials"])
        if d >= array_scores._COMPILED_PRODUCT_COLUMNS:  # no difference, but the products are written and read
            bound = min(rates["products"] / (d + 1), rates["exponentials"], rates["bytes"] / 8)
        note("scoring", f"d={d}: limit by products, exponentials or bytes", bound, "kernel values/s")
        note("scoring", f"d={d}: share of the limit", rate / bound, "")
    for name in ("predict", "level"):
        found = values / seconds(lambda: getattr(model, name)(rows), options.device, 1)  # noqa: B023 - called here
        note("scoring", f"d={d}: {name}", found, "kernel values/s")
    few = rows[: options.rows // 10].double()
    found = m * len(few) / seconds(lambda: model.score_samples(few), options.device, 1)
    note("scoring", f"d={d}: float64 rows, evaluated as the model is, in float32", found, "kernel values/s")
    _not_compiled(options, model, rows[: options.rows // 100], m, d)
    _in_double(options, model, rows[: options.rows // 100].double(), m, d)
    _on_cpu(model, m, d)


def _not_compiled(options, model, rows, m, d):
    """Torch without a compiled kernel."""
    compiled = array_scores.ArrayExpansion._is_compiled
    array_scores.ArrayExpansion._is_compiled = False
    rate = m * len(rows) / seconds(lambda: model.score_samples(rows), options.device, 1)
    array_scores.ArrayExpansion._is_compiled = compiled
    note("scoring", f"d={d}: not compiled", rate, "kernel values/s")


def _in_double(options, model, rows, m, d):

    from mvset.devices.places import place_of

    double = array_scores.ArrayExpansion(model._neighbourhood.evaluated_in("double"), place_of(rows))
    rate = m * len(rows) / seconds(lambda: double(rows), options.device, 1)
    note("scoring", f"d={d}: in float64", rate, "kernel values/s")


def _on_cpu(model, m, d):
    new = paper_mixture(d).sample(500_000, random_state=1)
    rate = m * len(new) / seconds(lambda: model.score_samples(new), "cpu", 1)
    note("scoring", f"d={d}: our CPU path, {os.cpu_count()} cores", rate, "kernel values/s")
    theirs = svm.OneClassSVM(nu=0.4, gamma=0.5 / d).fit(new[:10_000])
    few = new[:5000]
    rate = len(theirs.support_vectors_) * len(few) / seconds(lambda: theirs.score_samples(few), "cpu", 1)
    note("scoring", f"d={d}: scikit-learn's OneClassSVM, one core", rate, "kernel values/s")


# ---------------------------------------------------------------- labels


def labels(options, _rates):
    n_rows = options.rows // 10
    model = fitted(10)
    array_scores._Compiler.n_values = 1e15
    rows = rows_on(options.device, n_rows, 10, seed=3)
    on_host = rows.cpu().numpy()
    began = time.perf_counter()
    expected = model.score_samples(on_host)
    note("labels", f"{n_rows:.0e} rows scored on the CPU", time.perf_counter() - began, "s")
    for dtype in (torch.float32, torch.float64):
        name = str(dtype).removeprefix("torch.")
        given = rows.to(dtype)
        for mass in (0.95, 0.5, 0.777):
            found = model.predict(given, mass).cpu().numpy()
            differ = np.count_nonzero((found == 1) != (expected >= model.offset(mass)))
            note("labels", f"{name}: labels that differ from those of the CPU, mass {mass}", differ, "rows")
        scores = model.score_samples(given).cpu().numpy()
        apart = np.abs(scores - expected) / expected
        note("labels", f"{name}: largest relative difference of scores", apart.max(), "")
        levels = model.level(given)
        agree = (levels <= 0.95) == (model.predict(given) == 1)
        note("labels", f"{name}: rows where level <= mass is not the label", int((~agree).sum()), "rows")
        differ = np.count_nonzero(levels.cpu().numpy() != model.sets_.level(expected))
        note("labels", f"{name}: levels that differ, by rounding", differ, "rows")
    from mvset.devices.places import place_of

    expansion = array_scores.ArrayExpansion(model._neighbourhood, place_of(rows), single=True)
    plain = torch.cat([expansion(each) for each in rows.split(expansion.chunk_rows)]).cpu().numpy()
    differ = np.count_nonzero((plain >= model.offset_) != (expected >= model.offset_))
    note("labels", "labels that would differ if none were taken again", differ, "rows")
    doubtful = np.mean(np.abs(plain - model.offset_) < 4 * expansion.error * model.offset_)
    note("labels", "share of rows scored again on the CPU", float(doubtful), "")


# ---------------------------------------------------------------- a kernel of its own


def twin(options, _rates):
    """A kernel written by hand, which would have to be twice as fast."""
    if importlib.util.find_spec("triton") is None:
        print("(twin: triton is not installed)")
        return
    import triton

    from gpu_twin import kernel_sums

    generator = torch.Generator(options.device).manual_seed(0)
    n_rows, m = max(1000, options.rows // 50), 4070
    for d in (2, 10, 50):
        points = torch.randn((n_rows, d), device=options.device, generator=generator)
        centres = torch.randn((d, m), device=options.device, generator=generator)
        weights = torch.rand(m, device=options.device, generator=generator) / m
        columns, out = points.T.contiguous(), torch.empty(n_rows, device=options.device)
        exact = array_scores._kernel_sums(torch, points[:1000].double(), centres.double(), weights.double())
        rates = {}
        for rows, n_centres, warps in TILES:
            shape = {"ROWS": rows, "CENTRES": n_centres, "num_warps": warps}

            def run(shape=shape, columns=columns, centres=centres, weights=weights, out=out, d=d):
                grid = (triton.cdiv(n_rows, shape["ROWS"]),)
                kernel_sums[grid](columns, centres, weights, out, n_rows, m, D=d, **shape)

            rates[(rows, n_centres, warps)] = n_rows * m / seconds(run, options.device, 1)
            error = float((out[:1000] / exact - 1).abs().max())
            name = f"d={d}: Triton, {rows} rows x {n_centres} centres, {warps} warps"
            note("twin", name, rates[(rows, n_centres, warps)], "kernel values/s")
        note("twin", f"d={d}: largest relative error", error, "")
        if options.device == "cuda":
            blocks = list(array_scores.blocks(n_rows, array_scores._INT32 // m))

            def compiled(points=points, centres=centres, weights=weights, blocks=blocks):
                for block in blocks:
                    array_scores._compiled_formula(torch, points[block], centres, weights)

            rate = n_rows * m / seconds(compiled, options.device, 2)
            note("twin", f"d={d}: compiled by torch", rate, "kernel values/s")
            note("twin", f"d={d}: ratio of the best kernel to it", max(rates.values()) / rate, "")


# ---------------------------------------------------------------- fits


def fit(options, _rates):
    array_scores._Compiler.n_values = 0
    for n_rows in (options.rows // 10, options.rows):
        rows = rows_on(options.device, n_rows, 10, seed=5)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            began = time.perf_counter()
            model = MinimumVolumeSet(n_jobs=-1, random_state=0).fit(rows)
            note("fit", f"{n_rows:.0e} rows on the device", time.perf_counter() - began, "s")
            note("fit", f"{n_rows:.0e} rows: offset", model.offset_, "")
            if n_rows < options.rows:
                on_host = rows.cpu().numpy()
                began = time.perf_counter()
                twin = MinimumVolumeSet(n_jobs=-1, random_state=0).fit(on_host)
                note("fit", f"{n_rows:.0e} rows by the CPU, {os.cpu_count()} cores", time.perf_counter() - began, "s")
                note("fit", "relative difference of offsets", abs(model.offset_ / twin.offset_ - 1), "")


# ---------------------------------------------------------------- files


def table(options, _rates):
    if importlib.util.find_spec("skops") is None:
        print("(table: model files need skops; put it on PYTHONPATH)")
        return
    import pyarrow as pa
    import pyarrow.parquet as pq

    n_rows, source = options.rows // 10, Path(__file__).resolve().parent.parent / "src"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(source), os.environ.get("PYTHONPATH", "")])}

    with tempfile.TemporaryDirectory() as folder:

        def mvset(*arguments):
            code = "import sys; from mvset_command import main; sys.exit(main())"
            began = time.perf_counter()
            command = [sys.executable, "-c", code, *arguments]
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, env=environment)
            spent = time.perf_counter() - began
            said = [line for line in done.stderr.splitlines() if "scored on" in line]
            print(f"         {' '.join(arguments)}\n         {said or done.stderr}", flush=True)
            return spent if done.returncode == 0 else float("nan")

        schema = pa.schema([(f"x{j}", pa.float64()) for j in range(10)])
        with pq.ParquetWriter(Path(folder, "t.parquet"), schema) as writer:
            for start in range(0, n_rows, 1_000_000):
                part = paper_mixture(10).sample(min(1_000_000, n_rows - start), random_state=start)
                writer.write_table(pa.table({f"x{j}": part[:, j] for j in range(10)}))
        devices = ("cpu", options.device, options.device) if options.device == "cuda" else ("cpu",)
        for device in dict.fromkeys(devices):
            spent = mvset("fit", "t.parquet", "--out", f"{device}.mvset", "--engine", device)
            note("table", f"mvset fit, {n_rows:.0e} rows, --engine {device}", spent, "s")
        for i, device in enumerate(devices):
            for out in ((), ("--out", f"{i}.parquet")):
                spent = mvset("score", "cpu.mvset", "t.parquet", "--engine", device, *out)
                note("table", f"mvset score, {n_rows:.0e} rows, --engine {device} {' '.join(out)}", spent, "s")
        if len(devices) > 1:
            inside = [pq.read_table(Path(folder, f"{i}.parquet"), columns=["inside"])["inside"] for i in (0, 1)]
            differ = np.count_nonzero(inside[0].to_numpy() != inside[1].to_numpy())
            note("table", "rows inside on one device and outside on the other", differ, "rows")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("bench-output"))
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--rows", type=int, default=100_000_000)
    parser.add_argument("--device", default="cuda")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    rates = {}
    print(torch.cuda.get_device_name() if options.device == "cuda" else "no GPU", f"torch {torch.__version__}")
    for part in PARTS:
        if part not in options.parts:
            continue
        began = time.perf_counter()
        if part == "limits":
            rates = limits(options)
        else:
            {"scoring": scoring, "labels": labels, "twin": twin, "fit": fit, "table": table}[part](options, rates)
        print(f"({part}: {time.perf_counter() - began:.0f} s)", flush=True)
        with (options.out / "gpu.csv").open("w", newline="") as file:  # after every part: time may run out
            writer = csv.DictWriter(file, ("part", "what", "value", "unit"), lineterminator="\n")
            writer.writeheader()
            writer.writerows(FOUND)


if __name__ == "__main__":
    main()
