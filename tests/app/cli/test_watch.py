"""``mvset watch``, in this process; tests/app/cli/test_watch_processes.py kills it."""

import errno
import json
import os
import signal
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from mvset.app.tables import spooling
from mvset.app.watch import watcher
from mvset.app.watch.state import WatchState
from mvset.wording import Message

from .conftest import readings

WATCH = ("watch", "model.mvset", "incoming", "--out-dir", "judged", "--once", "--settle", "0")
SHIFTS = [0.0, 0.0, 0.3, 0.3, 0.0, 0.0, 0.0, 0.0, 0.0, 0.3]  # two departures from normal
RECORD = "import os, sys; open('told', 'a').write(os.environ['MVSET_ALARM'] + sys.stdin.read() + '\\n')"
ON_ALARM = ("--on-alarm", f'{sys.executable} -c "{RECORD}"')

pytestmark = pytest.mark.filterwarnings("default")


def arrive(name, shift=0.0, age=0, rows=100):
    """A table arrives; those with a smaller age come later."""
    path = Path("incoming", name)
    path.parent.mkdir(exist_ok=True, parents=True)
    pa.csv.write_csv(readings(rows, seed=100 + age, shift=shift), path)
    os.utime(path, (1e9 - age, 1e9 - age))


def arrive_all(shifts=SHIFTS):
    for i, shift in enumerate(shifts):
        arrive(f"{i}.csv", shift, age=len(shifts) - i)


def remembered(state="judged/watch.sqlite"):
    with closing(sqlite3.connect(state)) as database:
        return [database.execute(f"SELECT * FROM {table} ORDER BY 1").fetchall() for table in ("files", "watch")]


def results():
    return {path.name: path.read_bytes() for path in Path("judged").rglob("*.csv")}


def told():
    return Path("told").read_text().splitlines() if Path("told").exists() else []


def test_results_are_those_of_mvset_score(mvset, folder):
    arrive("b.csv", age=1)
    arrive("site/a.csv", shift=0.3, age=2)
    done = mvset(*WATCH, "--keep", "id", "--mass", "90%")
    assert done.exit_code == 0, done.stderr
    assert [line.partition(":")[0] for line in done.stdout.splitlines()] == ["site/a.csv", "b.csv"]  # as they came
    for name in ("b.csv", "site/a.csv"):
        mvset("score", "model.mvset", f"incoming/{name}", "--keep", "id", "--mass", "0.9", "--out", "expected.csv")
        assert Path("judged", f"{name}.csv").read_bytes() == Path("expected.csv").read_bytes()
    assert mvset(*WATCH, "--mass", "0.9").stdout == ""


def test_one_alarm_for_each_departure_from_normal(mvset, folder):
    arrive_all()
    done = mvset(*WATCH, *ON_ALARM, "--json")
    lines, said = [json.loads(line) for line in done.stdout.splitlines()], done.stderr
    assert [line["name"] for line in lines] == [f"{i}.csv" for i in range(10)]
    assert [line["alarm"] for line in lines] == [i in (2, 9) for i in range(10)]
    assert [line["drifting"] for line in lines] == [i in (2, 3, 4, 5, 9) for i in range(10)]
    assert [line["back_to_normal"] for line in lines] == [i == 6 for i in range(10)]
    assert said.count("Alarm: ") == 2
    first, second = (json.loads(line[1:]) for line in told())
    assert [first["alarm"], second["alarm"]] == [1, 2]
    assert [first["file"], second["file"]] == ["incoming/2.csv", "incoming/9.csv"]
    assert first["share_outside"] == lines[2]["share_outside"] > 0.5
    assert Path(first["results"]).exists()


@pytest.mark.slow
def test_a_restart_changes_nothing(mvset, folder):
    arrive_all()
    mvset(*WATCH)
    expected = remembered(), results()
    for path in Path("judged").iterdir():
        path.unlink()
    for i in range(len(SHIFTS)):
        os.rename(f"incoming/{i}.csv", f"{i}.waiting")
    for i in range(len(SHIFTS)):
        os.rename(f"{i}.waiting", f"incoming/{i}.csv")
        mvset(*WATCH)
    assert (remembered(), results()) == expected


class Crash(BaseException):
    """The process ends here."""


