import numpy as np
import pytest
from scipy.stats import binom, multinomial

from mvset.inference.autocorrelation import autocorrelation_time
from mvset.inference.onset import _Known, _log_changing, _log_uniform, _log_whole, _variance_inflation, find_onset

EXPECTED = np.array([0.5, 0.45, 0.05])
UNLIKE = np.array([0.3, 0.3, 0.4])


def rows(rng, n, shares):
    return rng.multinomial(1, shares, size=n)


@pytest.mark.slow
def test_the_interval_holds_the_change_as_often_as_it_says():
    rng, held, n_tables = np.random.default_rng(0), 0, 200
    for _ in range(n_tables):
        change = rng.integers(20, 280)
        onset = find_onset(np.vstack([rows(rng, change, EXPECTED), rows(rng, 300 - change, UNLIKE)]), EXPECTED, 2000)
        held += onset.low <= change <= onset.high
        assert onset.low <= onset.first <= onset.high
    assert binom.cdf(held, n_tables, 0.95) > 1e-3


def test_rows_that_are_alike_widen_the_interval():
    rng = np.random.default_rng(1)
    once = np.vstack([rows(rng, 400, EXPECTED), rows(rng, 200, UNLIKE)])
    alone, repeated = find_onset(once, EXPECTED, 2000), find_onset(np.repeat(once, 10, axis=0), EXPECTED, 2000)
    assert alone.rows_per_independent_row < 2
    assert repeated.rows_per_independent_row == pytest.approx(10, rel=0.3)
    assert repeated.first == pytest.approx(10 * alone.first, abs=10)
    # Ten times as many rows that say no more: the interval is as wide in time.
    assert repeated.high - repeated.low >= 5 * (alone.high - alone.low)


def test_what_is_known_about_dependence_counts_as_well():
    rng = np.random.default_rng(1)
    counts = np.vstack([rows(rng, 400, EXPECTED), rows(rng, 200, UNLIKE)])
    alone, known = find_onset(counts, EXPECTED, 2000), find_onset(counts, EXPECTED, 2000, 20.0)
    assert known.rows_per_independent_row == 20
    assert known.high - known.low > 3 * (alone.high - alone.low)


def test_all_rows_are_unlike():
    onset = find_onset(rows(np.random.default_rng(0), 300, UNLIKE), EXPECTED, 2000)
    assert (onset.first, onset.low, onset.end) == (0, 0, 300)


def test_a_single_block():
    onset = find_onset(np.array([[5, 5, 90]]), EXPECTED, 2000)
    assert (onset.first, onset.low, onset.high, onset.end) == (0, 0, 0, 1)


def test_drift_that_ended():
    rng = np.random.default_rng(0)
    counts = np.vstack([rows(rng, 200, EXPECTED), rows(rng, 100, UNLIKE), rows(rng, 300, EXPECTED)])
    onset = find_onset(counts, EXPECTED, 2000)
    assert onset.low <= 200 <= onset.high
    assert abs(onset.end - 300) < 15
    lasting = find_onset(counts[:300], EXPECTED, 2000)
    assert lasting.end == 300


def test_a_change_that_takes_its_time_is_found_before_it_is_complete():
    """The share outside grows from 5 % to 60 % over two hundred rows: one set of shares would begin half-way."""
    rng, firsts = np.random.default_rng(0), []
    outside = np.interp(np.arange(800), [500, 700], [0.05, 0.6])
    for _ in range(20):
        counts = np.array([rng.multinomial(1, [0.55 * (1 - p), 0.45 * (1 - p), p]) for p in outside])
        onset = find_onset(counts, np.array([0.5225, 0.4275, 0.05]), 2000)
        firsts.append(onset.first)
        assert onset.low < 600
    assert 500 < np.median(firsts) < 590


