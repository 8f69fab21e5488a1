"""A fitted model as an ONNX graph, for runtimes without Python."""

import json
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import DTypeLike
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler

from mvset.calibration.calibration import Calibration
from mvset.calibration.fitted_sets import FittedSets
from mvset.estimators.fitted_model import FittedModel
from mvset.estimators.minimum_volume_set import MinimumVolumeSet
from mvset.svm.compiled import scaled_columns
from mvset.svm.expansion import LOWEST_LOG, KernelExpansion
from mvset.svm.scaling import LARGEST, Scaling
from mvset.svm.score import Score
from mvset.values import Indices
from mvset.version import __version__

_OPSET = 13  # of 2020: onnxruntime reads it since 1.6
_N_RANKS, _LAST_RANKS = 2000, 1000
_SCALERS = (StandardScaler, RobustScaler, MinMaxScaler, MaxAbsScaler)

if TYPE_CHECKING:
    from onnx import ModelProto, NodeProto, TensorProto


def to_onnx(model: Any, *, dtype: DTypeLike = np.float64) -> "ModelProto":
    """Turn a fitted model into an ONNX graph that judges rows as it does.

    Parameters
    ----------
    model : MinimumVolumeSet or Pipeline
        Fitted. The steps of a Pipeline before the MinimumVolumeSet may be StandardScaler, RobustScaler, MaxAbsScaler
        and MinMaxScaler, the last two with ``clip=False``, and "passthrough".
    dtype : {numpy.float64, numpy.float32}, default=numpy.float64
        Type of the graph's input. Inside everything is computed in double.

    Returns
    -------
    onnx_model : onnx.ModelProto
        Graph with the input "X" of shape (N, n_features), for any N. If `strata` was passed to `fit`, it has a second
        input "strata" of shape (N,): the labels of the rows as text. A whole number has no decimals, and text has no
        white space around it, so 1.0 is "1". Any text that the fit has not seen stands for a new stratum.
        The graph has three outputs of shape (N,): "label" (int64, as `predict`), "score" (double, as `score_samples`)
        and "level" (double, as `level`). ``level <= mass`` exactly where the label is +1. The metadata of the graph
        contain the names of the columns, as JSON under "feature_names".

    Notes
    -----
    Scores differ from those of Python by 1e-16 (R/σ)², where R is how far training rows lie from their mean: about
    1e-13 as a rule, 1e-6 when groups of them lie 1e5 bandwidths apart. Do not use float32 for columns whose
    spread is small beside their values. Nothing is refused: a row at infinity has the lowest score; with NaN it has, in
    onnxruntime, score NaN, level 1 and label -1. With thousands of calibration rows levels are rounded up, by less than
    0.001. Scores of models of large tables are float32 in Python, and differ by about 1e-5. Memory is that of a few
    matrices of N rows, with one column per support vector: run millions of rows in batches.

    Examples
    --------
    >>> from onnxruntime import InferenceSession
    >>> from mvset import MinimumVolumeSet, to_onnx
    >>> from mvset.paper.datasets import two_moons
    >>> X = two_moons(300, random_state=0)
    >>> model = MinimumVolumeSet(sigma=0.3, random_state=0).fit(X)
    >>> session = InferenceSession(to_onnx(model).SerializeToString())
    >>> label, score, level = session.run(["label", "score", "level"], {"X": X})
    >>> bool((label == model.predict(X)).all())
    True
    """
    try:
        from onnx import TensorProto, checker, helper
    except ImportError:
        raise ImportError("ONNX export needs more packages: pip install 'mvset[onnx]'") from None

    if np.dtype(dtype) not in (np.float32, np.float64):
        raise ValueError(f"dtype must be numpy.float32 or numpy.float64; got {dtype!r}.")
    fitted = FittedModel.of(model, MinimumVolumeSet)
    sets, names, graph = fitted.sets, fitted.feature_names, _Graph()
    if fitted.category_values:
        raise TypeError(
            f"ONNX export takes numbers only. Columns with categories: {', '.join(map(repr, fitted.category_values))}. "
            "Fit without them, or to numbers that stand for them."
        )
    x = graph.add("Cast", "X", to=TensorProto.DOUBLE)
    for _, step in [] if fitted.before is None else fitted.before.steps:
        x = _scaled(graph, x, step)
    if fitted.imputes:
        raise TypeError("ONNX export takes no missing values, and the model imputes them. Fit without imputation.")
    _judge(graph, x, sets)
    inputs = [helper.make_tensor_value_info("X", helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), ["N", len(names)])]
    if sets.strata:
        inputs.append(helper.make_tensor_value_info("strata", TensorProto.STRING, ["N"]))
    types = {"label": TensorProto.INT64, "score": TensorProto.DOUBLE, "level": TensorProto.DOUBLE}
    answers = [helper.make_tensor_value_info(name, kind, ["N"]) for name, kind in types.items()]
    onnx_model = helper.make_model(
        helper.make_graph(graph.nodes, "mvset", inputs, answers, graph.constants),
        opset_imports=[helper.make_opsetid("", _OPSET), helper.make_opsetid("ai.onnx.ml", 2)],
        ir_version=7,
        producer_name="mvset",
        producer_version=__version__,
        doc_string=f"Minimum Volume set of mass {sets.mass:g}, bandwidth sigma {fitted.estimator.sigma_:g}.",
    )
    helper.set_model_props(onnx_model, {"feature_names": json.dumps(names)})
    checker.check_model(onnx_model, full_check=True)
    return onnx_model


