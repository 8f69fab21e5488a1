"""Tables in files and databases: read in batches, fitted, scored and written with pyarrow.

Imports `files`, `summaries` and `estimators`; imported by `cli` and `watch`, and by the benchmarks.
"""
