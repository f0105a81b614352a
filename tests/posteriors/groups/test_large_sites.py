"""Groups of any size: from a few to a billion examples a site."""

import numpy as np
import pytest

import bayescm as bcm

SHARES = np.array(
    [
        [[0.345, 7e-6], [0.0345, 0.62]],
        [[0.362, 1e-5], [0.043, 0.58]],
        [[0.336, 2e-5], [0.027, 0.64]],
    ]
)


@pytest.mark.parametrize("size", [1e2, 1e6, 1e9])
def test_large_sites_have_finite_intervals_about_their_rates(size):
    sites = bcm.from_matrix(np.round(SHARES * size), dims=("group",), labels=[0, 1], positive=1)
    found = bcm.interval(sites, "recall", of="finite")
    low, high = found.values
    assert np.isfinite(found.attrs["error"])
    rates = bcm.measure(sites, "recall")["recall"].mean().item()
    assert low < rates < high
    assert high - low < 4 * np.sqrt(0.05 / size)
