"""The models of groups and rows against their direct posteriors."""

import numpy as np
import pytest
import xarray as xr
from monte_carlo import assert_converged, assert_same_distribution, measured, sampled_by_nuts
from pymc.model.transform.conditioning import remove_value_transforms
from pytensor.compile.mode import Mode
from scipy import stats
from scipy.special import expit, logit

import bayescm as bcm
from bayescm import models, posteriors
from bayescm.measures import resolve

SITES = bcm.from_matrix(
    [[[40, 10], [5, 45]], [[30, 20], [9, 41]], [[45, 5], [12, 38]], [[20, 5], [0, 0]]],
    labels=["well", "sick"],
    positive="sick",
    dims=("group",),
)
ROWS = bcm.from_matrix([[9, 1, 0], [2, 7, 3], [0, 0, 5]], labels=list("abc"))
RATES = ("prevalence", "recall", "specificity")
CROSSED = bcm.from_matrix(np.arange(24).reshape(2, 3, 2, 2) % 7, dims=("sex", "age"))
CROSSED_OF_THREE = bcm.from_matrix(np.arange(36).reshape(2, 2, 3, 3) % 11, dims=("sex", "age"))


@pytest.mark.parametrize(
    ("name", "evidence"),
    [
        ("hierarchical_groups", SITES),
        ("robust_groups", SITES),
        ("hierarchical_rows", ROWS),
        ("crossed_groups", CROSSED),
        ("crossed_groups", CROSSED_OF_THREE),
    ],
)
@pytest.mark.long
def test_the_model_computes_the_cells_of_the_direct_posterior(name, evidence):
    """The deterministic cells of the tree are those that the direct posterior drew itself."""
    model = getattr(models, name)(evidence)
    drawn = getattr(posteriors, name)(evidence.values).variables(3, np.random.default_rng(0))
    names = [each.name for each in model.deterministics]
    free = [model[each.name] for each in model.free_RVs]
    cells = [model[each] for each in names]
    function = model.compile_fn(
        cells, inputs=free, point_fn=False, on_unused_input="ignore", mode=Mode("py", None)
    )
    for index in range(3):
        found = function(*(drawn[variable.name][index] for variable in free))
        for each, value in zip(names, found, strict=True):
            np.testing.assert_allclose(value, drawn[each][index], atol=1e-9, err_msg=each)


@pytest.mark.long
def test_partial_centring_changes_the_variables_and_not_the_distribution():
    """The density of the effects, times the Jacobian, is that of standardised ones."""
    counts = xr.concat([SITES, SITES * 3], "group")
    sites, pseudo_counts = counts.values, np.array([[0.7, 0.4], [0.6, 0.9]])
    model = remove_value_transforms(
        models.hierarchical_groups(counts, concentration=pseudo_counts, spread=0.8)
    )
    log_density = model.compile_logp(jacobian=False, mode=Mode("py", None))
    trials = np.stack([sites.sum((1, 2)), sites[:, 1].sum(-1), sites[:, 0].sum(-1)], axis=1)
    successes = np.stack([sites[:, 1].sum(-1), sites[:, 1, 1], sites[:, 0, 0]], axis=1)
    shares = (successes + 0.5) / (trials + 1)
    information = (trials > 0) * (trials + 1) * shares * (1 - shares)
    mean = np.average(logit(shares), axis=0, weights=information)
    deviance = (information * (logit(shares) - mean) ** 2).sum(0)
    scale = information.sum(0) - (information**2).sum(0) / information.sum(0)
    number = (trials > 0).sum(0)
    variance = (deviance - number + 1) / scale  # of DerSimonian and Laird
    variance = np.maximum(variance, 0) * (number - 5) / (number - 1)
    centring = 1 - 1 / (1 + information * variance)
    assert centring.min() == 0  # the group without a class
    assert centring.max() > 0.5
    rng = np.random.default_rng(5)
    for _ in range(5):
        rates, spread, correlation = rng.uniform(0.1, 0.9, 3), rng.uniform(0.1, 2, 3), rng.random()
        standard, standard_new = rng.standard_normal((8, 3)), rng.standard_normal(3)
        rho = 2 * correlation - 1
        sd = spread * [1, 1, (1 - rho**2) ** 0.5]
        means = np.tile(logit(rates), (8, 1))
        means[:, 2] += rho * spread[2] * standard[:, 1]
        prevalence, recall, specificity = expit(means + sd * standard).T
        rows = [(1 - prevalence) * specificity, (1 - prevalence) * (1 - specificity)]
        cells = np.stack([*rows, prevalence * (1 - recall), prevalence * recall], axis=1)
        prior = [(1.5, 1.1), (0.9, 0.6), (0.7, 0.4)]  # of the prevalence, recall and specificity
        expected = (
            sum(stats.beta(*pair).logpdf(rate) for pair, rate in zip(prior, rates, strict=True))
            + stats.halfnorm(0, 0.8).logpdf(spread).sum()
            + stats.beta(2, 2).logpdf(correlation)
            + stats.norm.logpdf(standard).sum()
            + stats.norm.logpdf(standard_new).sum()
            + stats.multinomial.logpmf(sites.reshape(8, 4), trials[:, 0], cells).sum()
        )
        scale = sd**centring
        effects = centring * means + scale * standard
        point = {"rates": rates, "spread": spread, "scaled_correlation": correlation}
        point |= {f"effect_{rate}": effects[:, i] for i, rate in enumerate(RATES)}
        point["effect_new"] = standard_new
        assert log_density(point) + np.log(scale).sum() == pytest.approx(expected, abs=1e-6)


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "evidence", "own"),
    [("hierarchical_groups", SITES, "theta_group"), ("crossed_groups", CROSSED, "theta")],
)
def test_nuts_agrees_with_the_quadrature_of_groups(name, evidence, own):
    fitted = sampled_by_nuts(getattr(models, name)(evidence), seed=1)
    assert_converged(fitted)
    quick = getattr(posteriors, name)(evidence.values).variables(8000, np.random.default_rng(0))
    assert_same_distribution(fitted["posterior"]["rates"], quick["rates"])
    # Spreads of a few hundredths are no effect at all, and importance points are rare there.
    assert_same_distribution(fitted["posterior"]["spread"], quick["spread"], levels=(0.5, 0.975))
    recall = measured(fitted["posterior"][own], "recall")
    assert_same_distribution(recall, resolve("recall")(quick[own]))
