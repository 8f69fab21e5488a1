"""Warnings and errors of the library, as classes to filter and catch by.

Every warning of the library is a :class:`MvsetWarning`; solvers that do not converge give scikit-learn's
``ConvergenceWarning``. To silence one kind: ``warnings.simplefilter("ignore", mvset.exceptions.BandwidthEdgeWarning)``.
"""

import sys
import warnings


def warn(message: str, category: type[Warning]) -> None:
    """Warn, and name the line of the user's code that called the library as the place."""
    frame, level = sys._getframe(), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in ("mvset", "sklearn"):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


class MvsetWarning(UserWarning):
    """Base class of all warnings of this library."""


class ConstantColumnWarning(MvsetWarning):
    """A column is constant in the training rows."""


class ColumnScaleWarning(MvsetWarning):
    """The scales of the columns differ so much that one bandwidth cannot serve all of them."""


class CalibrationWarning(MvsetWarning):
    """Too few calibration rows for the mass asked for."""


class DependenceWarning(MvsetWarning):
    """Neighbouring rows are alike, and were split at random."""


class ExtraColumnWarning(MvsetWarning):
    """A table has columns that the model was not fitted to, and ignores."""


class UnseenStratumWarning(MvsetWarning):
    """Rows belong to a group of which the fit has seen none."""


class VolumeWarning(MvsetWarning):
    """Too few effective sample points for a volume to be reliable."""


class BandwidthWarning(MvsetWarning):
    """Something limits the choice of the bandwidth."""


class BandwidthEdgeWarning(BandwidthWarning):
    """The bandwidth chosen is the smallest or the largest candidate."""


class ModelFileWarning(MvsetWarning):
    """A model file was written by another version of this library."""


class TooFewRowsError(ValueError):
    """The rows are too few for the guarantee asked for; the message says how many are needed."""


class ModelFileError(ValueError):
    """A model file cannot be used; the message says why and what to do."""
