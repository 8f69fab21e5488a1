"""Model files: a skops archive, which holds data and no code, and a note on what wrote it, with a checksum."""

import io
import json
import os
import time
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import sklearn
from sklearn.base import BaseEstimator

from mvset.estimators.drift_monitor import DriftMonitor
from mvset.exceptions import ModelFileError, ModelFileWarning, warn
from mvset.files.archive import NOTE, Archive, DamagedError, check_schema, noted_digest
from mvset.files.atomic import atomic_write
from mvset.files.trees import TREE, UnknownTreeError, check_trees
from mvset.version import __version__
from mvset.wording import Message

_FORMAT = 8  # raised when models of before can no longer be read
# Values and estimators, whose constructors check them. The last is in scikit-learn's imputers.
_CHECKED = """
    bandwidth.choice.FittedView bandwidth.choice.Selection bandwidth.curves.BandwidthCurve
    calibration.calibration.Calibration calibration.constant_columns.ConstantColumns
    calibration.fitted_sets.FittedSets calibration.guarantees.Guarantee calibration.strata.StratumCalibrations
    estimators.calibrated_set.CalibratedSet estimators.calibrated_set.MeanScore estimators.drift_monitor.Bets
    estimators.drift_monitor.DriftMonitor estimators.minimum_volume_set.MinimumVolumeSet
    estimators.one_class_svm.OneClassSVM inference.columns.ColumnReference inference.projections.Projections
    inference.projections.RowReference metrics.detectors.InputFormat metrics.detectors.NeighbourDistance
    paper.calibrated_one_class_svm.CalibratedOneClassSVM paper.plugin_kernel_density.PluginKernelDensity
    rows.categories.Categories rows.encoding.RowEncoding rows.imputation.Imputation svm.expansion.KernelExpansion
    svm.scaling.Scaling svm.score.Score svm.score.View volume.measure.VolumeSample
"""
_TRUSTED = [*(f"mvset.{name}" for name in _CHECKED.split()), "numpy.dtype", TREE]


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a model to a file.

    Parameters
    ----------
    model : estimator or DriftMonitor
        Any estimator of this library, a scikit-learn Pipeline that ends in one, or a drift monitor.
    path : str or path-like
        The file. It is written aside and renamed, so that a model which was there before is replaced at once.

    See Also
    --------
    load : Read it again.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import mvset
    >>> from mvset.paper.datasets import two_moons
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
    dumps = _skops_io().dumps
    check_clock()
    content = dumps(model, compression=zipfile.ZIP_DEFLATED)
    try:
        members = Archive(content)
    except DamagedError:  # it shrinks so much that `load` would refuse it
        content = dumps(model, compression=zipfile.ZIP_STORED)
        members = Archive(content)
    note: dict[str, Any] = {"format": _FORMAT, **_versions()}
    note["sha256"] = noted_digest(members, note)
    whole = io.BytesIO(content)
    with zipfile.ZipFile(whole, "a") as archive:
        archive.writestr(NOTE, json.dumps(note))
    with atomic_write(Path(path)) as aside:
        aside.write_bytes(whole.getvalue())


