"""Every model with an exact sibling: the sibling is its posterior. A new model is one line."""

from typing import NamedTuple

import numpy as np
import pytest
from pymc.model.transform.conditioning import remove_value_transforms
from pytensor.compile.mode import Mode

import bayescm as bcm
from bayescm import direct, models

TWO = bcm.from_matrix([[30, 35], [15, 65]], labels=["well", "sick"], positive="sick")
THREE = bcm.from_matrix([[9, 1, 0], [2, 7, 3], [0, 0, 5]], labels=list("abc"))
BATCH = bcm.from_cells(tp=[65, 3, 0], fn=[15, 0, 9], fp=[35, 4, 1], tn=[30, 5, 60])
WEIGHTS = np.array([[1.0, 0.3], [0.2, 2.0]])


class Case(NamedTuple):
    model: str
    counts: object
    keywords: dict
    free: str
    at: str


CASES = [
    Case("dirichlet_multinomial", TWO, {}, "theta_cell", "theta"),
    Case("dirichlet_multinomial", TWO, {"concentration": WEIGHTS}, "theta_cell", "theta"),
    Case("dirichlet_multinomial", THREE, {"concentration": 0.7}, "theta_cell", "theta"),
    Case("dirichlet_multinomial", BATCH, {}, "theta_cell", "theta"),
    Case("fixed_totals", TWO, {"concentration": WEIGHTS}, "rates", "rates"),
    Case("fixed_totals", THREE, {"prevalence": [0.2, 0.3, 0.5]}, "rates", "rates"),
    Case("fixed_totals", BATCH, {"prevalence": 0.1}, "rates", "rates"),
    Case("fixed_totals", TWO, {"prevalence": (2, 8)}, "rates", "rates"),
]
SAMPLED = [CASES[0], CASES[-1]]  # one for each model
IDS = [f"{each.model}-{index}" for index, each in enumerate(CASES)]


def log_joint(case, drawn):
    """Return the model's log density of the free variable and the counts, at every draw."""
    model = remove_value_transforms(getattr(models, case.model)(case.counts, **case.keywords))
    variables = [model[case.free], *model.observed_RVs]
    function = model.compile_logp(vars=variables, jacobian=False, mode=Mode("py", None))
    point = {model.rvs_to_values[each].name: drawn[each.name] for each in model.free_RVs}
    needed = {each.name for each in function.f.maker.fgraph.inputs if each.name in point}
    size = len(drawn[case.free])
    return np.array([function({name: point[name][i] for name in needed}) for i in range(size)])


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_model_and_sibling_differ_by_the_marginal_likelihood_alone(case):
    posterior = getattr(direct, case.model)(case.counts.values, **case.keywords)
    drawn = posterior.draws(5, np.random.default_rng(1))
    conditional = posterior.logpdf(drawn[case.at]).reshape(5, -1).sum(-1)
    difference = log_joint(case, drawn) - conditional
    np.testing.assert_allclose(difference, posterior.log_marginal().sum(), atol=1e-8)


def test_the_fence_notices_another_prior():
    case = CASES[0]
    other = direct.dirichlet_multinomial(case.counts.values, concentration=0.6)
    drawn = other.draws(5, np.random.default_rng(1))
    difference = log_joint(case, drawn) - other.logpdf(drawn["theta"])
    assert np.ptp(difference) > 0.01


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_draws_have_the_variables_of_the_model(case):
    model = getattr(models, case.model)(case.counts, **case.keywords)
    posterior = getattr(direct, case.model)(case.counts.values, **case.keywords)
    drawn = posterior.draws(3, np.random.default_rng(1))
    assert {each.name for each in model.free_RVs} <= set(drawn)
    for name, values in drawn.items():
        dims = model.named_vars_to_dims.get(name, ())
        assert values.shape == (3, *(len(model.coords[dim]) for dim in dims))


def summary(draws):
    quantiles = np.quantile(draws, [0.025, 0.5, 0.975], axis=(0, 1))
    return np.concatenate([quantiles, draws.mean((0, 1), keepdims=True)[0]])


@pytest.mark.slow
@pytest.mark.parametrize("case", SAMPLED, ids=lambda case: case.model)
def test_nuts_draws_from_the_exact_posterior(case):
    settings = {"draws": 4000, "random_seed": 3, **case.keywords}
    nuts = bcm.fit(case.counts, case.model, method="nuts", **settings)
    iid = bcm.fit(case.counts, case.model, method="exact", **settings)
    for name in iid["posterior"].data_vars:
        sampled, drawn = nuts["posterior"][name].values, iid["posterior"][name].values
        # A 2.5 % quantile has a standard error of 2.67 sd / sqrt(ess); ess >= 5000 gives 0.04 sd.
        tolerance = 0.2 * drawn.std(axis=(0, 1)).max()
        np.testing.assert_allclose(summary(sampled), summary(drawn), atol=tolerance, rtol=0)
