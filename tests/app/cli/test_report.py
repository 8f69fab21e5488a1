import shutil

import pytest

from mvset import MinimumVolumeSet, save
from mvset.app.cli import options
from mvset.paper.datasets import two_moons


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "model.mvset"
    save(MinimumVolumeSet(sigma=0.3, random_state=0).fit(two_moons(300, random_state=0)), path)
    return path


@pytest.fixture
def folder(model, tmp_path, monkeypatch):
    shutil.copy(model, tmp_path)
    monkeypatch.chdir(tmp_path)
    lines = [f"{i},{x},{y}" for i, (x, y) in enumerate(two_moons(200, random_state=1))]
    (tmp_path / "today.csv").write_text("\n".join(["id,x0,x1", *lines, "200,,1.0", ""]))
    return tmp_path


def test_a_page_about_a_table(mvset, folder):
    done = mvset("report", "model.mvset", "today.csv", "--keep", "id", "--mass", "0.9")
    assert (done.exit_code, done.stdout, done.stderr) == (0, "report.html\n", "")
    page = (folder / "report.html").read_text()
    assert "<h1>today.csv</h1>" in page
    assert "of 200 rows outside" in page
    assert "1 row was left out for missing values" in page
    assert '<output id="mass-value" for="mass">0.9</output>' in page


def test_a_page_in_place_of_a_table_is_refused(mvset, folder):
    done = mvset("report", "model.mvset", "today.csv", "--out", "today.csv")
    assert done.exit_code == 2
    assert (folder / "today.csv").read_text().startswith("id,x0,x1")


def test_a_page_is_html(mvset, folder):
    done = mvset("report", "model.mvset", "today.csv", "--out", "page.pdf")
    assert done.exit_code == 2
    assert "ends in .html" in " ".join(done.stderr.replace("│", " ").split())
    assert not (folder / "page.pdf").exists()


def test_a_page_without_rows(mvset, folder):
    done = mvset("report", "model.mvset", "today.csv", "--keep", "id", "--no-rows")
    assert (done.exit_code, done.stdout, done.stderr) == (0, "report.html\n", "")
    page = (folder / "report.html").read_text()
    assert "This page contains no values of single rows" in page
    first = (folder / "today.csv").read_text().splitlines()[1].split(",")[1]
    assert len(first) > 8
    assert first not in page


def labelled(path, labels):
    rows = two_moons(len(labels), random_state=2)
    lines = [f"{x},{y},{label}" for (x, y), label in zip(rows, labels, strict=True)]
    path.write_text("\n".join(["x0,x1,label", *lines, ""]))


def test_where_selects_rows_of_the_table_that_is_reported_on(mvset, folder):
    labelled(folder / "normal.csv", ["good", "bad"] * 100)
    labelled(folder / "later.csv", ["good"] * 30 + ["bad"] * 70)
    seen = {}
    for name, given in {
        "all": (),
        "where": ("--where", "label = 'bad'"),
        "train": ("--train-where", "label = 'good'"),
        "both": ("--where", "label = 'bad'", "--train-where", "label = 'good'"),
    }.items():
        done = mvset("report", "--train", "normal.csv", "later.csv", "--exclude", "label", *given)
        assert done.exit_code == 0, done.stderr
        page = (folder / "report.html").read_text()
        seen[name] = "of 70 rows outside" in page, "of 100 rows outside" in page
    assert seen == {"all": (False, True), "where": (True, False), "train": (False, True), "both": (True, False)}


def test_where_has_the_same_meaning_with_a_model(mvset, folder):
    done = mvset("report", "model.mvset", "today.csv", "--where", "id < 50")
    assert done.exit_code == 0, done.stderr
    assert "of 50 rows outside" in (folder / "report.html").read_text()


def test_train_where_selects_the_rows_of_the_fit(mvset, folder, monkeypatch):
    labelled(folder / "normal.csv", ["good", "bad"] * 100)
    fitted = []
    original = options.fit_files
    monkeypatch.setattr(
        options, "fit_files", lambda *args, **kwargs: fitted.append(original(*args, **kwargs)) or fitted[-1]
    )
    done = mvset(
        "report", "--train", "normal.csv", "today.csv", "--exclude", "label", "--train-where", "label = 'good'"
    )
    assert done.exit_code == 0, done.stderr
    assert fitted[0].n_used == 100


def test_a_wrong_condition_is_reported_by_its_option(mvset, folder):
    labelled(folder / "normal.csv", ["good", "bad"] * 100)
    report = ("report", "--train", "normal.csv", "today.csv", "--exclude", "label")
    said = mvset(*report, "--train-where", "grade = 1").stderr
    assert said.startswith("--train-where: there is no column 'grade'")
    assert mvset(*report, "--where", "grade = 1").stderr.startswith("--where: there is no column 'grade'")
    done = mvset("report", "model.mvset", "today.csv", "--train-where", "id < 50")
    assert done.exit_code == 2
    assert "--train-where need --train" in " ".join(done.stderr.replace("│", " ").split())
