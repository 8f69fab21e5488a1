"""The estimator: `fit` encodes rows, divides them, shapes the score function and calibrates it, one room for each."""

from dataclasses import KW_ONLY, dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import _fit_context
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

from mvset.bandwidth.choice import FittedView, Selection
from mvset.bandwidth.curves import BandwidthCurve, mass_grid
from mvset.bandwidth.diagnostics import warn_about_bandwidth, warn_if_unmeasured
from mvset.bandwidth.shape import TOLERANCE, ScalingOption, Shape, ShapeOptions, best_shape
from mvset.calibration.constant_columns import ConstantColumns
from mvset.calibration.fitted_sets import FittedSets
from mvset.calibration.guarantees import CALIBRATION_MODES, CalibrationMode
from mvset.calibration.plan import CalibrationPlan
from mvset.calibration.row_order import warn_about_order
from mvset.calibration.strata import StratumCalibrations
from mvset.estimators.base import SetEstimator
from mvset.estimators.explained import ExplainedSetEstimator
from mvset.estimators.training_rows import training_rows
from mvset.parallel import thread_map
from mvset.progress import Verbosity, progress_line
from mvset.rows.validation import column_names
from mvset.svm.dual import SolveReport, warn_if_unconverged
from mvset.svm.score import Score
from mvset.values import Array
from mvset.volume.measure import inside_sets


