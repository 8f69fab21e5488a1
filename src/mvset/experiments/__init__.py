"""The experiments of the paper, one module each: ``run(config)`` computes rows, ``plot(rows)`` draws a figure.

Rows are saved as CSV, so that a run can be interrupted and continued. Imports `plotting` (colours), `files`,
`datasets`, `estimators` and the packages below; imported by `cli` only.
"""
