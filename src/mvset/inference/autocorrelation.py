"""How alike neighbouring values of a series are."""

import numpy as np

from mvset.values import Array

_MIN_ROWS = 20  # to tell an autocorrelation time
_WINDOW = 5.0  # times the autocorrelation time: lags that are summed (A. Sokal, "Monte Carlo Methods", 1997)


def autocorrelations(series: Array) -> Array:
    """Autocorrelations of all lags."""
    n = len(series)
    centred = series - series.mean()
    spectrum = np.abs(np.fft.rfft(centred, 2 * n)) ** 2
    covariances = np.fft.irfft(spectrum)[:n]
    return np.asarray(covariances / covariances[0])


def autocorrelation_time(series: Array) -> float:
    """Integrated autocorrelation time, at least one: so many consecutive values count as one independent value."""
    n = len(series)
    if n < _MIN_ROWS or np.ptp(series) == 0:
        return 1.0
    times = 2.0 * np.cumsum(autocorrelations(series)) - 1.0
    lags = np.arange(len(times))
    window = int(np.argmax(lags >= _WINDOW * times)) or len(times) - 1
    # The mean of the series is estimated, too: correlations come out too small by about the time over n.
    return float(np.clip(times[window] * (1.0 + (2.0 * window + 1.0) / n), 1.0, n))
