"""The estimator of the paper: `fit` reserves rows, splits, searches the bandwidth and calibrates the set chosen.

The loops of Fig. 3 over bandwidths and splits are in `bandwidth/search.py`; that over masses is a table of offsets by
rank, `calibration/offsets.py`.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from numbers import Integral, Real
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import _fit_context
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from mvset.array_namespace import place_of
from mvset.bandwidth.choice import RULES, SelectionRule
from mvset.bandwidth.curves import mass_grid
from mvset.bandwidth.diagnostics import warn_about_bandwidth
from mvset.bandwidth.feature_subsets import choose_on_feature_subsets
from mvset.bandwidth.grid import bandwidth_grid
from mvset.bandwidth.race import ALL_COLUMNS, race
from mvset.bandwidth.search import BandwidthSearch
from mvset.calibration.aggregation import aggregate, held_out_scores, split_weights
from mvset.calibration.calibration import Calibration, HeldOut, warn_if_dependent
from mvset.calibration.constant_columns import ConstantColumns
from mvset.calibration.fitted_sets import FittedSets
from mvset.calibration.group_calibration import GroupCalibrations
from mvset.calibration.guarantees import CALIBRATION_MODES, CalibrationMode, Guarantee, Reservation
from mvset.calibration.splits import (
    MIN_SPLITS,
    Indices,
    RandomSplitting,
    Split,
    Splitting,
    drawn_seed,
    limited,
    max_train_rows,
    splitting,
    trained_rows,
    warn_if_unresolved,
    within,
)
from mvset.calibration.streamed_scores import reserved_scores, streamed_scores
from mvset.categories import NO_CATEGORIES, Categories
from mvset.column_layout import ColumnLayout
from mvset.estimators.inference_estimator import InferenceEstimator
from mvset.explanation import displacement
from mvset.imputation import Imputation
from mvset.parallel import Map, cluster_map, thread_map
from mvset.progress import Verbosity, progress_line
from mvset.row_encoding import RowEncoding
from mvset.row_stream import ArrayRows, RowStream, row_stream
from mvset.row_survey import Survey, all_rows, survey
from mvset.svm.convergence import SolveReport, warn_if_unconverged
from mvset.svm.dual import Solver
from mvset.svm.expansion import KernelExpansion, Precision
from mvset.svm.metric import METRICS, MetricName
from mvset.svm.metric_expansion import MetricExpansion
from mvset.svm.table_score import TableScore
from mvset.validation import (
    candidate_sigmas,
    check_extent,
    check_spread,
    checked_labels,
    validated_array,
    validated_rows,
)
from mvset.volume.sampler import VOLUME_METHODS, VolumeMethod, VolumeSampler

_METRICS: tuple[MetricName, ...] = ("standard", "whiten")  # the first if volumes do not tell
_NUS = (0.4, 0.7, 0.9)  # the paper's, and larger ones for narrower bandwidths
_NU_ROWS = 200  # fewer rows do not tell whether a narrower bandwidth is better, or only seems so
_WIDER = 1.6  # than the best bandwidth of a race of few rows: so far the search for that of all rows reaches at first
_ROWS_PER_PARAMETER = 500  # of the metric: beyond, a row that calibrates moves the mass by less than 0.001
_FEW_ROWS = 1000
_UNSEEN = 1e6  # contribution of a value that was not seen in the fit
_SEARCH_SPLITS = 10  # splits that choose the bandwidth, of those that splits="auto" makes


class MinimumVolumeSet(InferenceEstimator):
    r"""Minimum Volume set of a given mass, with calibrated offset and automatic bandwidth.

    Estimates the smallest region that holds a share `mass` of the distribution of the rows. A Gaussian one-class SVM is
    trained at a fixed `nu` on part of the rows; its offset is set on the other part so that the region holds the mass
    asked for, on rows it has not seen; this is done for several splits and averaged. Of the candidate
    bandwidths it keeps the widest whose sets around `mass` are as small as the smallest, up to the standard error; or,
    with ``selection="area"``, the one of the least area under the mass-volume curve, as in the paper. The same fit
    gives nested sets for every other mass.

    Rows may be on a GPU, as tensors of torch or arrays of CuPy: answers about them are there, too, with the labels of
    the CPU (docs/scale.md).

    Columns may have any units, and be correlated: see `metric`. Rows must be exchangeable, or their order
    (`time_order`) or groups (`fit(X, groups=...)`) be given.

    Parameters
    ----------
    mass : float, default=0.95
        Share α of the distribution that the set shall hold, in (0, 1). New rows are flagged at a rate of ``1 - mass``,
        or less where more is guaranteed.
    nu : "auto" or float, default="auto"
        ν of the one-class SVM, in (0, 1]. It bounds the share of training rows outside the *unshifted* set, which must
        exceed ``1 - mass + mass_margin``; it does not set the mass. "auto" is the paper's 0.4, and 0.7 or 0.9 for
        automatic bandwidths so narrow that they need it, from 200 rows on. A warning says when to raise it.
    sigma : "auto", float or array-like of float, default="auto"
        Bandwidth σ of the kernel :math:`\exp(-|x-y|^2 / 2\sigma^2)`. "auto" tries a grid from the global scale of the
        rows down to their nearest-neighbour scale, or to where bandwidths get too narrow to describe the masses asked
        for, and extends it when the best value sits on its edge; an array gives the candidates; a number is taken as it
        is. In the units of the columns, or of the metric if one is given.
    metric : {"auto", "standard", "robust", "whiten"} or None, default="auto"
        The linear map of the columns after which distances are taken: "standard" divides them by their standard
        deviations, "robust" by their interquartile ranges, "whiten" also removes their correlations, shrunk by the rule
        of Ledoit and Wolf. It is fitted in each split to its training rows only, so that the mass stays true, or once
        where there are 500 rows for each of its parameters; a scaler in front of the estimator is not needed. "auto"
        takes the one of the smallest sets, with a penalty for the correlations; None leaves the columns as they are, as
        does "auto" when bandwidths are given.
    categorical_features : "from_dtype", array-like of str or int, or None, default="from_dtype"
        The columns that hold categories, by name or index. "from_dtype" takes those of frames and Arrow tables that
        hold text or categories. Two rows with different values in such a column are as far apart as rows of a numeric
        column are in the mean; without a metric, by the root of two. A value that was not seen in the fit lies outside
        every set. Volumes are summed over all combinations of values. At least one numeric column is needed.
    missing : {"error", "impute"}, default="error"
        What happens to missing values, NaN. "impute" fills them, in the fit and later, with the mean over the five
        nearest of up to a thousand rows of the fit. A column whose missing values are informative, because other
        columns differ where they are missing, also enters as a category: present or missing. A missing category is a
        value of its own, if the rows of the fit have it. The guarantees of "conformal" and "pac" do not account for the
        imputation.
    splits : "auto", int or splitter of scikit-learn, default="auto"
        The splits whose models are averaged, or their number B. "auto" makes 50 up to 400 rows and fewer beyond, down
        to 10 from 2000 rows on; 20 again from 4000 to 20 000 rows, where each trains on few of them. The first ten
        choose the bandwidth. 1 gives the paper's first algorithm.
    test_size : float, default=0.2
        Share of the rows held out in each split to set the offset; a splitter has its own.
    max_train_samples : "auto", int or None, default="auto"
        How many rows a split trains on at most; different splits train on different rows as long as there are any.
        "auto" is 1000 for tables of more than 4000 rows: the mean of many small models is as good as that of few large
        ones, at a fraction of the time. All rows calibrate. If most of them train nothing, from 20 000 rows on, they
        alone do: new rows are exchangeable with them, and "split" calibration then has the guarantee of "conformal".
        None trains on all rows, and so does "auto" with ``calibration="paper"``.
    time_order : bool, default=False
        Whether rows are in time order. Ten contiguous blocks are then held out instead of single rows, and training
        rows keep a distance from them of as many rows as it takes the columns to forget their values: the least lag at
        which the autocorrelations of all columns' ranks are below 0.05, a twentieth of the rows at most.
    calibration : {"split", "conformal", "pac", "paper"}, default="split"
        What is guaranteed about the mass. "split" ranks the scores of all rows, each by the models that have not seen
        it; the mass is right on average, and nothing is guaranteed for finite samples. "paper" is the paper's mean over
        splits of their own offsets, which holds less than asked for with heavy tails or few rows. "conformal" reserves
        a calibration set that nothing else uses: a new row falls inside with probability `mass` at least, whatever the
        distribution, over draws of all rows (marginal coverage). "pac" also
        reserves one: with probability `confidence` over draws of it, the true mass
        of the set is at least `mass` (coverage conditional on the rows). Both cost volume, and raise an error where the
        rows are too few. A scaler fitted to the same rows has used the reserved ones: for an exact guarantee fit it to
        others.
    confidence : float, default=0.95
        Confidence of the "pac" guarantee.
    calibration_size : float, default=0.5
        Share of the rows reserved by "conformal" and "pac".
    selection : {"log_volume", "area"}, default="log_volume"
        Rule by which the bandwidth is chosen. "log_volume": the widest bandwidth whose mean log volume over the masses
        around `mass` exceeds the least by no more than the standard error of the difference; "area": the least area
        under the mass-volume curve, as in the paper.
    mass_margin : float, default=0.04
        Volumes are compared over the masses ``mass`` ± `mass_margin` (c in the paper), shrunk where that would leave
        (0, 1).
    n_masses : int, default=10
        Number of masses on that interval, 1000 at most.
    volume_method : {"auto", "box", "importance"}, default="auto"
        How the points that measure volumes are drawn: uniformly in the box around the rows, as in the paper, or by
        importance sampling, where the sets are. "auto" takes the box up to three columns and importance sampling beyond
        or where the box is hardly hit; and up to eight times `n_volume_points` when they are too few.
    n_volume_points : int, default=10_000
        Number of these points. "auto" takes fewer in more than a hundred columns, where volumes cannot be measured.
    tol : float, default=1e-3
        Tolerance of the solver on the optimality conditions, on the scale of scikit-learn's ``OneClassSVM``. Bandwidths
        that are only compared are solved to ten times this tolerance.
    max_iter : int, default=-1
        Limit on the solver's iterations, for each split and bandwidth. -1 means no limit short of ten million.
    n_jobs : int or None, default=None
        Number of threads; -1 for all cores. Results do not depend on it. Inside ``joblib.parallel_config("dask")``, or
        another cluster, its workers read and score large datasets of files; the result is the same.
    random_state : int, RandomState instance or None, default=None
        Draws the splits and the points that measure volumes. Give an int for reproducible results.
    verbose : "auto", bool or int, default="auto"
        "auto" says how far a fit of more than two seconds is, on a terminal or in a notebook; True prints a line per
        bandwidth to stderr; False prints nothing.

    Attributes
    ----------
    metric_ : str or None
        The metric chosen.
    metric_comparison_ : dict
        Mean log volume of the smallest sets in each metric, relative to that in the first, with the penalty for
        correlations, on some rows and, if there are more than eight, some columns; empty if there was no choice. In
        more than eight columns the winner was then compared with "standard" in all of them, where volumes can be
        measured.
    nu_ : float
        The ν chosen.
    sigma_ : float
        The bandwidth chosen, in units of the metric.
    column_scales_ : ndarray of shape (n_features_in_,)
        Unit of distance of each column in the metric: one without a metric; its standard deviation or interquartile
        range; with "whiten" the scale on which it varies given all other columns. The mean over the splits.
    offset_ : float
        Offset of the set of mass `mass`: ``decision_function = score_samples - offset_``.
    categories_ : dict
        The values of each category column, by name, or by index if the columns have no names.
    support_vectors_ : ndarray of shape (n_SV, n_encoded)
        Rows with a non-zero weight in at least one split. Numeric columns come first. A category column is a block of
        zeros with a single one, at the place of its value.
    dual_coef_ : ndarray of shape (n_metrics, n_SV)
        Their weights, which sum to one: one row for each metric, or one without a metric.
    volume_ : VolumeEstimate
        Volume of the set of mass `mass`, with its standard error.
    effective_sample_size_ : float
        How many independent rows would tell as much about the mass of the set as the calibration rows do: fewer than
        there are where neighbours are alike, rows of a group are, or the splits disagree.
    mass_interval_ : MassInterval
        95 % confidence interval for the true mass of the set; see :meth:`mass_interval`.
    curves_ : list of BandwidthCurve
        The mass-volume curve of every bandwidth tried, narrowest first, with the offsets by which bandwidths are
        compared: the median over the splits of their own.
    selection_ : Selection
        How the bandwidth was chosen among them, and what decided.
    sets_ : FittedSets
        The nested sets: everything that the methods answer from.
    masses_ : ndarray of shape (n_masses,)
        The masses of the columns of :meth:`transform`: those of these curves, as far as the rows can guarantee them.
    n_iter_ : int
        Iterations of the solver at the bandwidth chosen, summed over splits.
    n_features_in_ : int
        Number of columns seen by `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, when X has string column names.

    See Also
    --------
    OneClassSVM : The plain one-class SVM on the same solver.

    Notes
    -----
    Memory: one float32 Gram matrix of all rows up to 4000 rows, and of 1000 rows beyond. If all rows of a larger table
    train (``max_train_samples=None``), at most 1 GiB of it is kept; above 16 384 rows kernel rows are computed when
    needed instead.

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

    The volume is close to that of the disc which holds 95 % of the Gaussian, 18.8:

    >>> bool(abs(model.volume_.value - 18.8) < 3)
    True
    """

    _parameter_constraints: dict[str, list[Any]] = {
        "mass": [Interval(Real, 0, 1, closed="neither")],
        "nu": [StrOptions({"auto"}), Interval(Real, 0, 1, closed="right")],
        "sigma": [StrOptions({"auto"}), Interval(Real, 0, None, closed="neither"), "array-like"],
        "metric": [StrOptions({"auto", *METRICS}), None],
        "categorical_features": [StrOptions({"from_dtype"}), "array-like", None],
        "missing": [StrOptions({"error", "impute"})],
        "splits": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left"), HasMethods("split")],
        "test_size": [Interval(Real, 0, 1, closed="neither")],
        "max_train_samples": [StrOptions({"auto"}), Interval(Integral, 2, None, closed="left"), None],
        "time_order": ["boolean"],
        "calibration": [StrOptions(set(CALIBRATION_MODES))],
        "confidence": [Interval(Real, 0, 1, closed="neither")],
        "calibration_size": [Interval(Real, 0, 1, closed="neither")],
        "selection": [StrOptions(set(RULES))],
        "mass_margin": [Interval(Real, 0, 1, closed="neither")],
        "n_masses": [Interval(Integral, 2, 1000, closed="both")],
        "volume_method": [StrOptions(set(VOLUME_METHODS))],
        "n_volume_points": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, -1, None, closed="left")],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": ["verbose", StrOptions({"auto"})],
    }

    def __init__(
        self,
        mass: float = 0.95,
        *,
        nu: float | Literal["auto"] = "auto",
        sigma: float | ArrayLike | Literal["auto"] = "auto",
        metric: Literal["auto"] | MetricName | None = "auto",
        categorical_features: Any = "from_dtype",
        missing: Literal["error", "impute"] = "error",
        splits: Any = "auto",
        test_size: float = 0.2,
        max_train_samples: int | Literal["auto"] | None = "auto",
        time_order: bool = False,
        calibration: CalibrationMode = "split",
        confidence: float = 0.95,
        calibration_size: float = 0.5,
        selection: SelectionRule = "log_volume",
        mass_margin: float = 0.04,
        n_masses: int = 10,
        volume_method: VolumeMethod = "auto",
        n_volume_points: int = 10_000,
        tol: float = 1e-3,
        max_iter: int = -1,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: Verbosity = "auto",
    ) -> None:
        self.mass = mass
        self.nu = nu
        self.sigma = sigma
        self.metric = metric
        self.categorical_features = categorical_features
        self.missing = missing
        self.splits = splits
        self.test_size = test_size
        self.max_train_samples = max_train_samples
        self.time_order = time_order
        self.calibration = calibration
        self.confidence = confidence
        self.calibration_size = calibration_size
        self.selection = selection
        self.mass_margin = mass_margin
        self.n_masses = n_masses
        self.volume_method = volume_method
        self.n_volume_points = n_volume_points
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None, *, groups: Any = None, by: Any = None) -> MinimumVolumeSet:
        """Estimate the set.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or a stream of rows
            Rows of normal behaviour. Neighbours must not be alike, or the order must be said to be that of time
            (`time_order`), or what they have in common must be given (`groups`). Tables larger than memory are read in
            batches: memory maps of numpy, datasets of pyarrow, and Arrow streams such as those of DuckDB, which are
            kept in a temporary file meanwhile. They give the same model as an array of the same rows. Of a tensor of
            torch or an array of CuPy on a GPU the rows that train nothing calibrate there, from 20 000 rows on.
        y : Ignored
            Present for API consistency.
        groups : array-like of shape (n_samples,), optional
            What several rows have in common: a machine, a batch, a day. All rows of a group are on the same side of
            every split. A splitter given as `splits` gets them.
        by : array-like of shape (n_samples,), optional
            What each row shall have its own offset by: a site, a product, a shift. There is one score for all rows, and
            an offset per group, so that each group has its own share of alarms; give `by` to `predict` and the other
            methods, too. Groups of few rows shrink to the whole: in "split" mode twenty typical calibration rows of the
            whole are added to those of each group; with a guarantee, groups without enough rows have the offset of the
            whole.

        Returns
        -------
        self : MinimumVolumeSet
            The fitted estimator.

        Examples
        --------
        >>> from mvset import MinimumVolumeSet
        >>> from mvset.datasets import two_moons
        >>> MinimumVolumeSet(sigma=0.3, random_state=0).fit(two_moons(300, random_state=0)).sigma_
        0.3
        """
        rng = check_random_state(self.random_state)
        imputes = self.missing == "impute"
        if (place := place_of(X)) is not None:
            X = validated_array(self, X, place, finite=not place.in_host_memory)
            X = place.double_on_host(X) if place.in_host_memory else ArrayRows(X, place, missing=imputes)
        stream, surveyed = row_stream(X, missing=imputes), None
        if stream is not None:
            surveyed = self._survey(stream, rng, groups, by)
            X = all_rows(stream) if surveyed is None else surveyed.rows
            surveyed = None if surveyed is None or surveyed.is_complete else surveyed
        if stream is None:
            categories = Categories.of(X, self.categorical_features, missing=imputes)
            X = categories.coded(X)
        else:
            categories = getattr(stream, "categories", NO_CATEGORIES)  # the rows have their codes
        X = validated_rows(self, X, reset=True, missing=imputes)
        if stream is not None and not isinstance(stream, ArrayRows):
            self.feature_names_in_ = np.array(stream.names, dtype=object)
        given = not isinstance(self.sigma, str)
        names = getattr(self, "feature_names_in_", None)
        check_extent(X)
        imputation = Imputation.fitted(X, categories, rng, names) if imputes else None
        encoding = RowEncoding(X.shape[1], categories, imputation)
        # A column may vary in the table and not in the sample.
        seen = encoding.completed(X if surveyed is None else np.vstack([X, surveyed.lowest, surveyed.highest]))
        check_spread(self, seen, one_scale=self.metric is None or (self.metric == "auto" and given))
        groups, by = (
            None if each is None else checked_labels(each, len(X), name)
            for each, name in ((groups, "groups"), (by, "by"))
        )
        of_paper, n_rows = self.calibration == "paper", len(X) if surveyed is None else surveyed.n_rows
        if by is not None and of_paper:
            raise ValueError('by is not part of the rule of the paper: use calibration="split", "conformal" or "pac".')
        constants = ConstantColumns.of(seen)
        X, layout = encoding.encoded(X), encoding.layout
        rule = self._splitting(X, n_rows, groups)
        guarantee = self._guarantee(rule, n_rows)
        if surveyed is None:
            rows, reserved = self._reserve(X, rule, guarantee, rng)
            table = X[rows]
        else:
            rows, table = np.arange(len(X)), X
        splits = limited(rule.splits(rows, rng), len(rows), self._max_train(n_rows), rng)
        trained = trained_rows(splits, len(rows))
        training, parts = table[trained], within(splits, trained)
        check_extent(training[:, : layout.n_numeric])
        masses = mass_grid(self.mass, self.mass_margin, self.n_masses)
        with progress_line(self.verbose) as line, thread_map(self.n_jobs) as run:
            # Fig. 3: for every bandwidth and split the dual and the offsets; the mass-volume curves; σ_opt.
            search = self._search(training, layout, parts, masses, _rows_per_parameter(rule, guarantee), rng, run)
            # Fig. 3, last line: F^B at σ_opt, each split in its own metric, more precise than in the search.
            sigma, metrics = search.best.sigma, search.split_metrics(parts)
            duals = search.solve_splits(parts, metrics)
            weights = split_weights(duals, equal=of_paper)
            precision: Precision = "mixed" if search.training_samples_are_small else "double"
            function = aggregate(training, duals, weights, sigma, metrics, precision=precision)
            score = TableScore(encoding, function) if encoding else function
            # The offsets of all masses at once, from the scores of rows that trained nothing.
            ordered = True if self.time_order else None
            if surveyed is not None:
                calibration = Calibration.from_stream(streamed_scores(score, surveyed, run, line), guarantee)
            elif guarantee.reserves_rows:
                row_scores = reserved_scores(function, X, reserved, run, line)
                alike, calibrated = None if groups is None else groups[reserved], reserved
                calibration = Calibration.from_reserved(row_scores, guarantee, groups=alike, ordered=ordered)
            else:
                split_scores = held_out_scores(
                    training,
                    splits,
                    duals,
                    weights,
                    sigma,
                    metrics,
                    run,
                    precision=precision,
                    drop_negligible=of_paper,
                    table=table,
                )
                held_out = HeldOut.of(table, splits, split_scores, function, None if groups is None else groups[rows])
                row_scores, calibrated = held_out.row_scores, rows[held_out.rows]
                calibration = Calibration.from_splits(held_out, of_paper=of_paper, ordered=ordered)
            sample_scores = function(search.sample.points, run)
        report = SolveReport.of(duals)
        self.sets_ = FittedSets(
            score=score,
            mass=self.mass,
            masses=masses,
            calibration=calibration,
            constants=constants,
            volume_sample=search.sample,
            sample_scores=sample_scores,
            groups=None if by is None else GroupCalibrations.of(calibration, row_scores, by[calibrated], self.mass),
        )
        self.metric_, self.nu_, self.sigma_ = search.metric, search.best.nu, sigma
        self.curves_ = search.curves
        self.selection_ = search.selection
        self.n_iter_ = report.iterations
        warn_if_unconverged([*(each.report for each in search.candidates if each is not search.best), report], self.tol)
        warn_if_unresolved(self.mass, len(calibration.offsets) if of_paper else calibration.n_rows)
        if isinstance(rule, RandomSplitting) and not of_paper:
            warn_if_dependent(calibration, self.mass)
        warn_about_bandwidth(search.curves[search.choice.best], self.selection_)
        return self

    def _search(
        self,
        X: NDArray[np.float64],
        layout: ColumnLayout,
        splits: Sequence[Split],
        masses: NDArray[np.float64],
        rows_per_parameter: float,
        rng: np.random.RandomState,
        run: Map,
    ) -> BandwidthSearch:
        """Find metric, ν and bandwidth of the smallest sets."""
        automatic = isinstance(self.sigma, str)
        if isinstance(self.splits, str):
            splits = splits[:_SEARCH_SPLITS]
        nus = (self.nu,) if not isinstance(self.nu, str) else _NUS if automatic and len(X) >= _NU_ROWS else _NUS[:1]
        solver = Solver(nus[0], self.tol, self.max_iter)
        numbers = X[:, : layout.n_numeric]
        metric, widest = self._choose_metric(numbers, splits, masses, solver, rng, run)
        if layout.sizes:  # distances, and with them bandwidths, grow with the root of the number of columns
            widest *= np.sqrt(len(layout.varying(X)) / np.count_nonzero(np.ptp(numbers, axis=0)))

        def searched(metric: MetricName | None, widest: float) -> BandwidthSearch:
            search = BandwidthSearch(
                X,
                splits,
                masses,
                VolumeSampler(self.volume_method, X, self.n_volume_points, rng, layout=layout),
                solver,
                self.selection,
                run,
                self.verbose,
                of_paper=self.calibration == "paper",
                metric=metric,
                larger_nus=nus[1:],
                rows_per_parameter=rows_per_parameter,
                layout=layout,
            )
            sigmas = bandwidth_grid(search.mapped, rng, widest) if automatic else candidate_sigmas(self.sigma)
            search.search(sigmas, extensible=automatic)
            return search

        search = searched(metric, widest)
        # A race on some columns at a time does not see everything: where volumes can be measured in all of them, the
        # winner must win there, too.
        raced = bool(self.metric_comparison_) and metric != _METRICS[0]
        if raced and layout.n_numeric > ALL_COLUMNS and not search.sample_is_too_small:
            first = searched(_METRICS[0], np.inf)
            if not first.sample_is_too_small and first.penalised_log_volume <= search.penalised_log_volume:
                search = first
        if search.sample_is_too_small:
            choose_on_feature_subsets(search)
        return search

    def _choose_metric(
        self,
        X: NDArray[np.float64],
        splits: Sequence[Split],
        masses: NDArray[np.float64],
        solver: Solver,
        rng: np.random.RandomState,
        run: Map,
    ) -> tuple[MetricName | None, float]:
        """The metric, as given or by volume; and the widest bandwidth to try first.

        Bandwidths that are given are in the units of the columns: no metric is then chosen.
        """
        self.metric_comparison_: dict[str, float] = {}
        if self.metric != "auto" or not isinstance(self.sigma, str):
            return None if self.metric == "auto" else self.metric, np.inf
        results = race(_METRICS, X, splits, masses, solver, rng, run)
        if not results:
            return _METRICS[0], np.inf
        self.metric_comparison_ = {metric: result.log_volume for metric, result in results.items()}
        best = min(_METRICS, key=lambda metric: results[metric].log_volume)
        return best, _WIDER * results[best].sigma

    def _survey(self, stream: RowStream, rng: np.random.RandomState, groups: Any, by: Any) -> Survey | None:
        """Sample the rows that train, if most rows of the stream train nothing; None if all rows are needed at once."""
        automatic = isinstance(self.splits, str | Integral) and self.calibration != "paper"
        if self.time_order or not automatic or self.max_train_samples is None or groups is not None or by is not None:
            return None

        def n_trained(n_rows: int) -> int | None:
            nothing = np.empty((0, len(stream.names)))
            rule = self._splitting(nothing, n_rows)
            assert isinstance(rule, RandomSplitting)
            guarantee = self._guarantee(rule, n_rows)
            n_kept = min(rule.n_trained, n_rows - int(np.ceil(self.calibration_size * n_rows - 1e-9)))
            large = rule.leaves_most(n_rows) and guarantee.reserves_rows
            return n_kept if large and guarantee.reaches(self.mass, n_rows - n_kept) else None

        n_splits = MIN_SPLITS if isinstance(self.splits, str) else int(self.splits)
        # With fewer rows than that all are needed; there are more splits of less than a thousand rows.
        size = max(2 * n_splits * (self._max_train(sys.maxsize) or 0), _FEW_ROWS)
        state = rng.get_state()
        with progress_line(self.verbose) as line:
            on_rows = partial(line.reach, "reading", "row")
            found = survey(stream, size, drawn_seed(rng), n_trained, on_rows, cluster_map())
        if found is None or found.is_complete:
            rng.set_state(state)  # as if the rows had come as an array
        return found

    def _max_train(self, n_rows: int) -> int | None:
        """How many rows a split may train on, if that is limited."""
        automatic = self.max_train_samples == "auto"
        return None if automatic and self.calibration == "paper" else max_train_rows(self.max_train_samples, n_rows)

    def _splitting(self, X: NDArray[np.float64], n_rows: int, groups: Any = None) -> Splitting:
        """How the rows are split, of which X may be a sample."""
        return splitting(
            self.splits,
            self.test_size,
            X,
            n_rows,
            groups=groups,
            time_order=self.time_order,
            max_train=self._max_train(n_rows),
        )

    def _guarantee(self, rule: Splitting, n_rows: int) -> Guarantee:
        """What is guaranteed: more than asked for if most rows train nothing, and are enough for it."""
        asked, conformal = Guarantee(self.calibration, self.confidence), Guarantee("conformal")
        if self.calibration != "split" or not isinstance(rule, RandomSplitting) or not rule.leaves_most(n_rows):
            return asked
        return conformal if conformal.reaches(self.mass, n_rows // 2) else asked

    def _reserve(
        self, X: NDArray[np.float64], rule: Splitting, guarantee: Guarantee, rng: np.random.RandomState
    ) -> tuple[Indices, Indices]:
        """Rows to fit with, and those reserved for calibration, if the guarantee needs any."""
        if not guarantee.reserves_rows:
            return np.arange(len(X)), np.arange(0)
        return Reservation(guarantee, self.mass, self.calibration_size, self.test_size).draw(rule, len(X), rng)

    @property
    def support_vectors_(self) -> NDArray[np.float64]:
        """Rows with a non-zero weight in at least one split."""
        return self._function.centres

    @property
    def dual_coef_(self) -> NDArray[np.float64]:
        """Their weights."""
        return np.atleast_2d(self._function.weights)

    @property
    def column_scales_(self) -> NDArray[np.float64]:
        """Unit of distance of each column in the metric."""
        return self._encoding.units(self._function.units)

    @property
    def categories_(self) -> dict[Any, list[str]]:
        """The values of each category column."""
        names, categories = getattr(self, "feature_names_in_", range(self.n_features_in_)), self._encoding.categories
        return {names[j]: list(values) for j, values in zip(categories.indices, categories.values, strict=True)}

    @property
    def _function(self) -> KernelExpansion | MetricExpansion:
        score = self.sets_.score
        return cast(KernelExpansion | MetricExpansion, score.function if isinstance(score, TableScore) else score)

    def explain(self, X: Any) -> NDArray[np.float64]:
        r"""How far each feature of each row is from the normal rows around it.

        With the score :math:`f(x) = \sum_j c_j k_\sigma(x, x_j)`, the mean shift moves a row to the mean of the support
        vectors around it, :math:`m(x) = \sum_j c_j k_\sigma(x, x_j)\, x_j / f(x)`. The explanation is the row's
        displacement from there, in units of the bandwidth,

        .. math:: (x - m(x)) / \sigma = -\sigma \nabla \log f(x),

        which says how fast the score falls with each feature. In a metric, each feature is in its own unit of distance,
        `column_scales_`; with "whiten" that is how far it is from what the other features let expect.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to explain.

        Returns
        -------
        contributions : ndarray of shape (n_samples, n_features)
            Positive where a value is higher than is normal around it, negative where it is lower; the largest in
            absolute value contributes most. A category contributes the more, the rarer its value is among rows with
            such numbers; always positively, and most if the value was not seen in the fit. For numbers,
            ``X - sigma_ * column_scales_ * contributions`` is what would be normal near by, for each feature given the
            others. A column that never changed in the rows of the fit has no
            bandwidth: its contribution is in units of the least change that counts, and as a rule the largest.

        Notes
        -----
        It costs about twice as much as `score_samples`, and is right in the far tail, where the score is zero.
        Its limits: it looks at the support vectors near by, not at all rows, and knows one step, not the whole way into
        the set. Half-way between two clusters it points to neither. Where two columns rise and fall together, a row off
        their line is explained by both. Deep inside the set there is nothing to explain, and the contributions are
        small and of no meaning. Without a metric they compare features by the columns' own units.

        References
        ----------
        Y. Cheng, "Mean shift, mode seeking, and clustering", IEEE Trans. PAMI 17 (1995).

        Examples
        --------
        >>> import numpy as np
        >>> from mvset import MinimumVolumeSet
        >>> X = np.random.default_rng(0).normal(size=(500, 3))
        >>> model = MinimumVolumeSet(sigma=1.0, random_state=0).fit(X)
        >>> contributions = model.explain([[0.0, 6.0, 0.0]])
        >>> int(np.abs(contributions).argmax()), bool(contributions[0, 1] > 0)
        (1, True)
        """
        check_is_fitted(self, "sets_")
        if (place := place_of(X)) is not None:  # few rows are explained: through host memory
            rows = self._rows_at(X, place)
            rows = rows if isinstance(rows, np.ndarray) else place.double_on_host(rows)
            return cast(NDArray[np.float64], place.array(self._contributions(rows)))
        return self._contributions(self._rows(X))

    def _contributions(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """What `explain` says of validated rows."""
        encoding = self._encoding
        with thread_map(self.n_jobs) as run:
            contributions = encoding.by_column(displacement(self._function, encoding.encoded(X), run))
        constants = self.sets_.constants
        contributions[:, constants.indices] = constants.changes(X) / constants.tolerances
        contributions[:, encoding.categories.indices] += np.where(encoding.categories.unseen(X), _UNSEEN, 0.0)
        return contributions

    def _normal_near(self, X: Any) -> NDArray[np.float64]:
        """What would be normal near rows; the constant value where a column never changed before."""
        X, encoding, function, constants = self._rows(X), self._encoding, self._function, self.sets_.constants
        encoded = encoding.encoded(X)
        with thread_map(self.n_jobs) as run:
            shifted = encoded - self.sigma_ * function.units * displacement(function, encoded, run)
        normal = encoding.decoded(shifted)
        normal[:, constants.indices] = constants.values
        return normal


def _rows_per_parameter(rule: Splitting, guarantee: Guarantee) -> float:
    """From how many rows for each parameter of the metric on one metric serves all splits.

    Always if other rows calibrate. Never if rows depend on each other: then they tell less than their number.
    """
    if guarantee.reserves_rows:
        return 0.0
    return _ROWS_PER_PARAMETER if isinstance(rule, RandomSplitting) else np.inf
