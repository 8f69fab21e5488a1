"""The choice of scaling and bandwidth (paper: Section II-C, Figs. 2 and 3).

The grid of candidates, their mass-volume curves, a bound where volumes cannot be measured, the search, the rule of
choice, and the shrinkage of correlations. Imports
`calibration`, `volume` and `svm`; `estimators` and everything that shows results import it.
"""
