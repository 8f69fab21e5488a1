"""Model files: a skops archive, which holds data and no code, and a note on what wrote it."""

from __future__ import annotations

import io
import json
import os
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import sklearn
from sklearn.base import BaseEstimator

from mvset.estimators.pipeline import as_pipeline
from mvset.exceptions import ModelFileError, ModelFileWarning, warn
from mvset.files.atomic import atomic_write
from mvset.inference.monitor import DriftMonitor
from mvset.version import __version__

_FORMAT = 5  # raised when models of before can no longer be read
_NOTE = "mvset.json"
_TRUSTED = [
    "mvset.bandwidth.choice.Selection",
    "mvset.bandwidth.curves.BandwidthCurve",
    "mvset.calibration.calibration.Calibration",
    "mvset.calibration.constant_columns.ConstantColumns",
    "mvset.calibration.fitted_sets.FittedSets",
    "mvset.calibration.group_calibration.GroupCalibrations",
    "mvset.calibration.guarantees.Guarantee",
    "mvset.categories.Categories",
    "mvset.estimators.calibrated_set.CalibratedSet",
    "mvset.estimators.calibrated_set.MeanScore",
    "mvset.estimators.minimum_volume_set.MinimumVolumeSet",
    "mvset.estimators.one_class_svm.OneClassSVM",
    "mvset.estimators.pipeline.Pipeline",
    "mvset.estimators.plugin_kernel_density.LogDensity",
    "mvset.estimators.plugin_kernel_density.PluginKernelDensity",
    "mvset.imputation.Imputation",
    "mvset.inference.monitor.Bets",
    "mvset.inference.monitor.DriftMonitor",
    "mvset.metrics.detectors.InputFormat",
    "mvset.row_encoding.RowEncoding",
    "mvset.svm.expansion.KernelExpansion",
    "mvset.svm.metric.Metric",
    "mvset.svm.metric_expansion.MetricExpansion",
    "mvset.svm.table_score.TableScore",
    "mvset.volume.measure.VolumeSample",
    "numpy.dtype",  # in scikit-learn's imputers
]


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a model to a file.

    Parameters
    ----------
    model : estimator or DriftMonitor
        Any estimator of this library, or a Pipeline that ends in one; or a drift monitor, which goes on where it was.
    path : str or path-like
        The file. It is written aside and renamed, so that a model which was there before is replaced at once.

    See Also
    --------
    load : Read it again.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import mvset
    >>> from mvset.datasets import two_moons
    >>> X = two_moons(300, random_state=0)
    >>> model = mvset.MinimumVolumeSet(sigma=0.3, random_state=0).fit(X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     mvset.save(model, pathlib.Path(folder) / "model.mvset")
    ...     again = mvset.load(pathlib.Path(folder) / "model.mvset")
    >>> bool((again.score_samples(X) == model.score_samples(X)).all())
    True
    """
    if not isinstance(model, BaseEstimator | DriftMonitor):
        raise TypeError(f"model must be an estimator, a Pipeline or a DriftMonitor; got {type(model).__name__}.")
    content = io.BytesIO(_skops_io().dumps(model, compression=zipfile.ZIP_DEFLATED))
    with zipfile.ZipFile(content, "a") as archive:
        archive.writestr(_NOTE, json.dumps({"format": _FORMAT, **_versions()}))
    with atomic_write(Path(path)) as aside:
        aside.write_bytes(content.getvalue())


def load(path: str | os.PathLike[str], *, trusted: Sequence[str] = ()) -> Any:
    """Read a model from a file of :func:`save`. No code from the file is run.

    Parameters
    ----------
    path : str or path-like
        The file.
    trusted : sequence of str, default=()
        Names of further types that the file may hold, for detectors and transformers of other libraries. Types of
        this library, and those of scikit-learn and numpy that skops knows, are trusted; a file with any other type is
        refused with the name of the type.

    Returns
    -------
    model : estimator or DriftMonitor
        As it was saved. A scikit-learn Pipeline that ends in nested sets is returned as :class:`mvset.Pipeline`, which
        answers everything on the columns of the table.

    See Also
    --------
    save : Write it.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import mvset
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "model.mvset"
    ...     _ = path.write_text("rows,columns")
    ...     mvset.load(path)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    mvset.exceptions.ModelFileError: ...model.mvset is not a model file...
    """
    skops_io = _skops_io()
    from skops.io.exceptions import UntrustedTypesFoundException

    content = Path(path).read_bytes()
    note = _note_in(content, path)
    if note["format"] != _FORMAT:
        remedy = "upgrade with pip install --upgrade mvset, or fit again" if note["format"] > _FORMAT else "fit again"
        raise ModelFileError(
            f"{path} was written by mvset {note['mvset']}, whose files this version, {_versions()['mvset']}, cannot "
            f"read: {remedy}."
        )
    if note["mvset"] != __version__:
        warn(
            f"{path} was written by mvset {note['mvset']}, and this is {__version__}. If it misbehaves, fit again.",
            ModelFileWarning,
        )
    try:
        return as_pipeline(skops_io.loads(content, trusted=[*_TRUSTED, *trusted]))
    except UntrustedTypesFoundException:
        unknown = sorted(set(skops_io.get_untrusted_types(data=content)) - {*_TRUSTED, *trusted})
        raise ModelFileError(
            f"{path} holds types that are not known to be safe: {', '.join(unknown)}. If you trust where the file "
            f"comes from: mvset.load(path, trusted={unknown})."
        ) from None
    except Exception as error:  # of any kind: the parts do not fit together
        written = {name: version for name, version in note.items() if name != "format"}
        if written == _versions():
            raise ModelFileError(f"{path} is damaged ({error}): copy it once more, or fit again.") from error
        before, here = (", ".join(f"{name} {version}" for name, version in v.items()) for v in (written, _versions()))
        raise ModelFileError(
            f"{path} was written with {before} and cannot be read with {here} ({error}): install those versions, or "
            "fit again."
        ) from error


def written_with(path: str | os.PathLike[str]) -> dict[str, str]:
    """Versions that wrote a model file."""
    note = _note_in(Path(path).read_bytes(), path)
    return {name: version for name, version in note.items() if name != "format"}


def _note_in(content: bytes, path: str | os.PathLike[str]) -> dict[str, Any]:
    """What wrote a file; an error says what it is otherwise."""
    if not content.startswith(b"PK"):
        raise ModelFileError(f"{path} is not a model file. Model files are written by mvset.save and `mvset fit`.")
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            if archive.testzip():
                raise zipfile.BadZipFile
            if _NOTE not in archive.namelist():
                raise ModelFileError(f"{path} was not written by mvset.save.")
            note: dict[str, Any] = json.loads(archive.read(_NOTE))
            if not isinstance(note["format"], int) or not isinstance(note["mvset"], str):
                raise ValueError
            return note
    except ModelFileError:
        raise
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, ValueError, KeyError, TypeError):
        raise ModelFileError(f"{path} is truncated or damaged: copy it once more, or fit again.") from None


def _versions() -> dict[str, str]:
    return {"mvset": __version__, "scikit-learn": sklearn.__version__}


def _skops_io() -> Any:
    """The package behind model files, imported late: that takes as long as importing the rest of the library."""
    try:
        import skops.io
    except ImportError:
        raise ImportError("Model files need one more package: pip install 'mvset[files]'") from None
    return skops.io
