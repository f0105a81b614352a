"""NUTS and the quadrature of differences over data sets."""

import numpy as np
import pandas as pd
import pytest
from monte_carlo import assert_converged, assert_same_distribution, sampled_by_nuts

import bayescm as bcm
from bayescm import models, posteriors

RNG = np.random.default_rng(5)
ROWS = [
    (i, name, fold, level + effect + RNG.normal(0, 0.01))
    for i in range(14)
    for name, level in {"a": 0.80, "b": 0.82}.items()
    for effect in [RNG.normal(0, 0.05)]
    for fold in range(8)
]
RESULTS = bcm.from_results(pd.DataFrame(ROWS, columns=["data_set", "classifier", "fold", "score"]))


@pytest.mark.long
@pytest.mark.slow
def test_nuts_agrees_with_the_quadrature():
    fitted = sampled_by_nuts(models.hierarchical_differences(RESULTS), seed=1)
    assert_converged(fitted)
    quick = posteriors.hierarchical_differences(RESULTS).variables(8000, np.random.default_rng(0))
    for name in ("location", "spread", "excess", "difference"):
        assert_same_distribution(fitted["posterior"][name], quick[name])