def load(path: str | os.PathLike[str], *, trusted: Sequence[str] = ()) -> Any:
    """Read a model from a file of :func:`save`. No code from the file is run.

    Parameters
    ----------
    path : str or path-like
        The file.
    trusted : sequence of str, default=()
        Names of further types that the file may hold, for detectors and transformers of other libraries. Types of
        this library, and those of scikit-learn and numpy that skops knows, are trusted; a file with any other type is
        refused with the name of the type. Do not name a type or function that you do not know.

    Returns
    -------
    model : estimator or DriftMonitor
        The model as it was saved.

    Raises
    ------
    ModelFileError
        If the file is not a model file, is damaged, holds unknown types or was written by a version whose files cannot
        be read. A SHA-256 checksum over the whole content tells damage. It is no signature: whoever writes a file can
        compute it.
    OSError
        If there is no such file, or it cannot be read.

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

    archive, note = _checked_content(path)
    if note["mvset"] != __version__:
        warn(
            f"{path} was written by mvset {note['mvset']}, and this is {__version__}. If it misbehaves, fit again.",
            ModelFileWarning,
        )
    try:
        check_schema(archive.schema or b"")
        model = skops_io.loads(archive.members, trusted=[*_TRUSTED, *trusted])
        if not isinstance(model, BaseEstimator | DriftMonitor):
            raise ValueError(f"it holds a {type(model).__name__}, not a model")
        if TREE not in trusted:
            check_trees(model)
        return model
    except (UntrustedTypesFoundException, UnknownTreeError):
        unknown = sorted(set(skops_io.get_untrusted_types(data=archive.members)) - {*_TRUSTED, *trusted}) or [TREE]
        message = Message(
            "{path} contains types that are not known to be safe: {types}.",
            "If you trust where the file comes from, use mvset.load(path, {trusted:[the types that you know]}).",
            path=path,
            types=", ".join(unknown),
        )
        raise ModelFileError(message) from None
    except MemoryError:
        raise
    except Exception as error:  # of any kind: the content is as it was written, but cannot be used here
        written = _noted_versions(note)
        if written == _versions():
            raise ModelFileError(f"{path} holds parts that do not fit together ({error}): fit again.") from error
        before, here = (", ".join(f"{name} {version}" for name, version in v.items()) for v in (written, _versions()))
        raise ModelFileError(
            f"{path} was written with {before} and cannot be read with {here} ({error}): install those versions, or "
            "fit again."
        ) from error


def check_clock() -> None:
    """Fail if the clock is so wrong that no model can be saved: archives hold times from 1980 to 2107 only."""
    year = time.localtime().tm_year
    if not 1980 <= year <= 2107:
        raise ValueError(f"The clock of this computer says {year}, a year that no model file can hold: set the clock.")


def written_with(path: str | os.PathLike[str]) -> dict[str, str]:
    """Versions that wrote a model file."""
    return _noted_versions(_checked_content(path)[1])


def _checked_content(path: str | os.PathLike[str]) -> tuple[Archive, dict[str, Any]]:
    """A model file as it was written, and its note; an error says what it is otherwise."""
    with Path(path).open("rb") as file:
        content = file.read(2)
        if content != b"PK":
            raise ModelFileError(f"{path} is not a model file. Model files are written by mvset.save and `mvset fit`.")
        content += file.read()
    try:
        archive = Archive(content)
        if archive.note is None:
            raise ModelFileError(f"{path} was not written by mvset.save.")
        note = _parsed_note(archive.note)
        if note["format"] == _FORMAT and noted_digest(archive, note) != note.get("sha256"):
            raise DamagedError("the checksum of its content is not the one that was written")
    except DamagedError as error:
        raise ModelFileError(f"{path} is truncated or damaged: {error}. Copy it once more, or fit again.") from error
    if note["format"] != _FORMAT:
        remedy = "upgrade with pip install --upgrade mvset, or fit again" if note["format"] > _FORMAT else "fit again"
        raise ModelFileError(
            f"{path} was written by mvset {note['mvset']}, whose files this version, {_versions()['mvset']}, cannot "
            f"read: {remedy}."
        )
    return archive, note


def _parsed_note(note: bytes) -> dict[str, Any]:
    try:
        parsed: dict[str, Any] = json.loads(note)
        texts = [value for name, value in parsed.items() if name != "format"]
        valid = type(parsed["format"]) is int and "mvset" in parsed and all(isinstance(text, str) for text in texts)
    except (ValueError, RecursionError, AttributeError, LookupError):
        valid = False
    if not valid:
        raise DamagedError(f"{NOTE} is not readable")
    return parsed


def _noted_versions(note: dict[str, Any]) -> dict[str, str]:
    return {name: version for name, version in note.items() if name not in ("format", "sha256")}


def _versions() -> dict[str, str]:
    return {"mvset": __version__, "scikit-learn": sklearn.__version__}


def _skops_io() -> Any:
    """The package behind model files, imported late: that takes as long as importing the rest of the library."""
    try:
        import skops.io
    except ImportError:
        raise ImportError("Model files need one more package: pip install 'mvset[files]'") from None
    return skops.io
