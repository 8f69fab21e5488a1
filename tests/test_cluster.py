"""Fits and scores on a real cluster of Dask, with workers in processes of their own: as on one machine."""

import os
import resource
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import joblib
import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset
import pyarrow.parquet
import pytest

import mvset
from mvset import MinimumVolumeSet
from mvset.app.cli.engine import ClusterError
from mvset.app.cli.engine import running_on as cluster
from mvset.app.summaries.scan import TableScan
from mvset.app.tables.columns import ColumnRoles
from mvset.app.tables.errors import TableError
from mvset.app.tables.fitting import fit_table
from mvset.app.tables.formats import ParquetFile
from mvset.app.tables.reading import TableReader
from mvset.app.tables.scoring import score_table
from mvset.app.tables.sources import table_files
from mvset.estimators.fitted_model import FittedModel
from mvset.parallel import cluster_map, thread_map
from mvset.rows import stream as row_stream

COMMAND = str(Path(sys.executable).parent / "mvset")
N_ROWS = 30_000
NAMES = ["flow", "pressure", "speed"]


@pytest.fixture(scope="module")
def address():
    """Of a cluster of two workers, which gives up when a task has killed two of them."""
    import dask
    from distributed import LocalCluster

    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 1}),
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0") as started,
    ):
        yield started.scheduler_address.replace("tcp://", "dask://")


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """One table in files of three formats, in row groups."""
    folder = tmp_path_factory.mktemp("tables")
    rng = np.random.default_rng(0)
    rows = rng.normal([40.0, 4.0, 900.0], [2.0, 0.1, 30.0], size=(N_ROWS, 3))
    table = pa.table({"id": np.arange(N_ROWS), **dict(zip(NAMES, rows.T, strict=True))})
    pa.parquet.write_table(table.slice(0, 17_000), folder / "1.parquet", row_group_size=3000)
    pa.csv.write_csv(table.slice(17_000, 4000), folder / "2.csv")
    with pa.ipc.new_file(folder / "3.feather", table.schema) as writer:
        writer.write_table(table.slice(21_000), max_chunksize=2500)
    return folder


@pytest.fixture
def small_parts(monkeypatch):
    monkeypatch.setattr(row_stream, "PART_ROWS", 4000)


def estimator(**settings):
    return MinimumVolumeSet(
        **{"sigma": [1.0, 2.0], "scaling": "standard", "random_state": 0, "max_train_samples": 500} | settings
    )


def fitted(files, **options):
    return fit_table(files, estimator(), ColumnRoles(columns=NAMES), seed=0, **options)


def scored(files, model, out, **options):
    """The results of all rows, and the summary."""
    reader = TableReader(files, NAMES, ["id"], "note")
    survey = TableScan(FittedModel.of(model), 0.9, n_unusual=5)
    score_table(reader, survey, out=out, **options)
    assert [path.name for path in out.parent.iterdir() if path.name.startswith(".")] == []
    return pa.parquet.read_table(out), survey.result(), (reader.n_rows, reader.n_dropped)


def assert_alike(found, expected):
    (table, summary, counts), (expected_table, expected_summary, expected_counts) = found, expected
    assert table.equals(expected_table)
    assert counts == expected_counts
    assert summary.drift == expected_summary.drift
    assert summary.unusual == expected_summary.unusual
    np.testing.assert_array_equal(summary.level_counts, expected_summary.level_counts)


@pytest.fixture(scope="module")
def model(tables):
    return fitted(table_files([str(tables)])).model


@pytest.mark.slow
@pytest.mark.usefixtures("small_parts")
def test_a_fit_on_a_cluster_is_that_of_one_machine(address, tables, model):
    steps = []
    with cluster(address):
        found = fitted(table_files([str(tables)]), on_progress=lambda *step: steps.append(step))
    assert found.model.sets_ == model.sets_
    assert (found.n_rows, found.n_used, found.n_dropped) == (N_ROWS, N_ROWS, 0)
    read = [done for doing, done, _ in steps if doing == "calibrating"]
    assert len(read) == 3 + 1 + 2  # parts
    assert read[-1] == N_ROWS - 5000


@pytest.mark.usefixtures("small_parts")
def test_scores_on_a_cluster_are_those_of_one_machine(address, tables, model, tmp_path):
    files = table_files([str(tables)])
    expected = scored(files, model, tmp_path / "expected.parquet")
    shares = []
    with cluster(address):
        found = scored(files, model, tmp_path / "found.parquet", on_progress=shares.append)
        outside = scored(files, model, tmp_path / "outside.parquet", only_outside=True)
    assert_alike(found, expected)
    assert len(shares) == 6
    assert shares[-1] == 1.0
    assert outside[0].equals(expected[0].filter(pa.compute.invert(expected[0]["inside"])))


