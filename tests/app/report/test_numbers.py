from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from mvset import MinimumVolumeSet
from mvset.app.report.numbers import interpolated_levels, report_numbers, slider_masses
from mvset.app.report.write import report_scan
from mvset.estimators.fitted_model import FittedModel
from mvset.inference.timeline import Times
from mvset.paper.datasets import paper_mixture, two_moons

RTOL = 1e-5  # grids are scored in single precision


def numbers_about(model, X, mass=0.95):
    fitted = FittedModel.of(model)
    survey = report_scan(fitted, mass)
    survey.add(X, survey.score(X), np.arange(len(X)), lambda selected: [{} for _ in selected])
    return report_numbers(fitted, survey.result())


def nearest_completions(point, inside, pair):
    """The ten rows inside that are nearest to a point in two columns, with its values there."""
    away = (inside[:, pair] - point) / inside[:, pair].std(axis=0)
    completed = inside[np.argsort((away**2).sum(axis=1))[:10]]
    completed[:, pair] = point
    return completed


def test_counts_and_volumes_are_those_of_the_model(model, rows, fitted, survey):
    numbers = report_numbers(fitted, survey)
    prepared = fitted.prepared(rows)
    for mass, outside, offset, volume in zip(
        numbers.survey.masses, survey.n_outside, numbers.offsets, numbers.volumes, strict=True
    ):
        assert outside == np.sum(fitted.estimator.predict(prepared, mass=mass) == -1)
        assert offset == fitted.sets.offset(mass)
        assert volume == fitted.sets.volume(mass)
    assert numbers.survey.masses[numbers.start] == 0.95


def test_slider_masses_can_be_guaranteed():
    X = two_moons(200, random_state=0)
    few = FittedModel.of(MinimumVolumeSet(0.8, sigma=0.6, calibration="pac", random_state=0).fit(X))
    stops = slider_masses(few, 0.875)
    assert 0.8 in stops
    assert 0.875 in stops
    assert stops == sorted(stops)
    assert all(np.isfinite(few.sets.offset(stop)) for stop in stops)
    assert 0.99 not in stops


def test_rows_inside_lie_inside_the_projection():
    X = paper_mixture(5).sample(400, random_state=0)
    model = MinimumVolumeSet(sigma=1.3, random_state=0).fit(X)
    numbers = numbers_about(model, paper_mixture(5).sample(2000, random_state=1))
    assert len(numbers.projections) == 6
    sample = numbers.survey.sample
    inside = sample.rows[sample.scores >= numbers.offsets[-1]]
    assert len(inside) > 1400
    for projection in numbers.projections:
        # The maximum over the values of the nearest rows includes the row's own values.
        pair = [int(name[1:]) for name in projection.names]
        for row in inside[::200]:
            highest = model.score_samples(nearest_completions(row[pair], inside, pair)).max()
            assert highest >= model.score_samples(row[np.newaxis])[0] - 1e-12
            k, m = np.abs(projection.x - row[pair[0]]).argmin(), np.abs(projection.y - row[pair[1]]).argmin()
            completed = nearest_completions([projection.x[k], projection.y[m]], inside, pair)
            np.testing.assert_allclose(projection.scores[m, k], model.score_samples(completed).max(), rtol=RTOL)


def test_a_projection_is_the_highest_score_over_completions():
    X = paper_mixture(3).sample(300, random_state=0)
    model = MinimumVolumeSet(sigma=1.0, random_state=0).fit(X)
    new = paper_mixture(3).sample(50, random_state=1)
    numbers = numbers_about(model, new)
    projection = next(each for each in numbers.projections if each.names == ("x0", "x2"))
    inside = new[model.score_samples(new) >= numbers.offsets[-1]]
    for j, i in ((0, 0), (20, 31), (63, 40)):
        completed = nearest_completions([projection.x[i], projection.y[j]], inside, [0, 2])
        np.testing.assert_allclose(projection.scores[j, i], model.score_samples(completed).max(), rtol=RTOL)


def test_in_two_columns_the_projection_is_the_score():
    model = MinimumVolumeSet(sigma=0.3, random_state=0).fit(two_moons(300, random_state=0))
    projection = numbers_about(model, two_moons(200, random_state=1)).projections[0]
    grid = np.stack(np.meshgrid(projection.x, projection.y), axis=-1).reshape(-1, 2)
    np.testing.assert_allclose(projection.scores.ravel(), model.score_samples(grid), rtol=RTOL)


