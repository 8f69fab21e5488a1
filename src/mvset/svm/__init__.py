"""The one-class SVM with Gaussian kernel: Section II-A of the paper.

=================  ==============================================================  ==========================
module             what it has                                                     place in the paper
=================  ==============================================================  ==========================
``gram``           Gram matrix of the Gaussian kernel at one bandwidth              k(x_i, x_j) in eq. (3)
``dual``           the dual and its solution                                        eq. (3)
``convergence``    summary of several solves, warning when some did not converge
``expansion``      the solution function, a kernel expansion                        after eq. (3)
``compiled``       the kernels compiled by numba that all of these call
``array_scores``   the same function of rows on a GPU, by the array API
``device_score``   rows in host memory, copied to a GPU and scored there
``scratch``        working memory that each thread keeps between solves
=================  ==============================================================  ==========================

Everything here takes arrays that have been validated. `calibration`, `bandwidth`, `estimators`, `explanation` and
`files` may import it. It imports no other package of the library, only modules that depend on none of its steps:
`parallel`, `values`, `array_namespace`, `device`, `stages` and `exceptions`. So it knows nothing of splits, offsets,
volumes or estimators.
"""
