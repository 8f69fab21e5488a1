"""Calibration: splits, offsets, guarantees, and `FittedSets`, the object that a fit ends in (paper: Figs. 2 and 3).

The offset of a mass is set in `offsets`, the mean over splits is taken in `aggregation`. Imports `svm`, `volume` and
`inference`; imported by `bandwidth`, `metrics`, `estimators` and everything above.
"""
