"""The paper's experiments, reproduced.

A. Thomas, V. Feuillard, A. Gramfort, *Calibration of One-Class SVM for MV set estimation*, 2015. This page, its figures
and the data behind them were written by `mvset reproduce` (mvset VERSION). To compute them again, with the same
numbers, delete the folder and run `mvset reproduce --all`. Unless stated otherwise, the distance of a set to the true
set of mass 0.95 is the volume of their symmetric difference over the volume of the true set; ± gives 95 % confidence
intervals of means; *apart* means that intervals do not overlap. ✓ marks statements of the paper that hold in our
results, ✗ those that do not; lines without a mark are additional information. "Ours" is the method of the paper,
`mvset.paper.CalibratedOneClassSVM`: its offsets are the means over splits, and the table names the rule that selects
its bandwidth. "Ours, as shipped" is the library's own estimator, `mvset.MinimumVolumeSet`.
"""

# This docstring is the introduction of the page, and the docstring of each experiment's module is its section.
