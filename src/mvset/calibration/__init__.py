"""Calibration: splits, offsets, guarantees, and `FittedSets`, the object that a fit ends in (paper: Figs. 2 and 3).

`plan` decides which rows train and which calibrate, `split_models` averages the models of the splits, and `ways` has
the three ways to calibrate. Imports `svm`, `volume`, `inference`, `devices` and `rows`; `bandwidth`, `estimators` and
everything above import it.
"""
