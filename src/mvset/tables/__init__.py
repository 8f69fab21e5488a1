"""Tables in files: read in batches, fitted, scored and written with pyarrow.

CSV, Parquet, Feather and NDJSON. Imports `files`, `summaries` and `estimators`; imported by `cli` only, and by the
benchmarks.
"""
