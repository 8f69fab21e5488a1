"""The choice of the bandwidth (paper: Section II-C, Figs. 2 and 3).

The grid of candidates, their mass-volume curves, the search, the rule of choice. Imports `calibration`, `volume` and
`svm`; imported by `metrics` (curves), `estimators` and everything that shows results.
"""
