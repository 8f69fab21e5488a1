"""How fast rows are scored on one core: ours, scikit-learn's OneClassSVM, and the same model in ONNX Runtime.

2000 rows to fit, 20 000 to score. ONNX Runtime computes in float32. The limit is that of one kernel value for each row
and support vector.

    python benchmarks/scoring.py [--quick]
"""

import sys
from functools import partial

import numpy as np
from sklearn import svm

from harness import COLOURS, axes, geometric_mean, in_turn, limit, main, measured_ticks, peer
from mvset import OneClassSVM
from mvset.paper.datasets import paper_mixture

QUESTION = "How fast are rows scored on one core?"
KEYS = ("columns",)


def onnx_call(model, new):
    """The model of scikit-learn in ONNX Runtime, on one thread; None where that is not installed."""
    convert, runtime = peer("skl2onnx"), peer("onnxruntime")
    if convert is None or runtime is None:
        return None
    single = new.astype(np.float32)
    settings = runtime.SessionOptions()
    settings.intra_op_num_threads = settings.inter_op_num_threads = 1
    graph = convert.to_onnx(model, single[:1]).SerializeToString()
    session = runtime.InferenceSession(graph, settings, providers=["CPUExecutionProvider"])
    name = session.get_inputs()[0].name
    return lambda: session.run(["scores"], {name: single})


def measure(options):
    for d in (2, 8) if options.quick else (2, 4, 8, 20, 50):
        mixture = paper_mixture(d)
        X, new = mixture.sample(2000, random_state=0), mixture.sample(20_000, random_state=1)
        sigma = np.sqrt(d)
        ours = OneClassSVM(nu=0.4, sigma=sigma, n_jobs=1).fit(X)
        theirs = svm.OneClassSVM(nu=0.4, gamma=0.5 / sigma**2).fit(X)
        calls = {"mvset": partial(ours.score_samples, new), "scikit-learn": partial(theirs.score_samples, new)}
        if (onnx := onnx_call(theirs, new)) is not None:
            calls["ONNX Runtime"] = onnx
        found = in_turn(calls, 3 if options.quick else 5)
        values = len(new) * len(ours.support_)
        yield {
            "columns": d,
            "support vectors": len(ours.support_),
            **{f"{name}, ms": 1e3 * timing.median for name, timing in found.items()},
            **{f"ratio to {name}": found[name].median / found["mvset"].median for name in found if name != "mvset"},
            "spread": found["mvset"].spread,
            "limit, ms": 1e3 * limit(values, d),
            "largest difference of scores": float(
                np.abs(ours.score_samples(new) / theirs.score_samples(new) - 1).max()
            ),
        }


def summary(rows):
    for field in rows[0]:
        if field.startswith("ratio"):
            yield f"- geometric mean of the {field}: {geometric_mean(row[field] for row in rows):.1f}"


def draw(rows):
    figure, (panel,) = axes(1)
    columns = [row["columns"] for row in rows]
    shown = {"mvset, ms": "mvset", "scikit-learn, ms": "scikit-learn", "ONNX Runtime, ms": "ONNX Runtime (float32)"}
    for colour, (field, label) in zip(COLOURS, shown.items(), strict=False):
        if field in rows[0]:
            panel.loglog(columns, [row[field] for row in rows], "o-", color=colour, label=label)
    panel.loglog(columns, [row["limit, ms"] for row in rows], "--", color="#7a7a7a", label="limit")
    panel.set(xlabel="columns", ylabel="milliseconds for 20 000 rows, one core")
    measured_ticks(panel, columns)
    panel.legend(frameon=False, loc="upper center", bbox_to_anchor=(0.5, 1.22), ncols=2)
    return figure


if __name__ == "__main__":
    main(sys.modules[__name__])