@pytest.mark.usefixtures("small_parts")
@pytest.mark.slow
def test_rows_with_missing_values_are_left_out_on_a_cluster(address, tmp_path):
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(25_000, 3))
    rows[rng.random(25_000) < 0.3, 1] = np.nan
    table = pa.table({"id": np.arange(25_000), **dict(zip(NAMES, rows.T, strict=True))})
    pa.parquet.write_table(table, tmp_path / "holes.parquet", row_group_size=1000)
    files = table_files([str(tmp_path / "holes.parquet")])
    expected = fitted(files, missing="drop")
    results = scored(files, expected.model, tmp_path / "expected.parquet")
    with cluster(address):
        found = fitted(files, missing="drop")
        assert_alike(scored(files, found.model, tmp_path / "found.parquet"), results)
        with pytest.raises(TableError, match=r"^.*holes.parquet: missing or infinite values in 'pressure' \(\d+\)"):
            fitted(files)
    assert found.model.sets_ == expected.model.sets_
    assert (found.n_rows, found.n_used) == (expected.n_rows, expected.n_used)
    assert found.n_dropped == expected.n_dropped > 5000


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize("kind", ["dataset", "filtered", "few rows"])
def test_a_dataset_is_fitted_on_the_cluster_of_joblib(kind, address, tables):
    from distributed import Client

    data = pa.dataset.dataset(tables / "1.parquet").replace_schema(pa.schema([(name, pa.float64()) for name in NAMES]))
    if kind == "filtered":  # is read by this machine
        data = data.filter(pa.compute.field("flow") > 39.0)
    if kind == "few rows":
        data = pa.dataset.FileSystemDataset(
            [next(data.get_fragments()).subset(row_group_ids=[0])], data.schema, data.format, data.filesystem
        )
    expected = estimator(max_train_samples=300).fit(data)
    with Client(address.replace("dask", "tcp")) as client, joblib.parallel_config("dask", client=client):
        found = estimator(max_train_samples=300).fit(data)
        array = estimator().fit(np.random.default_rng(0).normal(size=(300, 2)))
    assert found.sets_ == expected.sets_
    assert array.sets_.mass == 0.95


@pytest.mark.slow
def test_a_cluster_of_a_single_core_does_the_work_all_the_same():
    from distributed import LocalCluster

    alone = LocalCluster(n_workers=1, threads_per_worker=1, processes=True, dashboard_address=":0")
    with alone, cluster(alone.scheduler_address.replace("tcp", "dask")):
        assert os.getpid() not in set(cluster_map()(_process, range(3)))


def _process(_):
    return os.getpid()


class StallingFile(ParquetFile):
    """A file whose reader says who it is and waits to be killed, once, at the reading whose turn it is."""

    def _batches(self, wanted):
        file = self.path.with_suffix(".turn")
        turn = int(file.read_text())
        file.write_text(str(turn - 1))
        for batch, share in super()._batches(wanted):
            if turn == 0 and share >= 0.5:
                self.path.with_suffix(".pid").write_text(str(os.getpid()))
                time.sleep(300)
            yield batch, share


@pytest.fixture
def stalling(tables, tmp_path, monkeypatch):
    """The table, whose middle part stalls; and what kills its reader."""
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))
    path = tmp_path / "stalling.parquet"
    rows = pa.parquet.read_table(tables / "1.parquet").slice(0, 8000)
    pa.parquet.write_table(rows, path, row_group_size=1000)
    (tmp_path / "other").mkdir()
    pa.parquet.write_table(rows, tmp_path / "other" / "rest.parquet", row_group_size=1000)
    files = [*table_files([str(tables)])[:1], StallingFile(path), ParquetFile(tmp_path / "other" / "rest.parquet")]

    def expect_kill(turn):
        path.with_suffix(".pid").unlink(missing_ok=True)
        path.with_suffix(".turn").write_text(str(turn))
        killed = []
        if turn < 0:
            return killed

        def kill():
            deadline = time.monotonic() + 120
            while time.monotonic() < deadline:
                if path.with_suffix(".pid").exists() and (pid := path.with_suffix(".pid").read_text()):
                    os.kill(int(pid), signal.SIGKILL)
                    killed.append(int(pid))
                    return
                time.sleep(0.02)

        threading.Thread(target=kill, daemon=True).start()
        return killed

    return files, expect_kill


@pytest.mark.slow
@pytest.mark.parametrize("turn", [0, 1], ids=["survey", "calibration"])
def test_a_worker_killed_in_a_fit_changes_nothing(turn, address, stalling):
    files, expect_kill = stalling
    expect_kill(turn=-1)
    expected = fitted(files)
    killed = expect_kill(turn)
    with cluster(address):
        found = fitted(files)
    assert killed
    assert found.model.sets_ == expected.model.sets_
    assert found.n_rows == 33_000


@pytest.mark.slow
def test_a_worker_killed_while_it_scores_loses_no_row(address, stalling, model, tmp_path):
    files, expect_kill = stalling
    expect_kill(turn=-1)
    expected = scored(files, model, tmp_path / "expected.parquet")
    killed = expect_kill(turn=0)
    with cluster(address):
        found = scored(files, model, tmp_path / "found.parquet")
    assert killed
    assert_alike(found, expected)
    assert found[0].num_rows == 33_000


