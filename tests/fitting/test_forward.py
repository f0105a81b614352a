"""Forward draws, all at once and one after the other, are of the same distribution."""

import numpy as np
import pymc as pm
import pytest
import xarray as xr

import bayescm as bcm
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


def test_totals_that_are_data_are_drawn_at_once(monkeypatch):
    """Data of a model are floats, which numpy takes as no totals."""
    monkeypatch.setattr(forward, "_one_by_one", lambda *_, **__: pytest.fail("one after another"))
    with pm.Model(coords={"site": range(2)}) as model:
        n = pm.Data("n", np.array([4.0, 9.0]), dims="site")
        rate = pm.Beta("rate", 1.0, 1.0)
        pm.Binomial("hits", n, rate, observed=[1, 2], dims="site")
        pm.BetaBinomial("successes", 1 + rate, 1.0, n, observed=[1, 2], dims="site")
        shares = pm.math.stack([rate, 1 - rate])
        pm.Multinomial("votes", n, shares[None], observed=[[1, 3], [2, 7]])
    posterior = xr.Dataset({"rate": (("chain", "draw"), np.full((2, 500), 0.3))})
    drawn = forward.predictive(model, posterior, 1)["posterior_predictive"]
    assert (drawn["votes"].sum("votes_dim_1") == [4, 9]).all()
    np.testing.assert_allclose(drawn["hits"].mean(("chain", "draw")), [1.2, 2.7], atol=0.2)
    assert set(forward.prior(model, 100, 100, 1)["prior_predictive"]) == set(drawn)


def custom(dist):
    """Return a model with one observed variable of a distribution of its own."""
    with pm.Model() as model:
        rate = pm.Beta("rate", 1.0, 1.0)
        pm.CustomDist("seen", rate, dist=dist, observed=np.zeros(3))
    return model


def test_a_distribution_of_its_own_is_drawn_at_once(monkeypatch):
    monkeypatch.setattr(forward, "_one_by_one", lambda *_, **__: pytest.fail("one after another"))
    model = custom(lambda rate, size=None: pm.Normal.dist(rate, 0.1, size=size))
    posterior = xr.Dataset({"rate": (("chain", "draw"), np.linspace(0, 1, 1000).reshape(2, 500))})
    seen = forward.predictive(model, posterior, 1)["posterior_predictive"]["seen"]
    residual = (seen - posterior["rate"]).values.reshape(1000, 3)
    np.testing.assert_allclose(residual.std(0), 0.1, rtol=0.15)
    assert np.abs(np.corrcoef(residual.T) - np.eye(3)).max() < 0.15


@pytest.mark.long
def test_a_distribution_made_of_several_is_drawn_one_after_the_other(monkeypatch):
    def dist(rate, size=None):
        return pm.Normal.dist(pm.Normal.dist(rate, 0.1), 0.1, size=size)

    one_by_one = []
    draw = forward._one_by_one
    monkeypatch.setattr(
        forward, "_one_by_one", lambda *a, **k: one_by_one.append(a) or draw(*a, **k)
    )
    posterior = xr.Dataset({"rate": (("chain", "draw"), np.full((1, 200), 0.5))})
    seen = forward.predictive(custom(dist), posterior, 1)["posterior_predictive"]["seen"]
    assert one_by_one
    assert seen.std() > 0.12


@pytest.mark.long
@pytest.mark.parametrize("weights", [None, [1, 3] * 6])
def test_outcomes_of_calibration_are_drawn_at_once(monkeypatch, weights):
    """A model compiled instead takes ten times as long in a new process."""
    monkeypatch.setattr(forward, "_one_by_one", lambda *_, **__: pytest.fail("one after another"))
    actual, chance = [0, 1] * 6, np.linspace(0.1, 0.9, 12)
    group = np.arange(12) % 3
    evidence = bcm.from_probabilities(actual, chance, positive=1, weights=weights)
    tree = bcm.fit(evidence, draws=20, chains=1)
    outcome = tree["posterior_predictive"]["outcome"]
    assert (outcome <= (1 if weights is None else xr.DataArray(weights, dims="example"))).all()
    sites = bcm.from_probabilities(actual, chance, positive=1, weights=weights, group=group)
    assert "outcome" in bcm.fit(sites, draws=20, chains=1)["prior_predictive"]
    classes = np.stack([1 - chance, chance / 2, chance / 2], axis=1)
    three = bcm.from_probabilities(["a", "b", "c"] * 4, classes, weights=weights)
    votes = bcm.fit(three, draws=20, chains=1)["posterior_predictive"]["outcome"]
    assert (votes.sum("class") == (1 if weights is None else three["weight"])).all()
