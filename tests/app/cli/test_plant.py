"""A walk from the raw files of a simulated plant to the page: categories, gaps, autocorrelation, a fault."""

import json
from datetime import timedelta

import pytest

import plant

N_TRAIN, N_DAY, FAULT = 5040, 1440, 900


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("plant")
    later = plant.START + timedelta(minutes=N_TRAIN)
    plant.minutes(N_TRAIN, 5).to_csv(folder / "normal.csv", index=False)
    plant.minutes(N_DAY, 6, start=later).to_csv(folder / "calm.csv", index=False)
    plant.minutes(N_DAY, 7, start=later, fault_at=FAULT).to_csv(folder / "faulty.csv", index=False)
    return folder


def test_from_raw_files_to_the_page(mvset, files, tmp_path):
    model = str(tmp_path / "model.mvset")
    done = mvset("fit", str(files / "normal.csv"), "--time", "time", "--missing", "impute", "--out", model, "--json")
    assert (done.exit_code, done.stderr) == (0, "")
    assert list(json.loads(done.stdout)["categories"]) == ["mode", "product"]

    calm = json.loads(mvset("score", model, str(files / "calm.csv"), "--time", "time", "--json").stdout)
    assert calm["rows"] == N_DAY
    assert calm["rows_dropped"] == 0
    assert 0.02 < calm["share_outside"] < 0.08
    assert not calm["drifted"]
    assert calm["onset"] is None

    faulty = json.loads(mvset("score", model, str(files / "faulty.csv"), "--time", "time", "--json").stdout)
    assert faulty["drifted"]
    assert faulty["onset"]["low"]["row"] <= FAULT <= faulty["onset"]["high"]["row"]
    assert faulty["onset"]["high"]["row"] - faulty["onset"]["low"]["row"] < 120
    first = faulty["columns"][0]
    assert (first["name"], first["direction"]) == ("vibration", "above")
    assert first["share"] > 0.7


@pytest.mark.slow
def test_one_command_writes_the_page(mvset, files, tmp_path):
    page = tmp_path / "page.html"
    command = ("--train", str(files / "normal.csv"), str(files / "faulty.csv"), "--time", "time", "--missing", "impute")
    done = mvset("report", *command, "--out", str(page))
    assert (done.exit_code, done.stderr) == (0, "")
    written = page.read_text()
    begin = plant.START + timedelta(minutes=N_TRAIN)
    assert "Drift: these rows differ" in written
    onset = written.split("Rows are unlike the training rows since ")[1].split(",")[0].strip()
    low, high = (f"{begin + timedelta(minutes=FAULT + minutes):%Y-%m-%d %H:%M}" for minutes in (-45, 45))
    assert low <= onset <= high


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["today.csv"], "a model and a table are needed; got today.csv"),
        (["model.mvset", "today.csv", "--exclude", "id"], "--exclude, --missing and --train-where need --train"),
    ],
)
def test_what_is_refused(mvset, arguments, said):
    done = mvset("report", *arguments)
    assert done.exit_code == 2
    assert said in " ".join(done.stderr.replace("│", " ").split())
