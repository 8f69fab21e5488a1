"""Tables in files and databases: read in batches, fitted, scored and written with pyarrow."""
