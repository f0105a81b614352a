"""Priors of every model: numbers, a function from a name, a copied file."""

import importlib.util
import inspect
import re
import shutil
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pymc as pm
import pytest

import bayescm as bcm
from bayescm import models

RNG = np.random.default_rng(1)
ONE = bcm.from_cells(tp=65, fn=15, fp=35, tn=30)
FOLDS = bcm.from_cells(tp=[9, 8, 7], fn=[1, 2, 3], fp=2, tn=8).rename(batch="fold")
CROSSED = bcm.from_matrix(np.full((2, 2, 2, 2), 3), dims=("sex", "age"))
GROUPS = FOLDS.rename(fold="group")
STEPS = FOLDS.rename(fold="step")
PETS = bcm.from_matrix(RNG.integers(1, 9, (3, 3)), labels=["cat", "cow", "dog"])
TRUTH = RNG.integers(0, 2, 40)
SCORES = bcm.from_scores(TRUTH, TRUTH + RNG.normal(size=40), positive=1)
BOTH = bcm.from_classifiers(TRUTH, {"a": TRUTH, "b": RNG.integers(0, 2, 40)}, positive=1)

DEALT = bcm.from_classifiers(
    TRUTH,
    {"a": TRUTH, "b": RNG.integers(0, 2, 40)},
    positive=1,
    by={"fold": np.arange(40) % 2},
)
RESULTS = bcm.from_results(
    pd.DataFrame(
        [
            (f"set {i}", name, fold, RNG.normal())
            for i in range(4)
            for name in "ab"
            for fold in "xy"
        ],
        columns=["data_set", "classifier", "fold", "accuracy"],
    )
)
MULTILABEL = bcm.from_multilabel(*(np.random.default_rng(8).random((2, 9, 3)) < 0.5))
ITEM_SCORES = bcm.from_item_scores(RNG.random(9), range=(0, 1), by={"topic": np.arange(9) % 3})
ATTEMPTS = bcm.from_attempts(RNG.integers(0, 2, (9, 4)))
VOTES = bcm.from_preferences([[0, 5, 3], [2, 0, 4], [1, 1, 0]])
WEIGHTED = bcm.from_predictions(
    TRUTH, TRUTH, weights=RNG.lognormal(size=40), weights_are="importance", positive=1
)
PARTLY = bcm.from_partly_labelled([1, 0, None, None] * 3, [1, 0] * 6)
RATED = bcm.from_raters({name: np.roll(TRUTH, 20) for name in "abcd"})
CHANCES = bcm.from_probabilities(TRUTH, RNG.random(40), positive=1)
SITE_CHANCES = bcm.from_probabilities(TRUTH, RNG.random(40), positive=1, group=np.arange(40) % 4)
THREE_CHANCES = bcm.from_probabilities(list("abcab"), np.full((5, 3), 1 / 3))

small = partial(pm.HalfNormal, sigma=0.3)
weight = partial(pm.Gamma, alpha=2, beta=2)
share = partial(pm.Beta, alpha=2, beta=8)


def rare(name):
    return pm.Deterministic(name, pm.math.invlogit(pm.Normal(f"{name}_logit", -3, 0.5)))


def half_normal(dim):
    return partial(pm.HalfNormal, sigma=0.3, dims=dim)