def test_projections_of_a_pipeline_are_in_the_units_of_the_table(fitted, survey, rows):
    numbers = report_numbers(fitted, survey)
    projection, inside = numbers.projections[0], rows.to_numpy()[fitted.scores(rows) >= numbers.offsets[-1]]
    pair = [fitted.feature_names.index(name) for name in projection.names]
    completed = nearest_completions([projection.x[10], projection.y[40]], inside, pair)
    scores = fitted.estimator.score_samples((completed - fitted.before[0].mean_) / fitted.before[0].scale_)
    np.testing.assert_allclose(projection.scores[40, 10], scores.max(), rtol=RTOL)


def test_one_column_is_drawn_as_stripes():
    rng = np.random.default_rng(0)
    model = MinimumVolumeSet(sigma=0.5, random_state=0).fit(rng.normal(size=(300, 1)))
    projection = numbers_about(model, rng.normal(size=(100, 1))).projections[0]
    assert projection.names == ("x0", "row")
    np.testing.assert_allclose(projection.scores[0], model.score_samples(projection.x[:, np.newaxis]))


def test_principal_components_are_drawn_instead_of_the_columns():
    X = paper_mixture(4).sample(300, random_state=0)
    model = make_pipeline(PCA(2), MinimumVolumeSet(sigma=1.0, random_state=0)).fit(X)
    numbers = numbers_about(model, X)
    assert numbers.projections[0].names == ("pca0", "pca1")
    np.testing.assert_allclose(numbers.projections[0].rows, model[0].transform(X))
    assert numbers.survey.unusual[0].normal == {}


def test_interpolated_levels_are_exact_at_the_slider(fitted, survey):
    numbers = report_numbers(fitted, survey)
    np.testing.assert_allclose(interpolated_levels(numbers, numbers.offsets), numbers.survey.masses, rtol=1e-12)
    levels = interpolated_levels(numbers, np.array([0.0, numbers.offsets[0] + 0.01, numbers.offsets[-1] - 0.7, -1e290]))
    assert (np.diff(levels) >= 0).all()
    assert levels[-1] > 1.0


def test_more_rows_than_are_drawn():
    model = MinimumVolumeSet(sigma=0.3, random_state=0).fit(two_moons(300, random_state=0))
    numbers = numbers_about(model, two_moons(4000, random_state=1))
    assert len(numbers.survey.sample.rows) == 1500
    assert numbers.survey.drift.n_rows == 4000 == numbers.survey.level_counts.sum()


@pytest.mark.parametrize("mass", [0.3, 0.95, 0.999])
def test_any_mass(mass):
    model = MinimumVolumeSet(0.9, sigma=0.3, random_state=0).fit(two_moons(300, random_state=0))
    numbers = numbers_about(model, two_moons(200, random_state=1), mass)
    assert numbers.survey.masses[numbers.start] == mass


def test_a_row_far_out_does_not_shrink_the_picture():
    model = MinimumVolumeSet(sigma=0.3, random_state=0).fit(two_moons(300, random_state=0))
    rows = np.vstack([two_moons(200, random_state=1), [[1e6, 0.0]]])
    projection = numbers_about(model, rows).projections[0]
    assert projection.x[-1] < 10
    assert projection.rows[-1, 0] == projection.x[-1]  # on the edge
    np.testing.assert_array_equal(projection.rows[:-1], rows[:-1])


def test_nonlinear_steps_are_applied_to_the_grid():
    rng = np.random.default_rng(0)
    X = rng.lognormal(size=(400, 3))
    model = make_pipeline(FunctionTransformer(np.log), MinimumVolumeSet(sigma=1.0, random_state=0)).fit(X)
    numbers = numbers_about(model, X[:50])
    projection = numbers.projections[0]
    assert projection.names == ("x0", "x1")
    inside = np.log(X[:50][numbers.survey.sample.scores >= numbers.offsets[-1]])
    completed = nearest_completions(np.log([projection.x[30], projection.y[40]]), inside, [0, 1])
    np.testing.assert_allclose(projection.scores[40, 30], model[-1].score_samples(completed).max(), rtol=RTOL)
    assert numbers.survey.unusual[0].normal == {}  # this step has no true inverse


