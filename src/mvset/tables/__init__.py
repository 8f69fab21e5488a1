"""Tables in files: read in batches, fitted, scored, written."""
