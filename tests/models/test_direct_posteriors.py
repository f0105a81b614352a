"""Every model and its direct posterior are one posterior. A new model is one line."""

from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from pymc.model.transform.conditioning import remove_value_transforms
from pytensor.compile.mode import Mode

import bayescm as bcm
from bayescm import models, posteriors

RNG = np.random.default_rng(4)
WEIGHTS = np.array([[1.0, 0.3], [0.2, 2.0]])
TWO = bcm.from_matrix([[30, 35], [15, 65]], labels=["well", "sick"], positive="sick")
THREE = bcm.from_matrix([[9, 1, 0], [2, 7, 3], [0, 0, 5]], labels=list("abc"))
BATCH = bcm.from_cells(tp=[65, 3, 0], fn=[15, 0, 9], fp=[35, 4, 1], tn=[30, 5, 60])
FOLDS = bcm.from_matrix(RNG.integers(1, 9, (5, 2, 2)), dims=("fold",))
THREE_FOLDS = bcm.from_matrix(RNG.integers(1, 9, (4, 3, 3)), dims=("fold",))
HALVES = bcm.from_matrix(RNG.integers(1, 9, (3, 2, 2, 2)), dims=("repeat", "half"))
THREE_HALVES = bcm.from_matrix(RNG.integers(1, 9, (3, 2, 3, 3)), dims=("repeat", "half"))
REPEATED = bcm.from_matrix(
    RNG.integers(1, 9, (2, 3, 4, 2, 2)), dims=("classifier", "repeat", "fold")
)
TABLES = [[[30, 35], [15, 65]], [[35, 30], [25, 55]], [[36, 29], [24, 56]]]
SERIES = bcm.from_matrix(TABLES, labels=["well", "sick"], positive="sick", dims=("step",))
SITES = bcm.from_matrix(
    [[[40, 10], [5, 45]], [[30, 20], [9, 41]], [[45, 5], [12, 38]], [[20, 5], [0, 0]]],
    labels=["well", "sick"],
    positive="sick",
    dims=("group",),
)
YEARS = xr.DataArray(
    [[-2.0, 0], [1, 1], [3, 0], [0, 1]],
    dims=("group", "covariate"),
    coords={"covariate": ["year", "test=new"]},
)
CROSSED = bcm.from_matrix(RNG.integers(0, 5, (2, 3, 2, 2)), dims=("sex", "age"))
MANY = bcm.from_matrix(
    [[[9, 1, 0], [2, 7, 3], [0, 0, 5]], [[6, 2, 2], [1, 9, 0], [1, 2, 4]]],
    labels=list("abc"),
    dims=("group",),
)
ACTUAL = np.tile([1, 0, 1, 1, 0, 0], 15)
ANSWERS = {"a": np.roll(ACTUAL, 1), "b": np.where(np.arange(90) % 7, ACTUAL, 1 - ACTUAL)}
PAIRS = bcm.from_classifiers(ACTUAL, ANSWERS)
FOLDED_PAIRS = bcm.from_classifiers(ACTUAL, ANSWERS, by={"fold": np.arange(90) % 3})
FOLDED = FOLDED_PAIRS["counts"].values.sum(0)
ONE_HALF = np.random.default_rng(7).binomial(FOLDED, 0.5, (2, len(FOLDED)))
HALVED = np.stack([ONE_HALF, FOLDED - ONE_HALF], axis=1)
HALVED_PAIRS = FOLDED_PAIRS.assign(halves=(("halving", "half", "outcome"), HALVED))
TRUTH = np.array([0, 0, 1, 1, 0, 1, 0, 1, 1, 0])
SCORE = np.round(RNG.normal(TRUTH, 1), 1)
OTHER = np.round(SCORE + RNG.normal(size=10))
REFUSED = np.where(np.arange(90) % 5, ANSWERS["b"], -1)
ABSTAINING = bcm.from_predictions(ACTUAL, REFUSED, abstain=-1)
KISH = bcm.from_predictions(
    ACTUAL, REFUSED, abstain=-1, weights=RNG.lognormal(size=90), weights_are="importance"
)
HUMAN = np.where(np.arange(90) % 4, None, ACTUAL)
JUDGED = bcm.from_partly_labelled(HUMAN, ANSWERS["b"], judge=np.roll(ANSWERS["b"], 3))
JUDGED_PAIRS = bcm.from_partly_labelled(
    HUMAN, ANSWERS | {"b": REFUSED}, np.roll(ACTUAL, 1), abstain=-1
)
ABSTAINING_PAIRS = bcm.from_classifiers(ACTUAL, ANSWERS | {"b": REFUSED}, abstain=-1)
SCORES = bcm.from_scores(TRUTH, SCORE)
PAIRED_SCORES = bcm.from_scores(TRUTH, {"a": SCORE, "b": OTHER})
WEIGHTED = bcm.from_scores(TRUTH, OTHER, weights=np.arange(10) % 3 + 1)
CHANCES = bcm.from_probabilities(TRUTH, np.linspace(0.05, 0.9, 10))
SITE_CHANCES = bcm.from_probabilities(TRUTH, np.linspace(0.05, 0.9, 10), group=list("aaabbbcccc"))
THREE_CHANCES = bcm.from_probabilities(
    RNG.permutation(list("abc") * 4), RNG.dirichlet([1, 1, 1], 12), weights=np.arange(12) % 3 + 1
)
ATTEMPTS = bcm.from_attempts([[1, 0, 1], [0, 0, np.nan], [1, 1, 1], [0, 1, 1]])
ITEM_SCORES = bcm.from_item_scores([0.2, 0.9, 0.9, 1.0, 0.4], range=(0, 1))
VOTES = bcm.from_preferences(
    left=list("abacbcab"), right=list("babacbca"), winner=["left", "tie", "left", "right"] * 2
)
MULTILABEL = bcm.from_multilabel(*(np.random.default_rng(8).random((2, 9, 3)) < 0.5))
ITEM_SLICES = bcm.from_item_scores(
    [0.2, 0.9, 0.7, 1.0, 0.4, 0.6], range=(0, 1), by={"topic": list("xxyyzz")}
)
RESULTS = bcm.from_results(
    pd.DataFrame(RNG.normal(size=(9, 8)), columns=range(8)).assign(
        data_set=list("xyz") * 3, classifier=list("aaabbbccc")
    ),
    test_share=0.1,
)


