"""The one-class SVM with Gaussian kernel: Section II-A of the paper.

=================  ==============================================================  ==========================
module             what it has                                                     place in the paper
=================  ==============================================================  ==========================
``gram``           Gram matrix of the Gaussian kernel at one bandwidth              k(x_i, x_j) in eq. (3)
``dual``           the dual, its solution, and the warning if it did not converge   eq. (3)
``expansion``      the solution function, a kernel expansion                        after eq. (3)
``scaling``        the linear map of the columns before distances are taken
``score``          the mean of solution functions, of rows of a table               Section II-D, Fig. 3
``compiled``       the kernels compiled by numba that all of these call
=================  ==============================================================  ==========================

Everything here takes arrays that have been validated. It imports `rows` and the modules at the root, and knows nothing
of splits, offsets, volumes or estimators.
"""
