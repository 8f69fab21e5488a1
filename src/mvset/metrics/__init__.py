"""Comparison of any outlier detectors without labels: mass-volume curves, symmetric difference, adapters."""
