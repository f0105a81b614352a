"""The study of streams of probabilities: a drift is seen, and a healthy stream is quiet."""

import numpy as np
import pytest

from bayescm.studies import forecast_streams


@pytest.mark.long
def test_a_drift_is_seen_and_health_is_not():
    rng, ones = np.random.default_rng(1), np.ones(30)
    healthy = forecast_streams.stream(rng, 300, -1.0, ones, 0 * ones)
    assert np.isnan(forecast_streams.first_alarm(healthy))
    drifting = forecast_streams.stream(rng, 300, -1.0, 0.5 * ones, 0 * ones)
    assert forecast_streams.first_alarm(drifting) < 15