def run(*arguments):
    done = subprocess.run([COMMAND, *map(str, arguments)], capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr
    return done


@pytest.mark.slow
def test_the_command_runs_on_a_cluster_that_runs_elsewhere(address, tables, tmp_path, monkeypatch):
    monkeypatch.chdir(tables.parent)
    tables = Path(tables.name)  # named relative to a folder that is not that of the workers
    models = tmp_path / "here.mvset", tmp_path / "there.mvset"
    for path, engine in zip(models, ([], ["--engine", address]), strict=True):
        done = run("fit", tables, "--columns", ",".join(NAMES), "--out", path, *engine)
        assert (done.returncode, done.stderr) == (0, "")
    here, there = (mvset.load(path).sets_ for path in models)
    assert here == there
    files = Path("here.csv"), Path("there.csv")
    said = []
    for path, engine in zip(files, ([], ["--engine", address]), strict=True):
        done = run("score", models[0], tables, "--keep", "id", "--out", path, *engine)
        assert (done.returncode, done.stderr) == (0, "")
        said.append(done.stdout.replace(str(path), "OUT"))
    assert files[0].read_bytes() == files[1].read_bytes()
    assert said[0] == said[1]


@pytest.mark.slow
def test_files_that_workers_cannot_read_are_a_sentence(address, tables, model, tmp_path):
    mvset.save(model, tmp_path / "model.mvset")
    damaged = tmp_path / "damaged.parquet"
    whole = (tables / "1.parquet").read_bytes()
    damaged.write_bytes(whole[:2000] + bytes(80_000) + whole[82_000:])
    for command in (
        ["fit", damaged, "--columns", ",".join(NAMES), "--out", tmp_path / "new.mvset"],
        ["score", tmp_path / "model.mvset", damaged, "--out", tmp_path / "new.csv"],
    ):
        done = run(*command, "--engine", address)
        assert done.returncode == 1
        assert done.stdout == ""
        assert done.stderr.startswith(f"{damaged} cannot be read: ")
        assert sorted(path.name for path in tmp_path.iterdir()) == ["damaged.parquet", "model.mvset"]


def _die(_):
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.slow
def test_workers_that_die_again_and_again_are_a_sentence(address):
    said = "^Workers of the cluster died again and again, .*: give them more memory"
    with pytest.raises(ClusterError, match=said), cluster(address):
        list(cluster_map()(_die, [1]))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("tcp://127.0.0.1:1", "must be cpu, cuda, auto, dask://HOST:PORT or ray://HOST:PORT; got 'tcp://127.0.0.1:1'."),
        ("dask://", "must be cpu, cuda, auto, dask://HOST:PORT or ray://HOST:PORT; got 'dask://'."),
    ],
)
def test_an_address_is_checked(given, said, tmp_path):
    done = run("fit", tmp_path, "--engine", given)
    assert done.returncode == 2
    assert said in " ".join(done.stderr.replace("│", " ").split())


def test_a_cluster_that_does_not_answer_is_a_sentence(monkeypatch):
    monkeypatch.setattr("mvset.app.cli.engine._PATIENCE", 0.5)
    with (
        pytest.raises(ClusterError, match=r"^No scheduler of Dask answers at 127\.0\.0\.1:1: "),
        cluster("dask://127.0.0.1:1"),
    ):
        pass


def test_without_a_cluster_nothing_is_sent():
    assert cluster_map() is None
    with joblib.parallel_config("threading", n_jobs=2):
        assert cluster_map() is None


@pytest.mark.slow
def test_threads_are_those_of_this_machine_whatever_the_cluster_has(address):
    from distributed import Client

    names = []
    with Client(address.replace("dask", "tcp")) as client, joblib.parallel_config("dask", client=client):
        for n_jobs in (1, None):
            with thread_map(n_jobs) as threads:
                assert threads is map
        with thread_map(3) as threads:
            names = set(threads(lambda _: (time.sleep(0.02), threading.current_thread().name)[1], range(12)))
    assert len(names) == 3


@pytest.mark.slow
def test_a_disk_without_space_for_a_stream_is_a_sentence(tmp_path):
    script = """
import resource, numpy as np, pyarrow as pa
from mvset import MinimumVolumeSet
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
table = pa.table({"a": np.arange(50_000.0), "b": np.arange(50_000.0)})
try:
    MinimumVolumeSet().fit(pa.RecordBatchReader.from_batches(table.schema, table.to_batches(1000)))
except OSError as error:
    print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"TMPDIR": str(tmp_path)},
    )
    assert done.stdout.startswith(
        "[Errno 27] File too large, where rows are kept until they are read again; set TMPDIR"
    )
    assert str(tmp_path) in done.stdout
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_full_disk_leaves_nothing_behind(tables, model, tmp_path):
    mvset.save(model, tmp_path / "model.mvset")

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))

    for out in ("new.csv", "new.parquet", "new.feather", "new.ndjson"):
        command = [COMMAND, "score", str(tmp_path / "model.mvset"), str(tables), "--out", str(tmp_path / out)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, preexec_fn=limit)
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr == f"{tmp_path / out}: File too large.\n"
        assert [path.name for path in tmp_path.iterdir()] == ["model.mvset"]
