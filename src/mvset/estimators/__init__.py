"""The scikit-learn estimators, one file each; `base` has what every estimator of nested sets answers.

Their `fit` assigns one `FittedSets`, and every method scores rows and asks it. Imports everything beneath; imported by
`summaries`, `plotting`, `files`, `tables`, `report`, `experiments` and `cli`.
"""
