"""The study of more than two classes: its truth, and one data set."""

import numpy as np
import pytest

from bayescm.studies import class_probabilities
from bayescm.studies.tables import Settings


def test_right_forecasts_have_no_error_of_calibration():
    truth = class_probabilities.Population("calibrated", 3, 200).truth
    assert truth["ece_full"] == pytest.approx(0, abs=1e-12)
    assert truth["ece_macro"] == pytest.approx(0, abs=1e-12)
    assert truth["calibration_slope_top_label"] == pytest.approx(1, abs=1e-6)


@pytest.mark.long
def test_one_data_set_has_every_measure():
    found = class_probabilities.table(case=2, settings=Settings(replications=2))
    assert set(found["measure"]) == set(class_probabilities.MEASURES)
    assert np.isfinite(found["il"]).all()
