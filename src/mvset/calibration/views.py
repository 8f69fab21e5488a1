"""One or two views of the rows: the models of all splits in each scaling, and how two are brought to one scale.

Paper: one bandwidth for all columns, so one view. Difference: where volumes do not tell which scaling gives smaller
sets, rows are seen in both, and the smaller score decides. The set is the intersection of two, calibrated as one.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import softmax

from mvset.calibration.split_models import SplitModels, pooled_logs
from mvset.calibration.splits import Split
from mvset.parallel import Map
from mvset.rows.encoding import RowEncoding
from mvset.rows.layout import ColumnLayout
from mvset.svm.expansion import distinct_centres
from mvset.svm.score import Score
from mvset.values import Array, Indices

Scale = tuple[float, float]  # shift and slope of the logarithms of a view
_ALARMS = 0.05  # mean share of the rows that each of two views flags where they are brought to one scale
_FEWEST, _MOST = 5, 0.25  # rows and share of the rows that a view flags there: limits of what can be estimated
_EVIDENCE = 2.0  # power of the length of a side of a view's sets, in the odds of its alarms (docs/method.md)


@dataclass(frozen=True)
class HeldOut:
    """Scores of the rows that splits hold out, by models that have not seen them: of each row once, and by split."""

    rows: Indices  # numbers in the table, ascending
    scores: Array
    split_scores: list[Array]


@dataclass(frozen=True)
class Views:
    """The models of one or two views, the splits of the rows that they train on, and the scale of each view."""

    models: Sequence[SplitModels]
    splits: Sequence[Split]
    scales: Sequence[Scale]

    def score(self, encoding: RowEncoding | None = None) -> Score:
        """The score of rows of a table, or of encoded rows if `encoding` is None."""
        X, coefficients = self.models[0].X, [each.coefficients for each in self.models]
        centres, weights = distinct_centres(X, np.concatenate(coefficients))
        parts = np.split(weights, np.cumsum([len(each) for each in coefficients])[:-1])
        views = [each.view(part, *scale) for each, part, scale in zip(self.models, parts, self.scales, strict=True)]
        return Score(RowEncoding(X.shape[1]) if encoding is None else encoding, centres, X.mean(axis=0), views)

    def held_out(
        self, score: Score, run: Map = map, splits: Sequence[Split] | None = None, table: Array | None = None
    ) -> HeldOut:
        """Score what the splits hold out of the training rows, or of a `table`."""
        splits = self.splits if splits is None else splits
        table = self.models[0].X if table is None else table
        logs = [each.held_out_logs(splits, run, table) for each in self.models]
        rows, pooled = _pooled_by_view(score, splits, logs, run, table)
        return HeldOut(rows, score.smallest(pooled), [score.smallest(each) for each in zip(*logs, strict=True)])


def unscaled(models: Sequence[SplitModels], splits: Sequence[Split]) -> Views:
    """Views whose logarithms stay as they are."""
    return Views(models, splits, [(0.0, 1.0)] * len(models))


def common_scales(views: Views, layout: ColumnLayout, run: Map = map) -> list[Scale]:
    """Shift and slope that bring the logarithms of each view, of rows held out, to the scale of the first.

    They agree at the median and where alarms begin. A view whose sets are smaller has more of the alarms, by a power of
    the length of a side: it knows more about these rows.
    """
    logs = [each.held_out_logs(views.splits, run) for each in views.models]
    _, pooled = _pooled_by_view(views.score(), views.splits, logs, run, views.models[0].X)
    middles, shares = [float(np.median(each)) for each in pooled], _alarm_shares(views, pooled, layout)
    borders = [float(np.quantile(each, share)) for each, share in zip(pooled, shares, strict=True)]
    reach = [middle - border for middle, border in zip(middles, borders, strict=True)]
    slopes = [reach[0] / each if each > 0 and reach[0] > 0 else 1.0 for each in reach]  # else rows repeat
    return [(middles[0] - slope * middle, slope) for slope, middle in zip(slopes, middles, strict=True)]


def _alarm_shares(views: Views, pooled: Sequence[Array], layout: ColumnLayout) -> Array:
    """Share of the rows that each view alone flags: 5 % on average, but at least five rows."""
    X = views.models[0].X[:, : layout.n_numeric]
    n_columns = max(1, len(layout.sizes) + int(np.count_nonzero(np.ptp(X, axis=0))))
    borders = np.quantile(pooled, _ALARMS, axis=1)
    log_volumes = [each.log_square_integral - 2.0 * border for each, border in zip(views.models, borders, strict=True)]
    shares = len(pooled) * _ALARMS * softmax(-_EVIDENCE * np.array(log_volumes) / n_columns)
    return np.asarray(np.clip(shares, min(_MOST, _FEWEST / len(pooled[0])), _MOST))


def _pooled_by_view(
    score: Score, splits: Sequence[Split], logs: Sequence[Sequence[Array]], run: Map, table: Array
) -> tuple[Indices, list[Array]]:
    """The rows that splits hold out, and their pooled logarithms in each view."""

    def log_score(number: int) -> Callable[[Array], Array]:
        return lambda X: score.by_view(X, run)[number]

    found = [pooled_logs(table, splits, each, log_score(number)) for number, each in enumerate(logs)]
    return found[0][0], [pooled for _, pooled in found]