@dataclass(repr=False, eq=False)
class MinimumVolumeSet(ExplainedSetEstimator):
    r"""Minimum Volume set of a given mass, with calibrated offset and automatic bandwidth.

    Estimate the smallest region that contains a share `mass` of the distribution of the rows. A Gaussian one-class SVM
    is trained at a fixed `nu` on part of the rows. Its offset is set on the other rows, so that the region contains the
    share of *new* rows that you ask for. Several such splits are averaged. The bandwidth is the one whose sets are
    smallest. The same fit gives nested sets for every other mass.

    Columns may have any units and be correlated; nothing has to be scaled first. Rows must be exchangeable. If they
    are in time order, set `time_order`. If several belong together, pass `groups` to `fit`.

    Parameters
    ----------
    mass : float, default=0.95
        Share α of new normal rows inside the set, in (0, 1). New normal rows are flagged at a rate of ``1 - mass``. If
        a guarantee is set, the rate may be lower.
    nu : "auto" or float, default="auto"
        ν of the one-class SVM, in (0, 1]. It shapes the sets and does not set the mass. "auto" is the paper's 0.4, or
        0.7, 0.9 or 1 for narrow bandwidths. Change it if a warning asks for a larger value.
    sigma : "auto", float or array-like of float, default="auto"
        Bandwidth σ of the kernel :math:`\exp(-|x-y|^2 / 2\sigma^2)`, in the units of the scaling.

        - "auto": the best of a grid between the nearest-neighbour scale and the global scale of the rows.
        - array-like: the best of these values.
        - float: this value.
    scaling : {"auto", "standard", "whiten", "both"} or None, default="auto"
        Linear map of the columns before distances are computed.

        - "auto": "standard" or "whiten" if volumes show that its sets are smaller, "standard" if columns are not
          correlated, otherwise "both". None if `sigma` is given.
        - "standard": each column is divided by its standard deviation.
        - "whiten": correlations are also removed, so that a row that breaks them is far away.
        - "both": a row is inside if it is normal in both views. Its score is the smaller one.
        - None: the columns stay as they are.
    categorical_features : "from_dtype", array-like of str or int, or None, default="from_dtype"
        Columns of categories.

        - "from_dtype": the columns of text or categories in a data frame or an Arrow table.
        - array-like: these columns, by name or index.
        - None: no column.

        A row with a value that the training rows do not have lies outside every set. At least one column must be
        numeric.
    missing : {"error", "impute"}, default="error"
        Treatment of missing values (NaN).

        - "error": they raise an error.
        - "impute": they are filled from similar training rows, in the fit and in new rows. The guarantees of
          "conformal" and "pac" do not account for this.
    splits : "auto", int or scikit-learn splitter, default="auto"
        The splits whose models are averaged, or their number B. "auto" makes 50 splits of tables with at most 400 rows
        and 10 to 20 splits of larger tables. Each split holds out 20 % of the rows. Pass a splitter such as
        ``ShuffleSplit(10, test_size=0.3)`` to hold out another share.
    max_train_samples : "auto", int or None, default="auto"
        Largest number of rows that a split trains on.

        - "auto": 1000 if the table has more than 4000 rows, otherwise no limit.
        - int: this number.
        - None: no limit. Training time then grows with the square of the number of rows.
    time_order : bool, default=False
        Whether rows are in time order. Blocks of rows are then held out instead of single rows.
    calibration : {"cross", "conformal", "pac"}, default="cross"
        How the offset is set, and what is guaranteed about the mass. After the fit, `guarantee_` states what holds.

        - "cross": each row is scored by the models that have not seen it. The mass is right on average. With 20 000
          rows or more, most rows train nothing, and the guarantee of "conformal" holds.
        - "conformal": half of the rows are reserved. A new row falls inside with probability at least `mass`, whatever
          the distribution (marginal coverage).
        - "pac": half of the rows are reserved. With probability `confidence` over draws of these rows, the set contains
          at least `mass` of the distribution.

        If rows are too few for a guarantee, an error says how many are needed.
    confidence : float, default=0.95
        Confidence of the "pac" guarantee. Ignored otherwise.
    n_volume_points : int, default=10_000
        Number of sample points that measure volumes. Increase it if a warning asks for more.
    n_jobs : int or None, default=None
        Number of threads; -1 for all cores. Results do not depend on it. Inside ``joblib.parallel_config("dask")``, or
        with another cluster backend, workers read and score large datasets of files.
    random_state : int, RandomState instance or None, default=None
        Seed of the splits and of the points that measure volumes. Pass an int for reproducible results.
    verbose : "auto", bool or int, default="auto"
        Progress on stderr.

        - "auto": one line, on a terminal or in a notebook, if the fit takes more than two seconds.
        - True: one line per bandwidth.
        - False: nothing.

    Attributes
    ----------
    scaling_ : str or None
        The scaling chosen; "both" for two views.
    views_ : list of FittedView
        One or two views of the rows, each with its scaling, bandwidth and ν, and how these were chosen.
    scaling_comparison_ : dict
        Mean log volume of the smallest sets in each scaling, relative to "standard", with a penalty for correlations.
        Empty if volumes were not compared.
    nu_ : float
        The ν chosen. With two views it is the ν of the standardised one, as are the next attributes.
    sigma_ : float
        The bandwidth chosen, in units of the scaling.
    curves_ : list of BandwidthCurve
        The mass-volume curve of every bandwidth tried, narrowest first. Their offsets are medians over the splits.
    selection_ : Selection
        How the bandwidth was chosen among them.
    column_scales_ : ndarray of shape (n_features_in_,)
        Unit of distance of each column: one without a scaling, its standard deviation with "standard". With "whiten" it
        is the scale on which the column varies given all other columns. It is the mean over the splits.
    offset_ : float
        Offset of the set of mass `mass`: ``decision_function = score_samples - offset_``.
    categories_ : dict
        The values of each category column, by name, or by index if the columns have no names.
    support_vectors_ : ndarray of shape (n_SV, n_encoded)
        Rows with a non-zero weight in at least one split. Numeric columns come first. A category column is one-hot.
    dual_coef_ : ndarray of shape (n_scalings, n_SV)
        Their weights, which sum to one in each view: one row for each scaling, or one row without a scaling.
    volume_ : VolumeEstimate
        Volume of the set of mass `mass`, with its standard error.
    guarantee_ : str
        What holds about the mass of the set, as a sentence.
    effective_sample_size_ : float
        Number of independent rows that would determine the mass as precisely as the calibration rows do. It is smaller
        than their number if rows depend on each other or splits disagree.
    mass_interval_ : MassInterval
        95 % confidence interval for the true mass of the set; see :meth:`mass_interval`.
    sets_ : FittedSets
        The nested sets, from which the methods compute their results.
    n_iter_ : int
        Iterations of the solver at the bandwidth chosen, summed over splits.
    n_features_in_ : int
        Number of columns seen by `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, when X has string column names.

    See Also
    --------
    CalibratedSet : The same calibration around any other detector.
    OneClassSVM : The plain one-class SVM on the same solver.
    mvset.paper.CalibratedOneClassSVM : The paper's algorithm as printed.

    Notes
    -----
    **Scaling.** It is fitted to the training rows of each split, so that the mass stays true. With 500 rows for each of
    its parameters, one scaling serves all splits.

    **Categories.** The kernel is a product. Two rows with different values in a category column are as far apart as
    rows of a numeric column are on average; without a scaling their distance is √2. Volumes are summed over all
    combinations of values.

    **Missing values.** A missing number becomes the mean over the five nearest of up to a thousand training rows. If
    other columns differ where a value is missing, the column also enters as a category: present or missing. A missing
    category is a value of its own if the training rows have it.

    **Time order.** Ten contiguous blocks are held out. Training rows keep a distance from them: the smallest lag at
    which the autocorrelations of all columns' ranks are below 0.05, but at most a twentieth of the rows.

    **Rows on a GPU.** Rows may be torch tensors or CuPy arrays. Results are then arrays on the same device, with the
    labels of the CPU; see docs/scale.md.

    **Memory.** One float32 Gram matrix is kept: of all rows up to 4000 rows, of 1000 rows in larger tables. If all rows
    of a larger table train, at most 1 GiB is kept.

    References
    ----------
    A. Thomas, V. Feuillard, A. Gramfort, "Calibration of One-Class SVM for MV set estimation", IEEE DSAA, 2015.

    Examples
    --------
    >>> import numpy as np
    >>> from mvset import MinimumVolumeSet
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 2))
    >>> model = MinimumVolumeSet(mass=0.95, random_state=0).fit(X)
    >>> model.predict([[0.0, 0.0], [4.0, 4.0]])
    array([ 1, -1])
    >>> share_inside = np.mean(model.predict(rng.normal(size=(10_000, 2))) == 1)
    >>> bool(0.92 < share_inside < 0.98)
    True

    The disc that contains 95 % of the Gaussian has volume 18.8:

    >>> bool(abs(model.volume_.value - 18.8) < 3)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **SetEstimator._parameter_constraints,
        "nu": [StrOptions({"auto"}), Interval(Real, 0, 1, closed="right")],
        "sigma": [StrOptions({"auto"}), Interval(Real, 0, None, closed="neither"), "array-like"],
        "scaling": [StrOptions({"auto", "standard", "whiten", "both"}), None],
        "categorical_features": [StrOptions({"from_dtype"}), "array-like", None],
        "missing": [StrOptions({"error", "impute"})],
        "splits": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left"), HasMethods("split")],
        "max_train_samples": [StrOptions({"auto"}), Interval(Integral, 2, None, closed="left"), None],
        "time_order": ["boolean"],
        "calibration": [StrOptions(set(CALIBRATION_MODES))],
        "confidence": [Interval(Real, 0, 1, closed="neither")],
        "verbose": ["verbose", StrOptions({"auto"})],
    }

    mass: float = 0.95
    _: KW_ONLY
    nu: float | Literal["auto"] = "auto"
    sigma: float | ArrayLike | Literal["auto"] = "auto"
    scaling: ScalingOption = "auto"
    categorical_features: Any = "from_dtype"
    missing: Literal["error", "impute"] = "error"
    splits: Any = "auto"
    max_train_samples: int | Literal["auto"] | None = "auto"
    time_order: bool = False
    calibration: CalibrationMode = "cross"
    confidence: float = 0.95
    n_volume_points: int = 10_000
    n_jobs: int | None = None
    random_state: int | np.random.RandomState | None = None
    verbose: Verbosity = "auto"

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None, *, groups: Any = None, strata: Any = None) -> Self:
        """Estimate the set.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or a stream of rows
            Rows of normal behaviour: an array, a pandas or polars DataFrame, an Arrow table, a torch tensor or a CuPy
            array. Tables larger than memory are read in batches: numpy memory maps, pyarrow datasets and Arrow streams
            such as those of DuckDB. They give the same model as an array of the same rows.
        y : Ignored
            Present for API consistency.
        groups : array-like of shape (n_samples,), optional
            Labels of rows that belong together: a machine, a batch, a day. All rows of a group are on the same side of
            every split.
        strata : array-like of shape (n_samples,), optional
            Labels that get an offset of their own: a site, a product, a shift. Each stratum then has its own share of
            alarms. Pass `strata` also to `predict` and the other methods. Small strata shrink to the whole: in
            "cross" mode all calibration rows together count as twenty rows of each stratum, and as more at masses above
            0.95. With a guarantee, a stratum without enough rows has the offset of the whole.

        Returns
        -------
        self : MinimumVolumeSet
            The fitted estimator.

        Examples
        --------
        >>> from mvset import MinimumVolumeSet
        >>> from mvset.paper.datasets import two_moons
        >>> MinimumVolumeSet(sigma=0.3, random_state=0).fit(two_moons(300, random_state=0)).sigma_
        0.3
        """
        rng, masses = check_random_state(self.random_state), mass_grid(self.mass)
        plan = CalibrationPlan(
            self.mass, self.calibration, self.confidence, self.splits, self.max_train_samples, self.time_order
        )
        shaping = ShapeOptions(self.nu, self.sigma, self.scaling, masses, self.n_volume_points)
        with progress_line(self.verbose) as line, thread_map(self.n_jobs) as run:
            rows = training_rows(self, X, {"groups": groups, "strata": strata}, plan, rng, line)
            division = plan.divided(rows, rng)
            shape = best_shape(division, rows.encoding.layout, shaping, rng, run)
            score = shape.views.score(rows.encoding)
            calibrated = division.calibrating.calibrated(shape.views, score, run, line)
            calibration = calibrated.calibration
            sample = shape.volume_sample(score, calibration.offsets_of(masses), run)
            sample_scores = score.evaluated_in("mixed").roughly(sample.points, run)
        self.sets_ = FittedSets(
            function=score,
            mass=self.mass,
            masses=masses,
            calibration=calibration,
            constants=ConstantColumns.between(rows.lowest, rows.highest),
            volume_sample=sample,
            sample_scores=sample_scores,
            strata=None if rows.strata is None else StratumCalibrations.of(calibrated, rows.strata, self.mass),
            reference=division.order.reference,
        )
        self._keep_shape(shape)
        warn_about_order(division.order, calibration, self.mass, division.rule, column_names(self))
        warned = [warn_about_bandwidth(search.best_curve, search.selection) for search in shape.searches]
        inside = inside_sets(sample_scores, calibration.offsets_of(masses))  # masses may be beyond guarantees
        warn_if_unmeasured(sample, inside, masses, self.selection_, self.n_features_in_, warned=any(warned))
        return self

    def _keep_shape(self, shape: Shape) -> None:
        """Keep how scalings, ν and bandwidths were chosen; warn if the solver stopped short."""
        self.views_ = [
            FittedView(each.scaling, each.shrinkage, each.best.sigma, each.best.nu, each.curves, each.selection)
            for each in shape.searches
        ]
        self.scaling_comparison_ = shape.scaling_comparison
        reports = [SolveReport.of(models.duals) for models in shape.views.models]
        self.n_iter_ = sum(report.iterations for report in reports)
        others = [each.report for search in shape.searches for each in search.candidates if each is not search.best]
        warn_if_unconverged([*others, *reports], TOLERANCE)

    @property
    def scaling_(self) -> str | None:
        """The scaling, or "both"."""
        return self.views_[0].scaling if len(self.views_) == 1 else "both"

    @property
    def sigma_(self) -> float:
        """The bandwidth."""
        return self.views_[0].sigma

    @property
    def nu_(self) -> float:
        """ν."""
        return self.views_[0].nu

    @property
    def curves_(self) -> list[BandwidthCurve]:
        """The mass-volume curve of every bandwidth tried."""
        return self.views_[0].curves

    @property
    def selection_(self) -> Selection:
        """How the bandwidth was chosen."""
        return self.views_[0].selection

    @property
    def support_vectors_(self) -> Array:
        """Rows with a non-zero weight in at least one split."""
        return self._neighbourhood.centres

    @property
    def dual_coef_(self) -> Array:
        """Their weights."""
        return np.concatenate([view.weights for view in self._neighbourhood.views])

    @property
    def column_scales_(self) -> Array:
        """Unit of distance of each column in the scaling."""
        return self._encoding.units(self._neighbourhood.units(self._neighbourhood.views[0]))

    @property
    def categories_(self) -> dict[Any, list[str]]:
        """The values of each category column."""
        names, categories = getattr(self, "feature_names_in_", range(self.n_features_in_)), self._encoding.categories
        return {names[j]: list(values) for j, values in zip(categories.indices, categories.values, strict=True)}

    @property
    def _neighbourhood(self) -> Score:
        return cast(Score, self.sets_.function)
