"""Inference from arrays of scores and counts: intervals, bands, p-values, false discoveries, drift and its onset."""