def test_a_single_principal_component():
    X = paper_mixture(3).sample(300, random_state=0)
    model = make_pipeline(PCA(1), MinimumVolumeSet(sigma=1.0, random_state=0)).fit(X)
    projection = numbers_about(model, X).projections[0]
    assert projection.names == ("pca0", "row")
    np.testing.assert_allclose(projection.scores[0], model[-1].score_samples(projection.x[:, np.newaxis]))


def test_a_set_with_offset_zero_has_no_border():
    survey = SimpleNamespace(masses=np.array([0.9, 0.99]))
    numbers = SimpleNamespace(survey=survey, offsets=np.array([0.1, 0.0]))
    np.testing.assert_allclose(interpolated_levels(numbers, np.array([0.1, 0.0])), [0.9, 0.99])


def test_pairs_are_those_that_explain_most_rows_outside():
    rng = np.random.default_rng(0)
    model = MinimumVolumeSet(sigma=2.0, scaling="standard", random_state=0).fit(rng.normal(size=(600, 8)))
    rows = rng.normal(size=(300, 8))
    rows[:80, [2, 5]] += 6.0
    rows[80:120, [0, 7]] -= 6.0
    numbers = numbers_about(model, rows)
    assert [projection.names for projection in numbers.projections[:2]] == [("x2", "x5"), ("x0", "x7")]
    assert len({projection.names for projection in numbers.projections}) == 6


def test_pairs_without_rows_outside():
    X = paper_mixture(5).sample(400, random_state=0)
    model = MinimumVolumeSet(sigma=1.3, random_state=0).fit(X)
    numbers = numbers_about(model, X[model.predict(X) == 1])
    assert len(numbers.projections) == 6
    assert len(numbers.over_time.outside) == 0


def test_sides_are_those_of_a_box_of_the_same_volume(fitted, survey):
    numbers = report_numbers(fitted, survey)
    extents = np.ptp(survey.ranges, axis=0)
    volumes = [volume.value for volume in numbers.volumes]
    np.testing.assert_allclose(np.prod(extents) * numbers.sides[0] ** 3, volumes)
    np.testing.assert_allclose(np.prod(extents) * numbers.box_shares, volumes)
    assert (numbers.sides[1] <= numbers.sides[0]).all()
    assert (numbers.sides[0] <= numbers.sides[2]).all()
    assert 0.2 < numbers.sides[0][numbers.start] < 1.1


def test_a_constant_column_has_no_part_in_sides():
    rows = np.random.default_rng(0).normal(size=(300, 3))
    rows[:, 1] = 4.0
    with pytest.warns(UserWarning, match="constant"):
        model = MinimumVolumeSet(sigma=0.7, random_state=0).fit(rows)
    numbers = numbers_about(model, rows)
    assert 0.2 < numbers.sides[0][numbers.start] < 1.2


def test_several_tables_continue_over_time():
    model = MinimumVolumeSet(sigma=0.3, random_state=0).fit(two_moons(300, random_state=0))
    fitted = FittedModel.of(model)
    survey = report_scan(fitted, 0.95, tables=["a", "b"])
    for table, n in (("a", 120), ("b", 80)):
        X = two_moons(n, random_state=n)
        survey.add(X, survey.score(X), np.arange(n), lambda selected: [{} for _ in selected], table=table)
    over_time = report_numbers(fitted, survey.result()).over_time
    times = np.sort(np.concatenate([over_time.inside[:, 0], over_time.outside[:, 0]]))
    np.testing.assert_array_equal(times, np.arange(200))


def test_a_wrong_date_does_not_shrink_the_axis():
    model = MinimumVolumeSet(sigma=0.3, random_state=0).fit(two_moons(300, random_state=0))
    fitted, X = FittedModel.of(model), two_moons(400, random_state=1)
    times = 1.77e15 + 6e7 * np.arange(400.0)
    for wrong in (False, True):
        times[0] = 0.0 if wrong else times[0]
        survey = report_scan(fitted, 0.95)
        kept = lambda selected: [{} for _ in selected]  # noqa: E731
        survey.add(X, survey.score(X), np.arange(400), kept, times=Times(times, "date"))
        axis = report_numbers(fitted, survey.result()).over_time.axis
        assert (axis is not None) == wrong
    assert times[1] - 0.1 * np.ptp(times[1:]) < axis[0] < times[5]
    assert times[-5] < axis[1] < times[-1] + 0.1 * np.ptp(times[1:])
