"""The scikit-learn estimators, one module each: `fit` assigns one `FittedSets`, and every method asks it."""
