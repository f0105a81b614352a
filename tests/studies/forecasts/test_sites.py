"""The study of calibration by site: its truth, and one data set."""

import numpy as np
import pytest

from bayescm.studies import sites


def test_right_sites_have_no_error():
    truth = sites.truth_of(np.array([-1.0, 0.5]), np.zeros(2), np.ones(2))
    np.testing.assert_allclose(truth["calibration_in_the_large"], 0, atol=1e-12)
    assert truth["calibration_slope"].tolist() == [1, 1]


@pytest.mark.long
def test_one_data_set_is_answered_for_every_question():
    evidence, truth = sites.generate(np.random.default_rng(1), 6, 60, 0.3, 0.1)
    for answers in (sites.pooled(evidence), sites.one_sample(evidence)):
        assert set(answers) == set(truth)
        assert np.isfinite(list(answers.values())).all()
