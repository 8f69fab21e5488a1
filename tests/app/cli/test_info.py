import json

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomTreesEmbedding
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import mvset as library
from mvset.paper import PluginKernelDensity

X = np.random.default_rng(0).normal(size=(150, 2))


def test_text_summary(mvset, folder):
    done = mvset("info", "model.mvset")
    assert done.exit_code == 0
    sets = library.load("model.mvset")
    assert done.stdout.splitlines() == [
        "model         model.mvset",
        "columns       flow, pressure",
        "mass          0.95, calibration 'cross'",
        f"realised      {sets.mass_interval_}",
        f"scaling       {sets.scaling_}, nu {sets.nu_:g}",
        f"sigma         {sets.sigma_:.4g}",
        f"volume        {sets.volume_}",
        done.stdout.splitlines()[-1],
    ]
    assert done.stdout.splitlines()[-1].startswith(f"written with  mvset {library.__version__}, scikit-learn ")


def test_json_summary(mvset, folder):
    result = json.loads(mvset("info", "model.mvset", "--json").stdout)
    sets = library.load("model.mvset")
    interval = sets.mass_interval_
    assert result["model"] == "model.mvset"
    assert result["columns"] == ["flow", "pressure"]
    assert result["realised_mass_interval"] == [interval.low, interval.high]
    assert result["calibration_rows"] == interval.n_rows
    assert result["scaling"] == sets.scaling_
    assert [view["nu"] for view in result["views"]] == [view.nu for view in sets.views_]
    assert result["written_with"]["mvset"] == library.__version__


def test_units_are_those_of_the_preprocessed_columns(mvset, folder):
    sets = library.MinimumVolumeSet(sigma=1.0, random_state=0)
    library.save(sets.fit(X), "plain.mvset")
    library.save(make_pipeline(StandardScaler(), sets).fit(X), "scaled.mvset")
    library.save(make_pipeline(PCA(2), sets).fit(X), "turned.mvset")
    assert "scaling       none, nu 0.4\nsigma         1\n" in mvset("info", "plain.mvset").stdout
    scaled = library.load("scaled.mvset")[-1]
    said = mvset("info", "scaled.mvset").stdout
    assert (
        f"sigma         1, of standardised columns\nvolume        {scaled.volume_}, of standardised columns\n" in said
    )
    assert "sigma         1, of transformed columns\n" in mvset("info", "turned.mvset").stdout


MODELS = {
    "OneClassSVM": lambda: library.OneClassSVM(sigma=1.0).fit(X),
    "PluginKernelDensity": lambda: PluginKernelDensity(sigma=0.5).fit(X),
    "unfitted": lambda: library.MinimumVolumeSet(),
    "trees": lambda: make_pipeline(RandomTreesEmbedding(2, sparse_output=False), library.OneClassSVM(sigma=1.0)).fit(X),
}
SAID = {
    "OneClassSVM": "m.mvset: A MinimumVolumeSet is needed, alone or at the end of a Pipeline; got OneClassSVM.",
    "PluginKernelDensity": "m.mvset: A MinimumVolumeSet is needed, alone or at the end of a Pipeline; got PluginKernel",
    "unfitted": "m.mvset: This MinimumVolumeSet instance is not fitted yet.",
    "trees": "m.mvset contains types that are not known to be safe: sklearn.tree._tree.Tree.",
}


@pytest.mark.parametrize("name", MODELS)
def test_every_command_refuses_other_models(refused, folder, name):
    library.save(MODELS[name](), "m.mvset")
    for command in (("info", "m.mvset"), ("score", "m.mvset", "today.csv"), ("export", "m.mvset", "--onnx", "m.onnx")):
        assert refused(*command).startswith(SAID[name])


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "m.mvset is not a model file. Model files are written by mvset.save and `mvset fit`."),
        (b"a,b\n1,2\n", "m.mvset is not a model file. Model files are written by mvset.save and `mvset fit`."),
        (None, "m.mvset is truncated or damaged: File is not a zip file. Copy it once more, or fit again."),
    ],
)
def test_every_command_refuses_files_that_are_not_models(refused, folder, content, said):
    whole = (folder / "model.mvset").read_bytes()
    (folder / "m.mvset").write_bytes(whole[: len(whole) // 2] if content is None else content)
    for command in (("info", "m.mvset"), ("score", "m.mvset", "today.csv"), ("export", "m.mvset", "--onnx", "m.onnx")):
        assert refused(*command) == said


def test_a_file_that_is_not_there_is_named(refused):
    assert refused("info", "m.mvset") == "m.mvset: No such file or directory."
    assert refused("info", ".") == ".: Is a directory."
