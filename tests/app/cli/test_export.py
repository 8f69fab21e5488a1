import numpy as np
import pandas as pd
import pytest

import mvset as library

onnxruntime = pytest.importorskip("onnxruntime")


@pytest.mark.parametrize("options", [(), ("--float32",)])
def test_the_graph_agrees_with_the_model(mvset, folder, options):
    done = mvset("export", "model.mvset", "--onnx", "model.onnx", *options)
    assert done.exit_code == 0
    assert done.stdout == "model.onnx\n"
    rows = np.array([[40.0, 4.0], [40.0, 9.0], [44.0, 3.8]], dtype=np.float32 if options else np.float64)
    label, score, _ = onnxruntime.InferenceSession("model.onnx").run(["label", "score", "level"], {"X": rows})
    model, frame = library.load("model.mvset"), pd.DataFrame(rows.astype(np.float64), columns=["flow", "pressure"])
    assert label.tolist() == model.predict(frame).tolist()
    np.testing.assert_allclose(score, model.score_samples(frame), rtol=1e-9, atol=1e-12)


def test_the_model_is_not_overwritten(refused):
    said = refused("export", "model.mvset", "--onnx", "./model.mvset", code=2)
    assert "model.mvset is an input file and would be overwritten. Choose another name." in said


def test_an_output_that_cannot_be_written_is_named(refused):
    assert refused("export", "model.mvset", "--onnx", "deep/model.onnx") == "deep: No such file or directory."
    assert refused("export", "model.mvset", "--onnx", ".") == ".: Is a directory."


def test_the_output_file_is_required(refused):
    assert "Missing option '--onnx'" in refused("export", "model.mvset", code=2)


def test_a_model_that_imputes_is_refused_in_a_sentence(refused):
    X = np.random.default_rng(0).normal(size=(60, 2))
    X[::7, 0] = np.nan
    library.save(library.MinimumVolumeSet(sigma=1.0, splits=2, missing="impute", random_state=0).fit(X), "gaps.mvset")
    said = refused("export", "gaps.mvset", "--onnx", "gaps.onnx")
    assert said == "ONNX export takes no missing values, and the model imputes them. Fit without imputation."