@pytest.mark.parametrize(
    ("step", "when", "n_told"),
    [
        pytest.param("add_scored", "before", 1, marks=pytest.mark.slow),
        ("add_scored", "after", 1),
        ("set_command", "before", 2),
        pytest.param("set_command", "after", 1, marks=pytest.mark.slow),
    ],
)
def test_a_crash_loses_nothing_and_repeats_at_most_the_command(mvset, folder, monkeypatch, step, when, n_told):
    arrive_all(SHIFTS[:5])
    mvset(*WATCH, *ON_ALARM)
    expected, expected_results = remembered(), results()
    for path in [*Path("judged").iterdir(), Path("told")]:
        path.unlink()
    original, crashes = getattr(WatchState, step), iter([True])

    def crash(self, *arguments):
        at_alarm = step == "set_command" or arguments[0].name == "2.csv"
        if when == "after":
            original(self, *arguments)
        if at_alarm and next(crashes, False):
            raise Crash
        if when == "before":
            original(self, *arguments)

    monkeypatch.setattr(WatchState, step, crash)
    with pytest.raises(Crash):
        mvset(*WATCH, *ON_ALARM)
    done = mvset(*WATCH, *ON_ALARM)
    assert done.exit_code == 0
    assert (remembered(), results()) == (expected, expected_results)
    assert len(told()) == n_told
    assert len(set(told())) == 1


def test_a_table_that_cannot_be_read_does_not_stop_the_others(mvset, folder):
    Path("incoming").mkdir()
    Path("incoming/a.csv").write_text("flow;pressure\nx;y\n")
    Path("incoming/b.parquet").write_bytes(b"PAR1 and not much more")
    Path("incoming/empty.csv").touch()
    arrive("c.csv")
    done = mvset(*WATCH)
    assert done.exit_code == 0
    assert done.stdout.startswith("c.csv: ")
    said = [line for line in done.stderr.splitlines() if not line.startswith("Note: ")]
    assert len(said) == 3
    assert all(any(f"incoming/{name}" in line for line in said) for name in ("a.csv", "b.parquet", "empty.csv"))
    done = mvset(*WATCH)
    assert (done.stdout, done.stderr) == ("", "")  # remembered
    arrive("a.csv")
    assert mvset(*WATCH).stdout.startswith("a.csv: ")


def test_messages_about_tables_are_in_terms_of_the_command(mvset, folder, monkeypatch):
    arrive("a.csv")

    def fails(*_, **__):
        raise ValueError(Message("No rows.", "Use {groups:...}.", "Widen {sigma}."))

    with monkeypatch.context() as context:
        context.setattr(watcher, "score_table", fails)
        assert mvset(*WATCH).stderr.endswith("\nNo rows. Use --group COLUMN.\n")
    arrive("a.csv", rows=120)
    said = mvset(*WATCH, "--where", "grade = 1").stderr
    assert "\n--where: there is no column 'grade'" in said


def test_a_table_that_changes_later_is_not_judged_again(mvset, folder):
    arrive("a.csv")
    mvset(*WATCH)
    before = remembered()
    arrive("a.csv", rows=120)
    done = mvset(*WATCH)
    assert done.stdout == ""
    assert done.stderr.startswith("incoming/a.csv has changed since it was scored. It is not scored again")
    assert mvset(*WATCH).stderr == ""  # said once
    assert remembered()[1:] == before[1:]


def test_files_that_are_no_complete_tables_are_left_alone(mvset, folder):
    for name in (".hidden.csv", "a.csv.partial", "b.tmp", "_metadata.csv", "~$book.csv", ".folder/c.csv"):
        arrive(name)
    done = mvset(*WATCH)
    assert done.stdout == ""
    assert not results()


def test_a_table_that_is_still_written_is_left_to_the_next_run(mvset, folder, monkeypatch):
    arrive("a.csv")
    arrive("b.csv", age=1)

    def sleep(seconds):
        assert seconds == 7.0
        with Path("incoming/a.csv").open("a") as file:
            file.write('"x",40.0,4.0\n')
        monkeypatch.setattr("mvset.app.watch.watcher.time.monotonic", lambda: 1e9)

    monkeypatch.setattr("mvset.app.watch.watcher.time.sleep", sleep)
    done = mvset(*WATCH[:-1], "7")
    assert [line.partition(":")[0] for line in done.stdout.splitlines()] == ["b.csv"]
    assert [line.partition(":")[0] for line in mvset(*WATCH).stdout.splitlines()] == ["a.csv"]


def test_a_table_that_changes_while_it_is_read_is_judged_later(mvset, folder, monkeypatch):
    arrive("a.csv")
    original = watcher.score_table

    def changing(*arguments, **options):
        original(*arguments, **options)
        arrive("a.csv", age=5, rows=120)
        monkeypatch.setattr(watcher, "score_table", original)

    monkeypatch.setattr(watcher, "score_table", changing)
    assert mvset(*WATCH).stdout == ""
    assert "of 120 rows lie outside" in mvset(*WATCH).stdout


