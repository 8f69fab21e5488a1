import numpy as np
import pytest

from mvset.bandwidth.choice import (
    Selection,
    eligible_bandwidths,
    parameter_penalty,
    widest_of_smallest,
)
from mvset.bandwidth.curves import BandwidthCurve

MASSES = np.array([0.9, 0.95])


def curve(sigma, mean_log_volume, training_mass=0.6, by_split=None):
    zeros = np.zeros(2)
    return BandwidthCurve(
        masses=MASSES,
        offsets=zeros,
        volumes=zeros,
        log_volumes=zeros,
        standard_errors=zeros,
        hits=zeros,
        effective_sample_sizes=zeros,
        area=0.0,
        area_error=0.0,
        mean_log_volume=mean_log_volume,
        sigma=sigma,
        training_mass=training_mass,
        split_log_volumes=np.full(4, mean_log_volume) if by_split is None else np.array(by_split),
    )


def chosen(curves, n_independent=4.0):
    return curves[widest_of_smallest(curves, n_independent, True).best].sigma


def test_the_smallest_sets_win():
    assert chosen([curve(1, 3.0), curve(2, 1.0), curve(3, 2.0)]) == 2


def test_of_equal_ones_the_wider_wins_in_any_order():
    curves = [curve(1, 1.0), curve(2, 1.0), curve(3, 2.0)]
    assert chosen(curves) == 2
    assert chosen(curves[::-1]) == 2


def test_the_widest_within_a_standard_error_of_the_least():
    """The difference of the first two is 0.3 ± 0.1 over four independent splits; then 0.05 ± 0.1."""
    base = [1.0, 1.0, 1.0, 1.0]
    worse = curve(2, 1.3, by_split=[1.1, 1.2, 1.4, 1.5])
    as_good = curve(2, 1.05, by_split=[0.85, 0.95, 1.15, 1.25])
    assert chosen([curve(1, 1.0, by_split=base), worse, curve(4, 9.0)]) == 1
    assert chosen([curve(1, 1.0, by_split=base), as_good, curve(4, 9.0)]) == 2
    # More of the splits independent, less doubt.
    assert chosen([curve(1, 1.0, by_split=base), as_good, curve(4, 9.0)], n_independent=40.0) == 1


def test_a_bandwidth_that_is_wider_by_far_is_not_as_good():
    """Its standard error is large if a split lacks an outlier."""
    doubtful = [0.1, 1.1, 1.1, 2.1]
    curves = [curve(1, 1.0), curve(2.4, 1.1, by_split=doubtful), curve(2.6, 1.1, by_split=doubtful)]
    assert widest_of_smallest(curves, 4.0, True).best == 1
    assert widest_of_smallest(curves, 4.0, True, is_coarse=True).best == 0


def test_wider_bandwidths_are_tried_up_to_the_first_that_is_worse():
    curves = [curve(1, 1.0), curve(2, 1.0), curve(4, 2.0), curve(8, 1.0, by_split=[0.0, 1.0, 1.0, 2.0])]
    assert widest_of_smallest(curves, 4.0, True).best == 3  # of equal ones the widest is the least
    curves[3] = curve(8, 1.1, by_split=[0.1, 1.1, 1.1, 2.1])
    assert widest_of_smallest(curves, 4.0, True).best == 1


def test_a_single_split_knows_no_standard_error():
    choice = widest_of_smallest([curve(1, 1.0, by_split=[1.0]), curve(2, 1.001, by_split=[1.001])], 1.0, True)
    assert choice.best == 0
    np.testing.assert_array_equal(choice.errors, 0.0)


def test_a_dip_of_one_bandwidth_among_near_neighbours_is_noise():
    """Smoothed 1 : 2 : 1, the broad minimum at 1.4 beats the lonely dip at 1."""
    values = {0.8: 3.0, 0.9: 3.0, 1.0: 1.9, 1.1: 3.0, 1.2: 2.3, 1.3: 2.0, 1.4: 2.0, 1.5: 2.0, 1.6: 2.3, 1.7: 3.0}
    assert chosen([curve(sigma, value) for sigma, value in values.items()]) == 1.4


def test_far_neighbours_do_not_smooth():
    assert chosen([curve(1, 9.0), curve(2, 1.0), curve(4, 9.0), curve(8, 3.0), curve(16, 3.0), curve(32, 3.0)]) == 2


def test_a_bandwidth_that_fails_the_condition_on_nu_does_not_compete():
    assert chosen([curve(1, 0.5, training_mass=0.93), curve(2, 1.0, training_mass=0.9)]) == 2
    assert chosen([curve(1, 0.5, training_mass=0.93), curve(2, -np.inf)]) == 2


def test_unless_all_fail():
    assert chosen([curve(1, 0.5, training_mass=0.93), curve(2, 1.0, training_mass=0.99)]) == 1


def test_of_sets_that_no_point_in_the_box_hits_the_middle_is_taken():
    assert chosen([curve(1, -np.inf), curve(2, -np.inf), curve(3, -np.inf), curve(4, 1.0)]) == 2


def test_sets_that_points_drawn_for_them_miss_do_not_compete():
    curves = [curve(1, 2.0), curve(2, 1.0), curve(3, -np.inf), curve(4, -np.inf)]
    assert curves[widest_of_smallest(curves, 4.0, False).best].sigma == 2


