"""Marginal likelihoods on the tree of a fit, and models compared by them."""

from functools import partial

import numpy as np
import pandas as pd
import pymc as pm
import pytest
import xarray as xr
from scipy import special, stats

import bayescm as bcm
from bayescm.inference import bridge_sampling as bridge
from bayescm.inference.bridge_sampling import Estimate

COUNTS = bcm.from_matrix([[12, 3], [5, 20]], labels=["well", "sick"], positive="sick")
FOLDS = bcm.from_matrix(
    [[[9, 1], [2, 8]], [[8, 2], [4, 6]]], labels=["well", "sick"], positive="sick", dims=("fold",)
)


def fit(*args, **keywords):
    return bcm.fit(*args, **{"draws": 20, "chains": 2, **keywords})


@pytest.fixture(scope="module")
def flat():
    return fit(COUNTS, concentration=1.0)


@pytest.fixture(scope="module")
def given():
    return fit(COUNTS, "fixed_totals", concentration=1.0)


@pytest.mark.long
def test_the_tree_has_the_probability_of_its_counts(flat, given):
    """Under a flat prior every table of so many examples is equally probable."""
    tables = special.comb(40 + 3, 3)
    assert flat.attrs["log_marginal_likelihood"] == pytest.approx(-np.log(tables))
    assert given.attrs["log_marginal_likelihood"] == pytest.approx(-np.log(16 * 26))


@pytest.mark.long
def test_models_of_one_matrix_are_compared(tmp_path, flat):
    strong = [[30.0, 10.0], [10.0, 50.0]]
    fits = {"flat": flat, "strong": fit(COUNTS, concentration=strong)}
    table = bcm.priors.evidence_for(fits)
    cells = COUNTS.values.ravel()
    known = [
        stats.dirichlet_multinomial(np.broadcast_to(each, (2, 2)).ravel(), 40).logpmf(cells)
        for each in (1.0, strong)
    ]
    np.testing.assert_allclose(table["log_marginal_likelihood"], known)
    assert table["bayes_factor"].tolist() == pytest.approx([np.exp(known[0] - known[1]), 1])
    assert table["probability"].sum() == pytest.approx(1)
    bcm.save(fits["flat"], tmp_path / "fit.nc")
    again = bcm.priors.evidence_for({**fits, "flat": bcm.load(tmp_path / "fit.nc")})
    pd.testing.assert_frame_equal(again, table)


@pytest.mark.long
def test_a_batch_is_compared_member_by_member():
    batch = xr.concat([COUNTS, COUNTS * 2], "site").assign_coords(site=["a", "b"])
    fits = {each: fit(batch, concentration=each) for each in (0.5, 1.0)}
    table = bcm.priors.evidence_for(fits)
    known = -np.log(special.comb(80 + 3, 3))
    assert table.loc[(1.0, "b"), "log_marginal_likelihood"] == pytest.approx(known)
    assert table.groupby("site")["difference"].max().tolist() == [0, 0]


@pytest.mark.long
def test_a_discounted_likelihood_is_no_probability():
    discounted, plain = fit(FOLDS, "pooled_folds"), fit(FOLDS, "pooled_folds", omega=1.0)
    assert "log_marginal_likelihood" not in discounted.attrs
    apart = fit(FOLDS, "averaged_folds")
    table = bcm.priors.evidence_for({"one table": plain, "one each": apart})
    assert table["bayes_factor"].max() == 1
    with pytest.raises(ValueError, match=r"discounted likelihood.*Pass omega=1\.0"):
        bcm.priors.evidence_for({"plain": plain, "discounted": discounted})


@pytest.mark.long
def test_what_cannot_be_compared_is_refused(flat, given):
    refused = {
        "have different evidence": fit(COUNTS + 1),
        "have different evidence.*actual": given,
        "has no marginal likelihood": fit(COUNTS, concentration=0),
    }
    for words, other in refused.items():
        with pytest.raises(ValueError, match=words):
            bcm.priors.evidence_for({"one": flat, "other": other})