def test_few_calibration_rows_say_less_about_what_is_normal():
    """Seven per cent outside where five were expected, then twelve: the seven may be chance if these rows are few."""
    rng = np.random.default_rng(0)
    shares = np.repeat([[0.5, 0.43, 0.07], [0.5, 0.38, 0.12]], [300, 50], axis=0)
    counts = np.array([rng.multinomial(100, each) for each in shares])
    many, few = (find_onset(counts, EXPECTED, m).first for m in (1_000_000, 300))
    assert many == 0
    assert abs(few - 300) < 10


def test_the_likelihood_is_that_of_two_multinomial_segments():
    """With certain shares before, and many rows: the greatest likelihood over the shares after, by brute force."""
    rng = np.random.default_rng(3)
    counts = np.array([rng.multinomial(200, EXPECTED) for _ in range(30)] + [rng.multinomial(200, UNLIKE)] * 20)
    after = [counts[t:].sum(axis=0) for t in range(50)]
    likelihoods = [
        sum(multinomial.logpmf(row, 200, EXPECTED) for row in counts[:t])
        + sum(multinomial.logpmf(row, 200, after[t] / after[t].sum()) for row in counts[t:])
        for t in range(50)
    ]
    assert find_onset(counts, EXPECTED, 1e9).first == int(np.argmax(likelihoods)) == 30


def test_the_likelihood_of_rows_that_change_is_the_sum_over_all_segmentations():
    """V(t) of the module, row by row, by recursion."""
    rng = np.random.default_rng(4)
    counts, known = rows(rng, 13, UNLIKE), _Known(EXPECTED, 100.0)
    up_to = np.vstack([np.zeros(3), np.cumsum(counts, axis=0)])

    def one_set(start, end):
        return np.exp(known.log_unlike(up_to[end : end + 1] - up_to[start])[0])

    def changing(start):
        lengths = [length for length in (2, 4, 8) if start + length < 13]
        return 0.5 * one_set(start, 13) + sum(
            0.5 / 3 * one_set(start, start + n) * changing(start + n) for n in lengths
        )

    np.testing.assert_allclose(np.exp(_log_changing(up_to, known)), [changing(t) for t in range(13)])


def test_a_known_set_of_shares_is_a_mixture_of_tilted_ones_and_of_any():
    known = _Known(np.array([0.9, 0.1]), 100.0)
    tilts = np.array([0.03, 0.06, 0.12, 0.25, 0.4, 0.6, 0.8, 1.5, 3.0])
    outside = 0.1**tilts
    tilted = np.mean(outside**2 * (1 - outside))
    any_shares = 0.5 * 0.5 * 1.5 / (1 * 2 * 3)  # Polya's urn, from Jeffreys' prior
    assert known.log_unlike(np.array([[1.0, 2.0]]))[0] == pytest.approx(np.log(0.5 * (tilted + any_shares)))
    assert known.log_alike(np.array([[1.0, 1.0]]))[0] == pytest.approx(np.log(90 * 10 / (100 * 101)))


def test_first_and_end_are_exact_where_blocks_are_large():
    counts = np.round(100 * np.repeat([EXPECTED, UNLIKE, EXPECTED], [10, 5, 9], axis=0)).astype(int)
    onset = find_onset(counts, EXPECTED, 2000)
    assert (onset.first, onset.low, onset.high, onset.end) == (10, 10, 10, 15)
    last = find_onset(counts[:11], EXPECTED, 2000)
    assert (last.first, last.end) == (10, 11)
    first = find_onset(counts[10:], EXPECTED, 2000)
    assert (first.first, first.end) == (0, 5)


def test_any_row_is_as_likely_to_be_the_first_unless_all_are_unlike():
    prior = np.exp(_log_uniform(np.array([[1.0, 2.0], [0.0, 0.0], [3.0, 6.0]])))
    np.testing.assert_allclose(prior, [0.5 * 3 / 12, 0.0, 0.5 * 9 / 12], atol=1e-200)