def test_a_full_disk_ends_the_watch_and_the_table_is_judged_later(mvset, folder, monkeypatch):
    arrive("a.csv")
    with monkeypatch.context() as context:

        def full(*_, **__):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        context.setattr(watcher, "score_table", full)
        done = mvset(*WATCH)
        assert done.exit_code == 1
        assert done.stderr.endswith("No space left on device.\n")
    assert mvset(*WATCH).stdout.startswith("a.csv: ")


def test_a_state_that_cannot_be_written_ends_the_watch(mvset, folder):
    arrive("a.csv")
    mvset(*WATCH)
    arrive("b.csv")
    with closing(sqlite3.connect("judged/watch.sqlite")) as database:
        database.execute("ALTER TABLE files DROP COLUMN problem")
    done = mvset(*WATCH)
    assert done.exit_code == 1
    assert done.stderr.startswith("judged/watch.sqlite cannot be written: ")


@pytest.mark.skipif(sys.platform != "linux", reason="Names of files are bytes.")
def test_a_name_that_is_no_text_is_said_and_left_alone(mvset, folder):
    arrive("a.csv")
    os.rename(b"incoming/a.csv", b"incoming/gr\xf6\xdfe.csv")
    arrive("b.csv")
    done = mvset(*WATCH)
    assert done.stdout.startswith("b.csv: ")
    assert len(done.stdout.splitlines()) == 1
    assert "its name is not valid text. Rename it." in done.stderr


def test_temporary_files_do_not_pile_up(mvset, folder):
    Path("incoming").mkdir()
    rows = readings(50, seed=1).select(["flow", "pressure"]).to_pylist()
    Path("incoming/a.json").write_text(json.dumps(rows))
    assert mvset(*WATCH).stdout.startswith("a.json: ")
    assert spooling._folder == []


def test_a_bug_does_not_stop_the_watch(mvset, folder, monkeypatch):
    arrive("a.csv")
    monkeypatch.setattr(watcher, "score_table", lambda *_, **__: 1 / 0)
    done = mvset(*WATCH)
    assert done.exit_code == 0
    assert done.stderr.endswith("This is a bug in mvset: ZeroDivisionError('division by zero').\n")


@pytest.mark.parametrize(
    ("command", "said"),
    [("false", "ended with exit code 1."), ("sleep 60", "took more than 0.1 seconds and was ended.")],
)
def test_a_command_that_fails_is_said_and_not_repeated(mvset, folder, monkeypatch, command, said):
    monkeypatch.setattr("mvset.app.watch.alarms.TIMEOUT", 0.1)
    arrive_all(SHIFTS[:4])
    done = mvset(*WATCH, "--on-alarm", command)
    assert done.exit_code == 0
    assert f"The command of --on-alarm for incoming/2.csv {said}\n" in done.stderr
    assert len(done.stdout.splitlines()) == 4
    assert mvset(*WATCH, *ON_ALARM).exit_code == 0
    assert told() == []


def test_alarms_of_a_watch_without_a_command_are_not_sent_later(mvset, folder):
    arrive_all(SHIFTS[:4])
    assert mvset(*WATCH, "--fail-on-drift").exit_code == 3
    assert mvset(*WATCH, *ON_ALARM, "--fail-on-drift").exit_code == 0
    assert told() == []


def test_two_watches_cannot_use_the_same_state(refused, mvset, folder):
    arrive("a.csv")
    mvset(*WATCH)
    with closing(WatchState(Path("judged/watch.sqlite"), "x")):
        assert refused(*WATCH).startswith("Another watch uses judged/watch.sqlite. Stop it, or ")
    assert mvset(*WATCH).exit_code == 0


@pytest.mark.parametrize("content", [b"not a database, but a long text that somebody has put there" * 100, None])
def test_a_state_that_is_none_is_refused(refused, folder, content):
    arrive("a.csv")
    Path("judged").mkdir()
    Path("judged/watch.sqlite.lock").touch()
    if content is None:
        with closing(sqlite3.connect("judged/watch.sqlite")) as database:
            database.executescript(
                "CREATE TABLE watch (name TEXT PRIMARY KEY, value); INSERT INTO watch VALUES ('format', 9)"
            )
    else:
        Path("judged/watch.sqlite").write_bytes(content)
    assert refused(*WATCH).endswith("Move it away.")