class Case(NamedTuple):
    model: str
    evidence: object
    keywords: dict
    other: dict | None = None  # another prior, of which the fence must take notice


FENCED = [
    Case("dirichlet_multinomial", TWO, {}, {"concentration": 0.6}),
    Case("dirichlet_multinomial", TWO, {"concentration": WEIGHTS}),
    Case("dirichlet_multinomial", THREE, {"concentration": 0.7}),
    Case("dirichlet_multinomial", BATCH, {}),
    Case("dirichlet_multinomial", ABSTAINING, {}, {"concentration": 0.6}),
    Case("fixed_totals", TWO, {"concentration": WEIGHTS}, {"concentration": 0.6}),
    Case("fixed_totals", THREE, {"prevalence": [0.2, 0.3, 0.5]}),
    Case("fixed_totals", BATCH, {"prevalence": 0.1}),
    Case("fixed_totals", TWO, {"prevalence": (2, 8)}),
    Case("pooled_folds", FOLDS, {}, {"omega": 0.5}),
    Case("pooled_folds", FOLDS, {"omega": 0.2, "concentration": WEIGHTS}),
    Case("pooled_folds", REPEATED, {}),
    Case("pooled_folds", REPEATED[0].transpose("fold", ...), {"omega": 0.3}),
    Case("pooled_folds", THREE_FOLDS, {}),
    Case("averaged_folds", FOLDS, {"concentration": WEIGHTS}, {"concentration": 0.6}),
    Case("averaged_folds", REPEATED, {}),
    Case("averaged_folds", THREE_FOLDS, {"concentration": 1.0}),
    Case("paired_outcomes", PAIRS, {}, {"concentration": 0.6}),
    Case("paired_outcomes", ABSTAINING_PAIRS, {}, {"concentration": 0.6}),
    Case("partly_labelled", JUDGED, {}, {"concentration": 0.6}),
    Case("partly_labelled", JUDGED_PAIRS, {}, {"concentration": 0.6}),
    Case("importance_weighted", KISH, {}, {"concentration": 0.6}),
    Case("drifting", SERIES, {}, {"drift": 0.3}),
    Case("drifting", SERIES, {"drift": 0.4, "concentration": np.array([[1.0, 2], [3, 4]])}),
    Case("scores", SCORES, {}, {"prevalence": (2, 8)}),
    Case("scores", PAIRED_SCORES, {}),
    Case("scores", WEIGHTED, {"prevalence": (2, 8)}),
    Case("binormal", SCORES, {}, {"concentration": 2}),
    Case("binormal", SCORES, {"concentration": 2, "prevalence": (2, 8)}),
    Case("item_scores", ITEM_SCORES, {}, {"concentration": 1}),
    Case("multilabel", MULTILABEL, {}, {"concentration": 1}),
]
# The groups' effects, or grids, are integrated out by importance or quadrature: no closed density.
OPEN = [
    Case("hierarchical_folds", FOLDS, {}),
    Case("hierarchical_folds", REPEATED, {}),
    Case("hierarchical_folds", FOLDS, {"halves": HALVES}),
    Case("hierarchical_folds", THREE_FOLDS, {"halves": THREE_HALVES}),
    Case("paired_folds", FOLDED_PAIRS, {}),
    Case("paired_folds", HALVED_PAIRS, {}),
    Case("hierarchical_groups", SITES, {}),
    Case("hierarchical_groups", SITES, {"covariates": YEARS}),
    Case("hierarchical_groups", MANY, {}),
    Case("robust_groups", SITES, {}),
    Case("crossed_groups", CROSSED, {}),
    Case("crossed_groups", bcm.combine([THREE, THREE], dim="sex").expand_dims(age=["old"]), {}),
    Case("hierarchical_rows", THREE, {}),
    Case("mislabelled", BATCH, {"label_error": (2, 18)}),
    Case("mislabelled", PAIRS, {"label_error": {0: 0.1, 1: (2, 18)}}),
    Case("mislabelled", THREE, {"label_error": {"a": {"b": 0.2}}}),
    Case("transferred_errors", JUDGED, {}),
    Case("calibration", CHANCES, {}),
    Case("hierarchical_calibration", SITE_CHANCES, {}),
    Case("dirichlet_calibration", THREE_CHANCES, {}),
    Case("repeated_items", ATTEMPTS, {}),
    Case("item_score_slices", ITEM_SLICES, {}),
    Case("preferences", VOTES, {}),
    Case("hierarchical_differences", RESULTS, {}),
]