class _Graph:
    """Nodes in the order they are added."""

    def __init__(self) -> None:
        self.nodes: list[NodeProto] = []
        self.constants: list[TensorProto] = []

    def add(self, operation: str, *inputs: Any, output: str = "", **attributes: Any) -> str:
        """Add an operation on named values and on constants; its output's name."""
        from onnx import helper, numpy_helper

        output = output or f"value_{len(self.nodes)}"
        names = [value if isinstance(value, str) else f"{output}_{i}" for i, value in enumerate(inputs)]
        constants = [(name, value) for name, value in zip(names, inputs, strict=True) if not isinstance(value, str)]
        self.constants += [numpy_helper.from_array(np.asarray(value), name) for name, value in constants]
        self.nodes.append(helper.make_node(operation, names, [output], **attributes))
        return output


def _judge(graph: _Graph, x: str, sets: FittedSets) -> None:
    """Add score, label and level of rows that earlier steps have scaled."""
    columns = np.array([1], dtype=np.int64)  # the axis
    scores = _scores(graph, x, cast(Score, sets.function))
    if len(sets.constants.columns):
        scores = _below_if_changed(graph, x, scores, sets)
    graph.add("Squeeze", scores, columns, output="score")
    everything = [*(sets.strata.calibrations if sets.strata else []), sets.calibration]
    # One row per group, and one for the whole; ranks that a group does not have are never reached.
    kept = [each.offsets[_kept_ranks(each, sets.mass)] for each in everything]
    n_ranks = max(len(each) for each in kept)
    offsets: Any = np.stack([np.pad(each, (n_ranks - len(each), 0), constant_values=np.inf) for each in kept])
    levels = np.stack(
        [
            np.pad(each.level(np.append(some, -np.inf))[::-1], (0, n_ranks - len(some)), mode="edge")
            for each, some in zip(everything, kept, strict=True)
        ]
    )
    chosen: Any = np.array([each.offset(sets.mass) for each in everything])
    if sets.strata:
        group = graph.add(
            "LabelEncoder",
            "strata",
            domain="ai.onnx.ml",
            keys_strings=sets.strata.labels,
            values_int64s=list(range(len(sets.strata.labels))),
            default_int64=len(sets.strata.labels),
        )
        chosen, offsets = graph.add("Gather", chosen, group), graph.add("Gather", offsets, group)
    graph.add("Where", graph.add("GreaterOrEqual", "score", chosen), np.int64(1), np.int64(-1), output="label")
    # Levels by the number of offsets reached, not missed: NaN reaches none, and has level 1.
    reached = graph.add("Where", graph.add("GreaterOrEqual", scores, offsets), np.int64(1), np.int64(0))
    reached = graph.add("ReduceSum", reached, columns, keepdims=0)
    if sets.strata:
        reached = graph.add("Add", reached, graph.add("Mul", group, np.int64(n_ranks + 1)))
    graph.add("Gather", levels.ravel(), reached, output="level")


