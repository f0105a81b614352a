"""The experiments on probabilities, of two classes and more and by site: their true values."""

import numpy as np
import pytest
from validation import class_probabilities, probabilities, sites


@pytest.mark.long
def test_right_forecasts_of_two_classes_have_no_error_of_calibration():
    truth = probabilities.measures_of_population(None, "calibrated", 0.2, 200)
    assert truth["ece"] == pytest.approx(0, abs=1e-12)
    assert truth["calibration_slope"] == pytest.approx(1, abs=1e-6)
    assert truth["brier paired"] < 0  # noise makes the second classifier worse


@pytest.mark.long
def test_right_forecasts_of_three_classes_have_no_error_of_calibration():
    truth = class_probabilities.measures_of_classes(None, "calibrated", 3, 200)
    assert truth["ece_full"] == pytest.approx(0, abs=1e-12)
    assert truth["ece_macro"] == pytest.approx(0, abs=1e-12)
    assert truth["calibration_slope_top_label"] == pytest.approx(1, abs=1e-6)


def test_a_band_is_as_long_as_it_is_wide_and_holds_0_if_it_holds_the_curve():
    band, curve = np.array([[0.1, 0.3], [0.4, 0.8]]), np.array([0.2, 0.5])
    np.testing.assert_allclose(probabilities.band_interval(band, curve), [0, 0.3])
    np.testing.assert_allclose(probabilities.band_interval(band, curve + 0.2), [0.1, 0.4])


def test_sites_whose_forecasts_are_right_have_no_error():
    right = sites.Sites(np.array([-1.0, 0.5]), np.zeros(2), np.ones(2))
    truth = sites.calibration_of_sites(right)
    np.testing.assert_allclose(truth["calibration_in_the_large"], 0, atol=1e-12)
    assert truth["calibration_slope"].tolist() == [1, 1]


@pytest.mark.long
def test_every_question_of_sites_has_an_interval():
    evidence, truth = sites.probabilities_of_sites(np.random.default_rng(1), 6, 60, 0.3, 0.1)
    for intervals in (sites.pooled(evidence), sites.one_sample(evidence)):
        assert set(intervals) == set(truth)
        assert np.isfinite(list(intervals.values())).all()
