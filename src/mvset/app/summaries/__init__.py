"""Summaries of a scored table, computed in one pass and in bounded memory: drift, onset, unusual rows, columns."""