def _kept_ranks(calibration: Calibration, mass: float) -> Indices:
    """Ranks whose offsets are part of the graph, which compares every row with each of them: the last, and some others.

    Levels are rounded up to the next of these. Labels are exact: the rank of the mass is among them.
    """
    n_ranks = len(calibration.offsets)
    own = np.searchsorted(-calibration.offsets, -calibration.offset(mass))
    last = np.arange(max(0, n_ranks - _LAST_RANKS), n_ranks)
    return np.unique(np.concatenate([np.linspace(0, n_ranks - 1, _N_RANKS).astype(np.intp), last, [own]]))


def _scores(graph: _Graph, x: str, score: Score) -> str:
    """Scores of rows, a matrix of one column: the smallest of the views."""
    found = []
    for view, parts in zip(score.views, score.parts, strict=True):
        centred = graph.add("Sub", x, score.origin) if view.scalings else x
        logs = [_logs(graph, centred if each is None else _mapped(graph, centred, each), f) for each, f in parts]
        total = logs[0]
        if len(logs) > 1:
            total = graph.add("ReduceLogSumExp", graph.add("Concat", *logs, axis=1), axes=[1])
        total = graph.add("Max", total, LOWEST_LOG)
        found.append(graph.add("Add", graph.add("Mul", total, view.slope), view.shift))
    return graph.add("Min", *found)


def _logs(graph: _Graph, x: str, function: KernelExpansion) -> str:
    """Logarithms of one kernel expansion at rows."""
    centres = scaled_columns(function.centres, function.origin, function.sigma)
    x = graph.add("Div", graph.add("Sub", x, function.origin), function.sigma * np.sqrt(2.0))
    x = graph.add("Clip", x, -1e150, 1e150)  # as scaled_columns; else onnxruntime merges Div and MatMul, in float32
    # -|x - c|² by a product of matrices: differences take a matrix for every column of X.
    exponent = graph.add("Add", graph.add("MatMul", x, 2.0 * centres), -(centres**2).sum(axis=0))
    exponent = graph.add("Sub", exponent, graph.add("ReduceSumSquare", x, axes=[1]))
    exponent = graph.add("Add", graph.add("Min", exponent, 0.0), np.log(function.weights))
    return graph.add("ReduceLogSumExp", exponent, axes=[1])


def _mapped(graph: _Graph, x: str, scaling: Scaling) -> str:
    """Rows in a scaling."""
    x = graph.add("Clip", graph.add("Div", x, scaling.scales), -LARGEST, LARGEST)
    return graph.add("MatMul", x, scaling.mixing) if len(scaling.mixing) else x


def _below_if_changed(graph: _Graph, x: str, scores: str, sets: FittedSets) -> str:
    """Scores below every offset for rows in which a column differs that never changed."""
    constants = sets.constants
    values = graph.add("Gather", x, constants.indices.astype(np.int64), axis=1)
    difference = graph.add("Abs", graph.add("Sub", values, constants.values))
    excess = graph.add("ReduceMax", graph.add("Sub", difference, constants.tolerances), axes=[1])
    return graph.add("Where", graph.add("Greater", excess, 0.0), sets.calibration.below_all, scores)


def _scaled(graph: _Graph, x: str, step: Any) -> str:
    """Rows after a step that scales them, by the operations of scikit-learn."""
    if type(step) not in _SCALERS or getattr(step, "clip", False):
        raise TypeError(
            f"ONNX export does not know this {type(step).__name__}. Before the set it takes StandardScaler, "
            "RobustScaler, MaxAbsScaler and MinMaxScaler, the last two with clip=False, and 'passthrough'."
        )
    if isinstance(step, MinMaxScaler):
        return graph.add("Add", graph.add("Mul", x, step.scale_), step.min_)
    if getattr(step, "with_mean", False) or getattr(step, "with_centering", False):
        x = graph.add("Sub", x, step.mean_ if isinstance(step, StandardScaler) else step.center_)
    return x if step.scale_ is None else graph.add("Div", x, step.scale_)
