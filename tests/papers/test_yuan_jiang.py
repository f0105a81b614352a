import numpy as np
import pytest
from scipy.stats import norm

from bayescm.papers import yuan_jiang


@pytest.mark.long
def test_the_first_simulation():
    frame = yuan_jiang.table("4", replications=30)
    joint = frame[frame["method"] == "joint"].set_index("rule")
    np.testing.assert_allclose(joint["il"], joint["published_il"], rtol=0.08)
    coverage = frame[frame["rule"] == "all"].set_index("method")["doc"]
    assert coverage["joint"] > 0.8
    assert coverage["posterior"] > 0.8
    assert coverage["individual"] < coverage["joint"]


@pytest.mark.long
def test_the_first_population_is_symmetric():
    joint = yuan_jiang.population("normal", 3)
    positives = joint.shares[joint.cells[0] == 1].sum()
    assert positives == pytest.approx(0.5, abs=1e-6)
    right = joint.shares[joint.cells[2] == joint.cells[0]].sum()
    bayes = norm.cdf(0.5)  # the best rule for means one apart; a learned one comes near
    assert bayes - 0.02 < right <= bayes
