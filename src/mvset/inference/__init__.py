"""Statistical inference from calibration scores: intervals, bands, p-values, false discoveries, drift.

Takes arrays of scores and counts, knows no estimator. Imports leaf modules only; imported by `calibration` and
everything above.
"""