def test_what_decided_is_the_smoothed_mean_and_the_error_of_the_difference_to_the_least():
    curves = [curve(1.0, 2.0), curve(1.2, 1.0, by_split=[0.8, 1.2, 1.0, 1.0]), curve(1.4, 4.0), curve(3, 1.5)]
    choice = widest_of_smallest(curves, 4.0, True)
    np.testing.assert_allclose(choice.values, [2.0, 0.25 * 2 + 0.5 * 1 + 0.25 * 4, 4.0, 1.5])
    assert choice.best == 3
    smooth = 0.25 * 2 + 0.5 * np.array([0.8, 1.2, 1.0, 1.0]) + 0.25 * 4
    np.testing.assert_allclose(choice.errors[1], np.std(smooth - 1.5, ddof=1) / 2)
    assert choice.errors[3] == 0.0


def test_sets_of_which_none_is_measured_have_no_errors_and_the_middle_is_taken():
    choice = widest_of_smallest([curve(sigma, -np.inf) for sigma in range(1, 7)], 4.0, False)
    assert choice.best == 3
    np.testing.assert_array_equal(choice.errors, 0.0)


def test_standard_errors_are_of_splits_that_are_independent():
    curves = [curve(1, 1.0, by_split=[1.0, 1.0]), curve(2, 1.1, by_split=[0.9, 1.3])]
    assert widest_of_smallest(curves, 2.0, True).errors[1] == pytest.approx(0.2)
    assert widest_of_smallest(curves, 0.5, True).errors[1] == pytest.approx(0.4)


def test_the_first_and_the_last_of_a_grid_are_not_smoothed():
    ratio = 2 ** (1 / 3)
    curves = [curve(ratio**k, value) for k, value in enumerate([1.0, 5.0, 9.0, 2.0])]
    np.testing.assert_allclose(widest_of_smallest(curves, 4.0, True).values, [1.0, 5.0, 6.25, 2.0])


# ---------------------------------------------------------------- bounds, which have no sampling error


def least(curves):
    return widest_of_smallest(curves, 4.0, False, is_smooth=True)


def test_of_bounds_the_least_is_taken_and_of_equal_ones_the_widest():
    assert least([curve(1, 1.0), curve(2, 1.05), curve(4, 9.0)]).best == 0
    assert least([curve(1, 1.0), curve(2, 1.0), curve(4, 9.0)]).best == 1


def test_bounds_are_not_smoothed():
    """The same values as a dip among near neighbours, which measured volumes smooth away."""
    sigmas, values = 1.1 ** np.arange(6), np.array([3.0, 1.9, 3.0, 2.0, 2.0, 2.1])
    curves = [curve(sigma, value) for sigma, value in zip(sigmas, values, strict=True)]
    choice = least(curves)
    assert choice.best == 1
    np.testing.assert_array_equal(choice.values, values)
    assert widest_of_smallest(curves, 4.0, False).best == 4


def test_errors_of_bounds_are_those_of_the_difference_to_the_least():
    choice = least([curve(1, 1.0), curve(2, 1.05, by_split=[0.85, 0.95, 1.15, 1.25])])
    np.testing.assert_allclose(choice.errors, [0.0, np.std([0.85, 0.95, 1.15, 1.25], ddof=1) / 2.0])


def test_a_bound_that_fails_the_condition_on_nu_does_not_compete():
    assert least([curve(1, 0.5, training_mass=0.93), curve(2, 1.0, training_mass=0.9)]).best == 1


# ---------------------------------------------------------------- penalty and condition


def test_parameters_cost_half_the_logarithm_of_the_rows_for_each():
    assert parameter_penalty(3, 100) == pytest.approx(3 * np.log(100) / 200)


def test_masses_up_to_the_least_asked_for_meet_the_condition():
    assert eligible_bandwidths([0.91, 0.9, 0.5], MASSES) == [1, 2]
    assert eligible_bandwidths([0.91, 0.95], MASSES) == [0, 1]


# ---------------------------------------------------------------- what the condition on nu leaves out


def selection(values, eligible, errors=0.1):
    n = len(values)
    return Selection(
        "log volume",
        "",
        "box",
        1000,
        800.0,
        sigmas=np.arange(1.0, n + 1),
        values=np.array(values),
        errors=np.full(n, errors),
        eligible=np.array(eligible, dtype=bool),
        nus=np.full(n, 0.4),
    )


@pytest.mark.parametrize(
    ("values", "eligible", "stopped"),
    [
        ([0.5, 1.0, 2.0, 3.0], [0, 1, 1, 1], True),
        ([9.0, 1.0, 2.0, 3.0], [0, 1, 1, 1], True),
        ([0.5, 0.7, 1.0, 2.0], [0, 0, 1, 1], True),
        ([0.5, 1.0, 2.0, 3.0], [1, 1, 1, 1], False),
        ([0.5, 2.0, 1.0, 3.0], [0, 1, 1, 1], False),
        ([0.5, 1.0, 1.05, 3.0], [0, 1, 1, 1], False),
        ([0.5, 1.0, 2.0, 3.0], [0, 0, 0, 1], False),
        ([0.5, 1.0, 2.0, 3.0], [0, 0, 0, 0], False),
        ([-np.inf, -np.inf, 2.0, 3.0], [0, 1, 1, 1], False),
        ([0.5, 1.0, np.inf, 3.0], [0, 1, 1, 1], False),
    ],
    ids=[
        "the narrowest allowed is the best",
        "whatever those not allowed are",
        "two are not allowed",
        "all are allowed",
        "a wider one is the best",
        "the next is as good, up to the error",
        "one is allowed",
        "none is",
        "no volume",
        "no volume of the next",
    ],
)
def test_a_selection_is_stopped_by_nu_where_the_narrowest_that_it_allows_is_the_best(values, eligible, stopped):
    assert selection(values, eligible).stopped_by_nu is stopped