def test_another_model_starts_the_monitor_anew(mvset, folder):
    arrive_all(SHIFTS[:3])
    assert "Alarm" in mvset(*WATCH).stderr
    arrive("z.csv")
    done = mvset(*WATCH, "--mass", "0.9")
    assert done.stderr == (
        "Note: the model or --mass has changed, so the drift monitor starts anew. No file is scored again.\n"
    )
    assert len(done.stdout.splitlines()) == 1


def test_a_model_with_reserved_rows_compares_with_these(mvset, folder):
    arrive("a.csv", shift=0.3)
    assert "compares with the first files it sees" in mvset(*WATCH).stderr  # and so finds nothing
    mvset("fit", "normal.csv", "--exclude", "id", "--calibration", "conformal", "--out", "reserved.mvset")
    done = mvset("watch", "reserved.mvset", *WATCH[2:4], "other", *WATCH[5:])
    assert done.stderr.startswith("Alarm: a.csv: Unusual")
    assert done.stderr.endswith(" No other alarm until the rows are normal.\n")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("incoming",), "Missing option '--out-dir'."),
        (("--out-dir", "judged"), "Missing argument 'DIR'."),
        (("incoming", "--out-dir", "incoming/judged"), "--out-dir must be apart from the watched folder"),
        (("incoming", "--out-dir", "."), "--out-dir must be apart from the watched folder"),
        (("nowhere", "--out-dir", "judged"), "'nowhere' does not exist."),
        (("today.csv", "--out-dir", "judged"), "'today.csv' is a file."),
        (("incoming", "--out-dir", "judged", "--out", "results.csv"), "No such option: --out"),
        (("incoming", "--out-dir", "judged", "--engine", "dask://h:1"), "No such option: --engine"),
        (("incoming", "--out-dir", "judged", "--read", "na"), "--read na: write KEY=VALUE, where KEY is one of"),
    ],
)
def test_wrong_usage(refused, folder, arguments, said):
    Path("incoming").mkdir()
    assert said in refused("watch", "model.mvset", *arguments, code=2)


@pytest.mark.parametrize("option", ["--watch", "--out-dir", "--once", "--settle", "--on-alarm"])
def test_score_has_no_options_of_a_watch(refused, folder, option):
    assert f"No such option: {option}" in refused("score", "model.mvset", "today.csv", option, "1", code=2)


@pytest.mark.parametrize("command", ["no-such-program --now", "'", ""])
def test_a_command_that_does_not_exist_is_refused_at_the_start(refused, folder, command):
    Path("incoming").mkdir()
    assert refused(*WATCH, "--on-alarm", command).startswith("--on-alarm: ")


def test_models_with_offsets_for_groups_and_other_options_of_score(mvset, folder):
    sites = pa.array(["north", "south"] * 200)
    pa.csv.write_csv(readings(400, seed=0).append_column("site", sites), "sites.csv")
    mvset("fit", "sites.csv", "--exclude", "id", "--strata", "site", "--out", "model.mvset")
    Path("incoming").mkdir()
    for i, shift in enumerate(SHIFTS[:4]):
        table = readings(100, seed=50 + i, shift=shift).append_column("site", sites[:100])
        pa.parquet.write_table(table, f"incoming/{i}.parquet")
        os.utime(f"incoming/{i}.parquet", (1e9 + i, 1e9 + i))
    done = mvset(*WATCH, "--only-outside", "--out-format", "parquet")
    assert done.stderr.count("Alarm: ") == 1
    written = pa.parquet.read_table("judged/3.parquet.parquet")
    mvset("score", "model.mvset", "incoming/3.parquet", "--only-outside", "--out", "expected.parquet")
    assert written.equals(pa.parquet.read_table("expected.parquet"))
    assert set(written["inside"].to_pylist()) == {False}


@pytest.mark.parametrize("name", ["watch.sqlite", "watch.sqlite.lock"])
def test_a_state_that_cannot_be_opened_is_refused(mvset, folder, name):
    arrive("a.csv")
    Path("judged", name).mkdir(parents=True)
    done = mvset(*WATCH)
    assert (done.exit_code, done.stderr) == (1, f"judged/{name}: unable to open database file.\n")


def test_a_signal_that_a_library_makes_an_error_is_not_one_of_the_table(mvset, folder, monkeypatch):
    def convert(*_, **__):
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt:
            raise ImportError("a compiled module") from None

    arrive("a.csv")
    with monkeypatch.context() as patch:
        patch.setattr(watcher, "score_table", convert)
        assert mvset(*WATCH).exit_code == 130
    assert mvset(*WATCH).stdout.startswith("a.csv: ")
