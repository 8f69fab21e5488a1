from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from mvset.bandwidth.bound import log_square_integral
from mvset.rows.layout import ColumnLayout
from mvset.svm.expansion import KernelExpansion
from mvset.svm.scaling import Scaling

POINTS = 250  # centres at which the sum is taken: with equal weights of so many, or a divisor, each is taken alike


class Function:
    """A kernel expansion with random centres in some columns of numbers and of categories.

    It has its values naively, in float64, and the parts that a score has. With a scaling the units of the columns
    differ by orders of magnitude. Columns are correlated.
    """

    def __init__(self, n_numeric, sizes=(), scaling=None, sigma=0.6, n_centres=POINTS, equal=True, seed=0):
        rng = np.random.default_rng(seed)
        self.layout = ColumnLayout(n_numeric, sizes)
        numbers = rng.normal(size=(n_centres, n_numeric)) @ rng.normal(size=(n_numeric, n_numeric))
        units = 1.0 if scaling is None else 10.0 ** np.arange(n_numeric)
        codes = [np.eye(size)[rng.integers(0, size, n_centres)] for size in sizes]
        self.centres = np.hstack([numbers * units, *codes])
        self.weights = np.full(n_centres, 1.0) if equal else rng.exponential(size=n_centres)
        self.weights /= self.weights.sum()
        self.sigma = sigma
        deviations = self.centres.std(axis=0)
        self.scaling = Scaling.fitted(scaling, self.centres, deviations, self.layout) if scaling else None
        self.origin = np.zeros(self.layout.n_encoded) if scaling else self.centres.mean(axis=0)
        self.mapped = self.scaling(self.centres) if scaling else self.centres
        self.expansion = KernelExpansion(self.mapped, self.weights, sigma, self.origin)
        self.varying = np.arange(n_numeric)

    @property
    def log_square_integral(self):
        return log_square_integral(self.expansion, self.scaling, self.layout, self.varying)

    def __call__(self, X):
        mapped = X
        if self.scaling is not None:
            mapped = X / self.scaling.scales
            mapped = mapped @ self.scaling.mixing if len(self.scaling.mixing) else mapped
        return np.exp(-0.5 * cdist(mapped, self.mapped, "sqeuclidean") / self.sigma**2) @ self.weights

    @property
    def cells(self):
        """Every combination of values, encoded."""
        cells = np.empty((1, 0))
        for size in self.layout.sizes:
            cells = np.hstack([np.repeat(cells, size, axis=0), np.tile(np.eye(size), (len(cells), 1))])
        return cells

    @property
    def box(self):
        """Seven bandwidths around the centres along each column that varies: beyond, F is less than 1e-10."""
        n = self.layout.n_numeric
        units = np.ones(n)
        if self.scaling is not None:
            inverse = np.diag(self.scaling.scales[:n])
            if len(self.scaling.mixing):
                inverse = np.linalg.inv(self.scaling.mixing[:n, :n]) @ inverse
            units = np.linalg.norm(inverse, axis=0)  # how far a step of length one reaches along each column
        margin = 7.0 * self.sigma * units
        numbers = self.centres[:, :n]
        low, high = numbers.min(axis=0) - margin, numbers.max(axis=0) + margin
        return low, high

    def at(self, numbers):
        """Values at numbers in every cell: one column for each cell."""
        return np.column_stack([self(np.hstack([numbers, np.tile(cell, (len(numbers), 1))])) for cell in self.cells])


@pytest.mark.parametrize("scaling", [None, "standard", "whiten"])
@pytest.mark.parametrize(
    ("n_numeric", "sizes"), [(1, ()), (2, ()), (1, (2,)), (1, (4,)), (2, (3,)), (1, (2, 3)), (1, (1,))]
)
def test_the_closed_form_is_the_integral_of_the_square_over_numbers_and_its_sum_over_values(n_numeric, sizes, scaling):
    """A trapezoidal sum with three points to a bandwidth is exact for Gaussians; the sum over centres is in float32."""
    function = Function(n_numeric, sizes, scaling, n_centres=50)
    low, high = function.box
    axes = [np.linspace(a, b, 150 if n_numeric == 2 else 1000) for a, b in zip(low, high, strict=True)]
    step = np.prod([axis[1] - axis[0] for axis in axes])
    numbers = np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, n_numeric)
    expected = np.sum(function.at(numbers) ** 2) * step
    assert function.log_square_integral == pytest.approx(np.log(expected), abs=1e-5)


