"""Files: models as skops archives and ONNX graphs, atomic writing, JSON.

Imports `estimators` and what is beneath; imported by `report`, `tables`, `experiments` and `cli`.
"""
