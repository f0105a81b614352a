"""Forward draws, all at once and one after the other, are of the same distribution."""

import numpy as np
import pymc as pm
import pytest
import xarray as xr

from bayescm.fitting import forward

DRAWS = 2000


def ladder():
    """Return a model whose variables have batches and parameters of several shapes."""
    with pm.Model(coords={"site": range(3)}) as model:
        center = pm.HalfStudentT("center", nu=4, sigma=1)  # made of several variables
        rates = pm.Beta("rates", 1 + center, [1.0, 2.0, 8.0], dims="site")
        pm.Deterministic("odds", rates / (1 - rates))
        counts = pm.Binomial("counts", [10, 20, 30], rates, observed=[1, 2, 3], dims="site")
        pm.Multinomial("votes", 12, [0.2, 0.3, 0.5], shape=(2, 3), observed=[[2, 4, 6]] * 2)
        pm.Deterministic("total", counts.sum() + 0 * center)
    return model


def in_turn(monkeypatch):
    """Make all that follows draw one after the other."""

    def refuse(*_):
        raise NotImplementedError

    monkeypatch.setattr(forward, "_vectorized", refuse)


@pytest.mark.long
def test_all_at_once_are_like_one_after_the_other(monkeypatch):
    model, ones = ladder(), np.ones((2, DRAWS // 2))
    rates = (("chain", "draw", "site"), ones[..., None] * [0.1, 0.5, 0.9])
    posterior = xr.Dataset({"center": (("chain", "draw"), ones), "rates": rates})

    def ask():
        return forward.prior(model, DRAWS, DRAWS, 1) | forward.predictive(model, posterior, 2)

    every = ask()
    in_turn(monkeypatch)
    for group, slow in ask().items():
        fast = every[group]
        assert dict(fast.sizes) == dict(slow.sizes)
        assert set(fast.data_vars) == set(slow.data_vars)
        for name in slow.data_vars if "draw" in slow.dims else ():
            one, other = (np.arctan(each[name].values).reshape(DRAWS, -1) for each in (fast, slow))
            error = np.hypot(one.std(0), other.std(0)) / np.sqrt(DRAWS)
            assert (np.abs(one.mean(0) - other.mean(0)) <= 5 * error).all(), name
            if one.shape[1] > 1:
                assert np.abs(np.corrcoef(one.T) - np.corrcoef(other.T)).max() < 0.15
