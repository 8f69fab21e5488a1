"""Comparison of any outlier detectors without labels: mass-volume and excess-mass curves, symmetric difference.

Also the adapters to other libraries' detectors. Imports `bandwidth` (curves), `calibration` and `volume`; imported by
`estimators` (adapters) and everything that shows results.
"""