@pytest.mark.long
def test_other_models_are_sampled_and_integrated_by_bridge_sampling():
    """Under a flat prior every table of so many examples is equally probable."""

    def cells(counts, weight):
        with pm.Model() as model:
            theta = pm.Dirichlet("theta", weight)
            pm.Multinomial("table", n=40, p=theta, observed=counts.values.ravel())
        return model

    narrow = partial(pm.Gamma, alpha=4000, beta=4000)  # as good as a concentration of 1
    models = {
        "fit": fit(COUNTS, concentration=1.0),
        "own": cells(COUNTS, np.ones(4)),
        "prior": bcm.models.dirichlet_multinomial(COUNTS, concentration=narrow),
    }
    table = bcm.priors.evidence_for(models, draws=500, random_seed=3)
    error = table["standard_error"]
    assert error["fit"] == 0
    assert ((error[1:] > 0.001) & (error[1:] < 0.1)).all()
    known = -np.log(special.comb(40 + 3, 3))
    assert (np.abs(table["log_marginal_likelihood"] - known) <= 4 * error + 1e-9).all()
    bridge = "bridge sampling (4 chains of 500 draws)"
    assert table["how"].tolist() == ["direct posterior", bridge, bridge]
    batch = xr.concat([COUNTS, COUNTS], "site")
    both = {"fit": fit(batch, concentration=1.0)}
    both["sampled"] = bcm.models.dirichlet_multinomial(batch, concentration=1.0)
    table = bcm.priors.evidence_for(both, draws=500)
    error = table["standard_error"]
    assert (np.abs(table["log_marginal_likelihood"] - 2 * known) <= 4 * error + 1e-9).all()
    with pytest.raises(ValueError, match="have different evidence"):
        bcm.priors.evidence_for({**models, "other": cells(COUNTS + 1, np.ones(4))})


def spike_and_slab(counts):
    """Return a model that guesses with probability 0.5."""
    with pm.Model() as model:
        guesses = pm.Bernoulli("guesses", 0.5)
        theta = pm.Dirichlet("theta", np.ones(4))
        shares = pm.math.switch(guesses, np.full(4, 0.25), theta)
        pm.Multinomial("counts", n=40, p=shares, observed=counts.values.ravel())
    return model


@pytest.mark.long
def test_a_model_without_a_marginal_likelihood_is_refused(flat):
    refused = {
        "discounted likelihood.*Pass omega=1": bcm.models.pooled_folds(FOLDS),
        "improper prior": bcm.models.dirichlet_multinomial(COUNTS, concentration=0.0),
        "needs continuous variables, but 'guesses'": spike_and_slab(COUNTS),
    }
    for words, model in refused.items():
        with pytest.raises(ValueError, match=words):
            bcm.priors.evidence_for({"flat": flat, "other": model})


def observing(values, name="counts"):
    with pm.Model() as model:
        mean = pm.Normal("mean")
        pm.Normal(name, mean, observed=values)
    return model


@pytest.mark.parametrize(
    ("second", "words"),
    [
        (observing([1.0, 3.0]), "different numbers of counts, such as 2 and 3"),
        (observing([1.0]), r"one observes counts \(2 counts_dim_0\); two observes counts \(1 "),
        (observing([1.0, 4.0], "rates"), r"two observes rates \(2 rates_dim_0\)"),
    ],
)
def test_models_of_different_evidence_are_told_what_differs(second, words):
    with pytest.raises(ValueError, match=words):
        bcm.priors.evidence_for({"one": observing([1.0, 2.0]), "two": second})


def test_a_model_that_observes_nothing_is_refused():
    with pm.Model() as silent:
        pm.Potential("likelihood", -(pm.Normal("mean") ** 2))
    with pytest.raises(ValueError, match="two has no observed variable, so its evidence"):
        bcm.priors.evidence_for({"one": observing([1.0, 2.0]), "two": silent})


@pytest.mark.long
def test_chains_that_disagree_give_no_bayes_factor(monkeypatch):
    apart = Estimate(np.array([-3.0, -5.0]), np.array([0.1, 0.1]))
    monkeypatch.setattr(bridge, "bridge_sampling", lambda *_: apart)
    models = {"one": observing([1.0, 2.0]), "two": observing([1.0, 2.0])}
    with pytest.raises(ValueError, match=r"chains of one give different.*-3\.0.*-5\.0"):
        bcm.priors.evidence_for(models, draws=100, chains=2)
    vague = Estimate(np.array([-3.0, -3.1]), np.array([0.6, 0.6]))
    monkeypatch.setattr(bridge, "bridge_sampling", lambda *_: vague)
    with pytest.raises(ValueError, match=r"one has a standard error.*0\.42"):
        bcm.priors.evidence_for(models, draws=100, chains=2)


def test_bad_input(flat):
    with pytest.raises(ValueError, match="A comparison needs two or more fits"):
        bcm.priors.evidence_for({"one": flat})
    with pytest.raises(TypeError, match="Models must be a mapping from names"):
        bcm.priors.evidence_for([flat])
    with pytest.raises(TypeError, match="Models must be a mapping from names"):
        bcm.priors.evidence_for(flat)


@pytest.mark.long
@pytest.mark.slow
def test_a_model_of_the_counts_as_they_were_read_is_of_the_evidence_of_their_fit():
    counts = bcm.from_matrix([[30, 4], [5, 61]], labels=["sick", "well"], positive="sick")
    fit = bcm.fit(counts, draws=50, random_seed=1)
    found = bcm.priors.evidence_for(
        {"fit": fit, "model": bcm.models.dirichlet_multinomial(counts)}, draws=500, random_seed=1
    )
    difference = found["log_marginal_likelihood"].diff().iloc[1]
    assert abs(difference) < 5 * found["standard_error"].max() + 0.05