@pytest.mark.parametrize("confidence", [0.3, 0.8, 0.99])
def test_the_interval_has_the_likeliest_blocks(confidence):
    rng = np.random.default_rng(6)
    counts = np.array([rng.multinomial(500, EXPECTED) for _ in range(9)] + [rng.multinomial(500, UNLIKE)] * 6)
    alike = 100.0  # rows that count as one
    onset = find_onset(counts, EXPECTED, 300.0, alike, confidence)
    assert (onset.rows_per_independent_row, onset.end) == (alike, 15)
    rows, known = counts / alike, _Known(EXPECTED, 300.0)
    up_to = np.vstack([np.zeros(3), np.cumsum(rows, axis=0)])
    likely = np.exp(_log_changing(up_to, known) + known.log_alike(up_to[:-1])) * 0.5 / 15
    likely[0] += 0.5 * np.exp(known.log_unlike(up_to[-1:])[0])
    likely /= likely.sum()
    held, descending = 0.0, list(np.argsort(-likely))
    chosen = []
    while held < confidence:
        chosen.append(descending.pop(0))
        held += likely[chosen[-1]]
    assert (onset.first, onset.low, onset.high) == (chosen[0], min(chosen), max(chosen))


def test_the_likelihood_of_one_set_of_shares_that_ended():
    known, up_to = _Known(EXPECTED, 50.0), np.array([[0.0, 0, 0], [1, 2, 3], [4, 4, 4], [9, 5, 4]])
    expected = known.log_unlike(np.array([[4.0, 4, 4]])) + known.log_alike(np.array([[5.0, 1, 0]]))
    assert _log_whole(up_to, 2, known) == pytest.approx(expected[0])


def test_variance_inflation_is_that_of_the_likelihood_ratio_around_both_segments():
    rng = np.random.default_rng(7)
    counts = np.repeat(rng.multinomial(20, EXPECTED, size=15), 2, axis=0).astype(float)
    counts[10:16] = 3.0 * rng.multinomial(10, UNLIKE, size=6)
    unlike = (np.arange(30) >= 10) & (np.arange(30) < 16)
    before, after = ((counts[part].sum(axis=0) + 0.5) / (counts[part].sum() + 1.5) for part in (~unlike, unlike))
    ratio, deviations = np.log(after / before), []
    for row, share in zip(counts, np.where(unlike[:, np.newaxis], after, before), strict=True):
        mean = share @ ratio
        variance = share @ ratio**2 - mean**2
        deviations.append((row @ ratio - row.sum() * mean) / np.sqrt(row.sum() * variance))
    expected = np.mean(np.square(deviations)) * autocorrelation_time(np.array(deviations))
    assert expected > 1.2
    assert _variance_inflation(counts, 10, 16) == pytest.approx(expected)
    assert _variance_inflation(np.tile([5.0, 4.0, 1.0], (30, 1)), 10, 16) == 1.0


def test_an_interval_of_less_confidence_is_narrower():
    rng = np.random.default_rng(1)
    counts = np.vstack([rows(rng, 200, EXPECTED), rows(rng, 100, [0.4, 0.45, 0.15])])
    widths = []
    for confidence in (0.5, 0.95, 0.999):
        onset = find_onset(counts, EXPECTED, 2000, confidence=confidence)
        assert onset.confidence == confidence
        widths.append(onset.high - onset.low)
    assert widths[0] < widths[1] < widths[2]


@pytest.mark.parametrize("rows", [20, 1000, 5000])
def test_a_drift_from_the_first_row_that_ended(rows):
    """With many more rows than calibration rows, normal rows at the end look like a drift that lasts."""
    expected, unlike = np.array([0.5, 0.45, 0.05]), np.array([0.3, 0.3, 0.4])
    counts = np.round(rows * np.repeat([unlike, expected], [5, 9], axis=0)).astype(int)
    onset = find_onset(counts, expected, 2000)
    assert (onset.first, onset.end) == (0, 5)
