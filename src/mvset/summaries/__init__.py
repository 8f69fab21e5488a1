"""Numbers shared by plots, reports and the command line, computed without drawing.

Summaries of a table in one pass, slices through nested sets, masses and bands to draw, the comparison of bandwidths.
Imports `estimators` and the packages below; imported by `plotting`, `report`, `tables` and `cli`.
"""