PRIORS = {
    "dirichlet_multinomial": (ONE, {"concentration": 1.0}, {"concentration": weight}),
    "fixed_totals": (ONE, {"prevalence": (2, 8)}, {"prevalence": rare}),
    "hierarchical_rows": (PETS, {"spread": 0.5}, {"spread": small}),
    "pooled_folds": (FOLDS, {"concentration": 1.0}, {"concentration": weight}),
    "averaged_folds": (FOLDS, {"concentration": 1.0}, {"concentration": weight}),
    "hierarchical_folds": (FOLDS, {"spread": 0.5}, {"spread": small}),
    "hierarchical_groups": (GROUPS, {"spread": 0.5}, {"spread": half_normal("rate")}),
    "robust_groups": (GROUPS, {"spread": 0.5}, {"spread": half_normal("rate")}),
    "paired_outcomes": (BOTH, {"concentration": 1.0}, None),
    "paired_folds": (DEALT, {"spread": 0.5}, None),
    "hierarchical_differences": (RESULTS, {"scale": 0.5}, None),
    "repeated_items": (ATTEMPTS, {"concentration": 2.0}, None),
    "item_scores": (ITEM_SCORES.drop_vars(["topic", "slice_topic"]), {"concentration": 2.0}, None),
    "multilabel": (MULTILABEL, {"concentration": 1.0}, None),
    "item_score_slices": (ITEM_SCORES, {"spread": 0.2}, {"spread": small}),
    "preferences": (VOTES, {"spread": 0.5}, {"spread": small}),
    "importance_weighted": (WEIGHTED, {"concentration": 1.0}, None),
    "partly_labelled": (PARTLY, {"concentration": 1.0}, None),
    "mislabelled": (
        ONE,
        {"label_error": (2, 18)},
        {"label_error": {"positive": partial(pm.Beta, alpha=2, beta=18)}},
    ),
    "transferred_errors": (PARTLY, {"concentration": 1.0}, None),
    "noisy_labels": (RATED, {"concentration": 2.0}, None),
    "calibration": (CHANCES, {"spread": 0.5}, {"spread": partial(pm.HalfNormal, sigma=0.3)}),
    "hierarchical_calibration": (
        SITE_CHANCES,
        {"spread": 0.5},
        {"spread": partial(pm.HalfNormal, sigma=0.3, dims="effect")},
    ),
    "dirichlet_calibration": (
        THREE_CHANCES,
        {"spread": 0.5},
        {"spread": partial(pm.HalfNormal, sigma=0.3)},
    ),
    "scores": (SCORES, {"prevalence": (2, 8)}, {"prevalence": share}),
    "binormal": (SCORES, {"prevalence": (2, 8)}, {"prevalence": share}),
    "crossed_groups": (CROSSED, {"spread": 0.5}, {"interaction": half_normal("rate")}),
    "drifting": (STEPS, {"drift": 0.1}, {"drift": half_normal("rate")}),
}


def names(model):
    return {variable.name for variable in model.free_RVs}


def test_every_model_is_here():
    assert set(PRIORS) == set(models.__all__)


@pytest.mark.parametrize("name", [name for name, (_, _, functions) in PRIORS.items() if functions])
@pytest.mark.long
def test_functions_are_priors_of_models(name):
    evidence, _, functions = PRIORS[name]
    (keyword,) = functions
    other = getattr(models, name)(evidence, **functions)
    assert names(other) & {f"{keyword}{end}" for end in ("", "_logit", "_positive", "_between")}


@pytest.mark.long
@pytest.mark.parametrize("name", ["dirichlet_multinomial", "fixed_totals", "scores", "binormal"])
@pytest.mark.filterwarnings("ignore")
def test_a_prior_of_preliz_is_such_a_function(name):
    preliz = pytest.importorskip("preliz")
    evidence, _, functions = PRIORS[name]
    (keyword,) = functions
    distribution = preliz.Gamma(2, 2) if keyword == "concentration" else preliz.Beta(2, 8)
    assert keyword in names(getattr(models, name)(evidence, **{keyword: distribution.to_pymc}))


@pytest.mark.long
@pytest.mark.parametrize("name", PRIORS)
def test_a_copied_file_is_a_model_of_its_own(name, tmp_path):
    copy = tmp_path / "mine.py"
    shutil.copy(inspect.getsourcefile(getattr(models, name)), copy)
    text = copy.read_text()
    assert "bayescm" not in "".join(line for line in text.splitlines() if "import " in line)
    spec = importlib.util.spec_from_file_location("mine", copy)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    evidence, numbers, _ = PRIORS[name]
    assert names(getattr(module, name)(evidence, **numbers))


@pytest.mark.parametrize("name", bcm.models.__all__)
def test_a_signature_says_which_priors_may_be_of_another_family(name):
    model = getattr(bcm.models, name)
    for parameter in [*inspect.signature(model).parameters.values()][1:]:
        unnamed = parameter.annotation in (inspect.Parameter.empty, Any)
        is_open = unnamed or "Callable" in str(parameter.annotation)
        described = re.search(rf"^\s*{parameter.name} : .*callable", model.__doc__, re.MULTILINE)
        assert is_open == bool(described), parameter.name


@pytest.mark.parametrize("name", ["hierarchical_groups", "robust_groups"])
def test_a_prior_of_all_rates_at_once_is_refused(name):
    with pytest.raises(ValueError, match=r"needs the dim 'rate'.*Pass dims='rate'"):
        getattr(models, name)(GROUPS, spread=partial(pm.HalfCauchy, beta=0.3))