def names(cases):
    return [f"{each.model}-{index}" for index, each in enumerate(cases)]


def log_joint(model, name, drawn):
    """Return the model's log density of its free variables and the evidence, at every draw."""
    model = remove_value_transforms(model)
    taken = {each for each in model.free_RVs if name != "fixed_totals"}
    taken |= {each for each in model.free_RVs if each.name == "rates"}
    observed = [*(each for each in model.free_RVs if each in taken), *model.observed_RVs]
    mode = Mode("py", None)
    function = model.compile_logp(vars=[*observed, *model.potentials], jacobian=False, mode=mode)
    needed = {each.name for each in function.f.maker.fgraph.inputs}
    free = {model.rvs_to_values[each].name: each.name for each in model.free_RVs}
    size = len(next(iter(drawn.values())))
    shapes = {
        key: [len(model.coords[d]) for d in model.named_vars_to_dims.get(rv, ())]
        for key, rv in free.items()
    }
    points = [
        {key: drawn[rv][i].reshape(shapes[key]) for key, rv in free.items() if key in needed}
        for i in range(size)
    ]
    return np.array([float(function(point)) for point in points])


def log_density(posterior, drawn):
    """Return the direct posterior's log density at every draw, summed over its batch."""
    size = len(next(iter(drawn.values())))
    points = [{name: values[i] for name, values in drawn.items()} for i in range(size)]
    return np.array([np.sum(posterior.log_density(point)) for point in points])


@pytest.mark.long
@pytest.mark.parametrize("case", FENCED, ids=names(FENCED))
def test_model_and_direct_posterior_differ_by_the_marginal_likelihood_alone(case):
    posterior = getattr(posteriors, case.model)(case.evidence, **case.keywords)
    drawn = posterior.variables(4, np.random.default_rng(1))
    model = getattr(models, case.model)(case.evidence, **case.keywords)
    check_variables(model, drawn, 4)
    joint = log_joint(model, case.model, drawn)
    difference = joint - log_density(posterior, drawn)
    np.testing.assert_allclose(difference, np.sum(posterior.log_marginal_likelihood()), atol=1e-6)
    if case.other:
        other = getattr(posteriors, case.model)(case.evidence, **(case.keywords | case.other))
        assert np.ptp(joint - log_density(other, drawn)) > 0.01


def check_variables(model, drawn, size):
    """Check that so many draws have all free variables of the model, in their shapes."""
    assert {each.name for each in model.free_RVs} <= set(drawn)
    for variable in model.free_RVs:
        dims = model.named_vars_to_dims.get(variable.name, ())
        shape = [len(model.coords[dim]) for dim in dims]
        assert drawn[variable.name].size == size * np.prod(shape), variable.name


@pytest.mark.long
@pytest.mark.parametrize("case", OPEN, ids=names(OPEN))
def test_draws_have_the_variables_of_the_model(case):
    model = getattr(models, case.model)(case.evidence, **case.keywords)
    posterior = getattr(posteriors, case.model)(case.evidence, **case.keywords)
    check_variables(model, posterior.variables(3, np.random.default_rng(1)), 3)
