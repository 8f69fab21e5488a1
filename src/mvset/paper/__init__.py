"""The paper, literally: its two algorithms as one class, the baseline, the data sets and the experiments.

It uses the product's kernels, solver, volume samples and curves. Nothing outside `app` imports it.
"""

from mvset.paper import datasets
from mvset.paper.calibrated_one_class_svm import CalibratedOneClassSVM
from mvset.paper.plugin_kernel_density import PluginKernelDensity

__all__ = ["CalibratedOneClassSVM", "PluginKernelDensity", "datasets"]
