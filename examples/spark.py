"""Score a table on a local Spark, and compare with one machine: `python examples/spark.py`.

Needs `pip install '.[cli]' 'pyspark[sql]'` and Java 17 (on Debian `apt install openjdk-17-jre-headless`).
Exit code 1 if the results differ by a single bit.
"""

import os
import sys
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyspark
from pyspark.sql import SparkSession

from mvset import BatchScorer, MinimumVolumeSet
from mvset.paper.datasets import two_moons


def bits(table: pa.Table) -> bytes:
    """All values of a table, its rows in the order of their ids."""
    table = table.sort_by("id")
    return np.stack([table[name].cast("float64").to_numpy() for name in table.column_names]).tobytes()


judge = BatchScorer(MinimumVolumeSet(mass=0.95, random_state=0).fit(two_moons(100_000, random_state=0)))
x, y = two_moons(200_000, random_state=1).T
table = pa.table({"id": np.arange(len(x)), "x0": x, "x1": y})
schema = "id long, x0 double, x1 double, inside boolean, score double, level double, p_value double"

os.environ["PYSPARK_PYTHON"] = sys.executable  # the workers': by default the first python3 on the path
os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
spark = (
    SparkSession.builder.master("local[*]")
    .config("spark.ui.enabled", "false")
    .config("spark.sql.files.maxPartitionBytes", "1m")  # one partition per file
    .getOrCreate()
)
with TemporaryDirectory() as folder:
    ds.write_dataset(table, folder, format="parquet", max_rows_per_file=25_000, max_rows_per_group=25_000)
    rows = spark.read.parquet(folder)
    n_partitions = rows.rdd.getNumPartitions()
    judged = rows.mapInArrow(judge, schema).toArrow()
spark.stop()

equal = bits(judged) == bits(judge(table))
print(
    f"spark {pyspark.__version__}: {len(judged)} rows in {n_partitions} partitions, equal to the local result: {equal}"
)
sys.exit(not equal)
