"""Score a table, and fit one, on a local Ray, and compare with one machine: `python examples/ray_data.py`.

Needs `pip install '.[cli]' 'ray[data]'`. Exit code 1 if the results differ by a single bit.
"""

import os
import sys
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds

os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"  # listens on 127.0.0.1 only, on Linux as well
import ray
from joblib import parallel_config
from ray.util.joblib import register_ray

from mvset import BatchScorer, MinimumVolumeSet
from mvset.paper.datasets import two_moons


def bits(table: pa.Table) -> bytes:
    """All values of a table, its rows in the order of their ids."""
    table = table.sort_by("id")
    return np.stack([table[name].cast("float64").to_numpy() for name in table.column_names]).tobytes()


judge = BatchScorer(MinimumVolumeSet(mass=0.95, random_state=0).fit(two_moons(100_000, random_state=0)))
x, y = two_moons(200_000, random_state=1).T
table = pa.table({"id": np.arange(len(x)), "x0": x, "x1": y})

ray.init("local", include_dashboard=False)
with TemporaryDirectory() as folder:
    ds.write_dataset(table, folder, format="parquet", max_rows_per_file=25_000, max_rows_per_group=25_000)
    rows = ray.data.read_parquet(folder).repartition(8)  # small files are read as one block
    blocks = ray.get(rows.map_batches(judge, batch_format="pyarrow").to_arrow_refs())
    judged = pa.concat_tables(blocks)
    judged_alike = bits(judged) == bits(judge(table))

    files = ds.dataset(folder, schema=table.schema.remove(0))
    register_ray()
    with parallel_config("ray", n_jobs=-1):
        fitted = MinimumVolumeSet(random_state=0).fit(files)
    fitted_alike = fitted.sets_ == MinimumVolumeSet(random_state=0).fit(files).sets_
ray.shutdown()

print(f"ray {ray.__version__}: {len(judged)} rows in {len(blocks)} blocks, equal to the local result: {judged_alike}")
print(f"ray {ray.__version__}: fit to {len(files.files)} files, equal to the local fit: {fitted_alike}")
sys.exit(not (judged_alike and fitted_alike))
