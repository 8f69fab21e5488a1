"""What a watch has seen, as a text file of metrics that Prometheus's node_exporter reads."""

from pathlib import Path

from mvset.app.watch.state import ScoredFile, Totals
from mvset.files.atomic import atomic_write


def write_metrics(path: Path, totals: Totals, last: ScoredFile, now: float) -> None:
    """Replace the file: a collector never sees half of it."""
    metrics = [
        ("files", "counter", "Tables scored.", totals.files),
        ("rows", "counter", "Rows scored.", totals.rows),
        ("rows_outside", "counter", "Rows outside the set.", totals.n_outside),
        ("alarms", "counter", "Alarms given.", totals.alarms),
        ("last_file_seconds", "gauge", "Unix time at which the last table was scored.", now),
        ("last_file_share_outside", "gauge", "Share of the rows of the last table outside.", last.share_outside),
        ("expected_share_outside", "gauge", "Share outside among normal rows.", last.expected_share),
        ("last_file_unusual", "gauge", "1 if the last table is unusual.", float(last.status == "unusual")),
        ("evidence", "gauge", "Logarithm of the evidence for drift since rows were normal.", last.evidence),
        ("drifting", "gauge", "1 from an alarm until the rows are back to normal.", float(last.drifting)),
    ]
    lines = []
    for name, kind, text, value in metrics:
        sample = f"mvset_{name}_total" if kind == "counter" else f"mvset_{name}"
        lines += [f"# TYPE mvset_{name} {kind}", f"# HELP mvset_{name} {text}", f"{sample} {value:.12g}"]
    with atomic_write(path) as file:
        file.write_text("\n".join([*lines, "# EOF", ""]))