@pytest.mark.parametrize("scaling", [None, "standard", "whiten"])
@pytest.mark.parametrize(("n_numeric", "sizes"), [(2, ()), (3, ()), (2, (3,))])
def test_it_bounds_the_volume_of_every_set(n_numeric, sizes, scaling):
    """Monte Carlo volumes of sets that hold most, many or half of the centres, with four standard errors."""
    function = Function(n_numeric, sizes, scaling, equal=False)
    low, high = function.box
    points = np.random.default_rng(1).uniform(low, high, size=(20_000, n_numeric))
    values = function.at(points)
    offsets = np.quantile(function(function.centres), [0.05, 0.2, 0.5])
    box_volume = np.prod(high - low)
    for offset in offsets:
        counts = (values >= offset).sum(axis=1)
        volume, error = box_volume * counts.mean(), box_volume * counts.std() / np.sqrt(len(points))
        bound = np.exp(function.log_square_integral - 2.0 * np.log(offset))
        assert counts.sum() > 30
        assert bound > volume - 4.0 * error


@pytest.mark.parametrize(("n_centres", "equal"), [(1, True), (3, False), (999, True), (1000, False), (3000, False)])
@pytest.mark.parametrize(("n_numeric", "sizes"), [(2, ()), (15, ()), (15, (3,))])
def test_the_sum_over_some_centres_is_near_the_sum_over_all(n_numeric, sizes, n_centres, equal):
    """It is the mean over centres, drawn in proportion to their weights, of the sum at each."""
    function = Function(n_numeric, sizes, n_centres=n_centres, equal=equal, sigma=0.5 * np.sqrt(n_numeric))
    kernel = np.exp(-0.25 * cdist(*[function.centres[:, :n_numeric]] * 2, "sqeuclidean") / function.sigma**2)
    log_factor = 0.5 * n_numeric * np.log(np.pi * function.sigma**2)
    for block, size in zip(function.layout.blocks, sizes, strict=True):
        codes, differ = function.centres[:, block], np.exp(-1.0 / function.sigma**2)
        equal_values = codes @ codes.T
        kernel *= np.where(equal_values, 1.0 + (size - 1.0) * differ**2, 2.0 * differ + (size - 2.0) * differ**2)
    sums = kernel @ function.weights
    full = function.weights @ sums
    spread = np.sqrt(function.weights @ (sums / full - 1.0) ** 2)
    found = np.exp(function.log_square_integral - log_factor) / full
    # Four standard errors of as many random draws: those taken are spread more evenly.
    assert found == pytest.approx(1.0, abs=4.0 * spread / np.sqrt(POINTS) + 1e-5)


def test_a_function_of_any_total_weight():
    """With a scaling for each split a function has a part of the weight."""
    function = Function(2, (3,), "standard", equal=False)
    third = replace(function.expansion, weights=function.weights / 3.0)
    part = log_square_integral(third, function.scaling, function.layout, function.varying)
    assert part == pytest.approx(function.log_square_integral - 2.0 * np.log(3.0))


def test_columns_that_do_not_vary_change_nothing():
    function = Function(2)
    constant = np.insert(function.centres, 1, 5.0, axis=1)
    expansion = KernelExpansion(constant, function.weights, function.sigma, constant.mean(axis=0))
    for scaling in (None, Scaling.fitted("whiten", constant, constant.std(axis=0))):
        two = None if scaling is None else Scaling.fitted("whiten", function.centres, function.centres.std(axis=0))
        functions = [
            replace(each, centres=each.centres if map_ is None else map_(each.centres), origin=np.zeros(n_columns))
            for each, map_, n_columns in ((expansion, scaling, 3), (function.expansion, two, 2))
        ]
        found = log_square_integral(functions[0], scaling, ColumnLayout(3), np.array([0, 2]))
        assert found == pytest.approx(log_square_integral(functions[1], two, ColumnLayout(2), np.arange(2)), abs=1e-5)


def test_units_of_the_columns_add_their_logarithm():
    function = Function(3, (2,), "whiten")
    scaled = function.centres * [1.0, 100.0, 1e-3, 1.0, 1.0]
    scaling = Scaling.fitted("whiten", scaled, scaled.std(axis=0), function.layout)
    expansion = replace(function.expansion, centres=scaling(scaled))
    found = log_square_integral(expansion, scaling, function.layout, np.arange(3))
    assert found == pytest.approx(function.log_square_integral + np.log(0.1), abs=1e-5)


@pytest.mark.parametrize("sigma", [0.1, 0.03, 1e-3])
def test_values_that_differ_have_no_kernel_in_common_at_narrow_bandwidths(sigma):
    """The kernel of two values underflows; the integral is the sum over the centres of each value alone."""
    function = Function(1, (2,), sigma=sigma, n_centres=50)
    numbers, codes = function.centres[:, :1], function.centres[:, 1:]
    kernel = np.exp(-0.25 * cdist(numbers, numbers, "sqeuclidean") / sigma**2) * (codes @ codes.T)
    expected = 0.5 * np.log(np.pi * sigma**2) + np.log(function.weights @ kernel @ function.weights)
    assert function.log_square_integral == pytest.approx(expected, abs=1e-4)
