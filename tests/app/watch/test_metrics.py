from dataclasses import replace

from mvset.app.watch.metrics import write_metrics
from mvset.app.watch.state import ScoredFile, Totals

LAST = ScoredFile("b.csv", 200, 0, 150, 0.75, 0.05, True, "unusual", "Unusual.", "[]", 12.5, True, True, False, "b.out")


def test_metrics_are_text_that_collectors_read(tmp_path):
    path = tmp_path / "mvset.prom"
    write_metrics(path, Totals(2, 400, 160, 1), LAST, 1_700_000_000.5)
    lines = path.read_text().splitlines()
    assert lines[-1] == "# EOF"
    samples = dict(line.split() for line in lines if not line.startswith("#"))
    assert samples["mvset_rows_total"] == "400"
    assert samples["mvset_rows_outside_total"] == "160"
    assert samples["mvset_alarms_total"] == "1"
    assert samples["mvset_last_file_seconds"] == "1700000000.5"
    assert (samples["mvset_last_file_unusual"], samples["mvset_drifting"]) == ("1", "1")
    kinds = {line.split()[2]: line.split()[3] for line in lines if line.startswith("# TYPE")}
    assert {name.removesuffix("_total") for name in samples} == set(kinds)
    assert kinds["mvset_rows"] == "counter"
    assert [each.name for each in tmp_path.iterdir()] == ["mvset.prom"]  # nothing half written


def test_the_file_is_replaced(tmp_path):
    path = tmp_path / "mvset.prom"
    for last in (LAST, replace(LAST, status="nothing unusual found", drifting=False)):
        write_metrics(path, Totals(1, 200, 150, 0), last, 0.0)
    assert "mvset_drifting 0\n" in path.read_text()
    assert path.read_text().count("# EOF") == 1
