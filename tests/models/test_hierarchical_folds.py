"""The PyMC model of the folds and its direct posterior are one posterior."""

from importlib import import_module

import numpy as np
import pymc as pm
import pytest
from pymc.model.transform.conditioning import remove_value_transforms
from pytensor.compile.mode import Mode
from scipy import special, stats

import bayescm as bcm
from bayescm import models, posteriors
from bayescm.posteriors.hierarchical_folds import repeat_weight, variance_likelihood

FOLDS = np.array([[[17, 3], [4, 16]], [[14, 6], [6, 14]], [[18, 2], [7, 13]], [[15, 5], [3, 17]]])
HALVES = np.array([[[[30, 9], [12, 29]], [[36, 5], [14, 25]]], [[[31, 9], [7, 33]], FOLDS[0] * 2]])
THREE = np.array([[[9, 1, 0], [2, 7, 3], [0, 1, 5]], [[8, 2, 0], [4, 6, 2], [1, 0, 5]]])


def labelled(cells, dims=("fold",)):
    labels = list("abc")[: cells.shape[-1]]
    return bcm.from_matrix(cells, labels=labels, positive=labels[-1], dims=dims)


CASES = {
    "two classes": (FOLDS, ("fold",), {}),
    "three classes": (THREE, ("fold",), {"rho": 0.5}),
    "unknown shares": (FOLDS, ("fold",), {"fixed_totals": False}),
    "halves": (FOLDS, ("fold",), {"halves": labelled(HALVES, ("repeat", "half"))}),
    "repeats": (np.stack([FOLDS, FOLDS[::-1] + 1 - np.eye(2, dtype=int)]), ("repeat", "fold"), {}),
}


def log_density_of_halves(tables, ratio, error):
    """Return the log density of the variance of the numbers predicted, two classes."""
    repeats, pooled = len(tables), tables.sum(1)
    rates = pooled / pooled.sum(-1, keepdims=True)
    gap = tables.sum(-2)[..., 1] - (tables.sum(-1) * rates[:, None, :, 1]).sum(-1)
    every = pooled.sum(0)
    positive = (every[:, 1] + 0.5) / (every.sum(-1) + 1)
    binomial = (every.sum(-1) / (2 * repeats) * positive * (1 - positive)).sum()
    moved = binomial**2 * ((0.6 * ratio**2 + 3) * error**2).sum()
    shape = repeats / (1 + (repeats - 1) / 20) / 2
    scale = 2 * (binomial + moved) / shape
    return stats.gamma.logpdf(2 * (gap**2).sum() / repeats, shape, scale=scale)


def log_joint(counts, drawn, keywords):
    """Return the log density of the model at the draws, written down once more."""
    posterior = posteriors.hierarchical_folds(counts, **keywords)
    cells, repeats = posterior.folds, counts.sizes.get("repeat", 1)
    design, prior = posterior.settings, posterior.settings.prior
    totals = cells.sum((0, 2)) / repeats
    error = 1 / np.sqrt(totals)
    unit = np.sqrt(2 * np.median(error**2))
    luck = 0 if design.fixed else error**2
    omega = repeat_weight(cells, design) if repeats > 1 else 1
    logs = []
    for i in range(len(drawn["spread"])):
        value = {name: draws[i] for name, draws in drawn.items()}
        column = (value["spread"] / unit * error) ** 2
        rho = value["rho_threshold"]
        shift = np.sqrt(rho * column + luck) * value["threshold"]
        shift = shift + np.sqrt((1 - rho) * column) * value["threshold_fold"]
        mixed = np.sqrt(design.rho[1]) * value["separation"]
        mixed = mixed + np.sqrt(1 - design.rho[1]) * value["separation_fold"]
        eye = np.eye(len(totals))
        apart = design.separation * unit
        if "halves" in keywords:
            apart = np.hypot(apart, 0.2 * value["spread"])
        apart = apart * mixed[:, None, None] * eye
        eta = special.log_softmax(np.log(value["rates"]) + shift[:, None] + apart, axis=-1)
        log = omega * (cells * eta).sum()
        if repeats > 1:
            own = np.sqrt((1 - design.rho[0]) * column)
            log += variance_likelihood(cells, own[None], repeats)[0]
        if "halves" in keywords:
            log += log_density_of_halves(keywords["halves"].values, value["spread"] / unit, error)
        log += sum(stats.dirichlet.logpdf(*row) for row in zip(value["rates"], prior, strict=True))
        log += stats.t.logpdf(value["spread"], 2, scale=design.spread * unit ** (2 / 3))
        for name in ("threshold", "threshold_fold", "separation", "separation_fold"):
            log += stats.norm.logpdf(value[name]).sum()
        if not design.fixed:
            log += stats.dirichlet.logpdf(value["prevalence"], prior.sum(-1) + totals)
        logs.append(log)
    return np.array(logs)


@pytest.mark.long
@pytest.mark.parametrize("name", CASES)
def test_model_and_direct_posterior_have_one_density(name):
    cells, dims, keywords = CASES[name]
    counts = labelled(cells, dims)
    drawn = posteriors.hierarchical_folds(counts, **keywords).variables(6, np.random.default_rng(1))
    model = remove_value_transforms(models.hierarchical_folds(counts, **keywords))
    function = model.compile_logp(jacobian=False, mode=Mode("py", None))
    free = {model.rvs_to_values[each].name: drawn[each.name] for each in model.free_RVs}
    got = np.array([function({key: draws[i] for key, draws in free.items()}) for i in range(6)])
    difference = got - log_joint(counts, drawn, keywords)
    np.testing.assert_allclose(difference, difference[0], atol=1e-6)


def test_the_fence_notices_another_correlation():
    drawn = posteriors.hierarchical_folds(FOLDS, rho=0.5).variables(6, np.random.default_rng(1))
    one, other = (log_joint(labelled(FOLDS), drawn, {"rho": rho}) for rho in (0.5, 0.6))
    assert np.ptp(one - other) > 0.01


def test_priors_are_functions_from_a_name():
    model = models.hierarchical_folds(
        labelled(FOLDS),
        spread=lambda name: pm.HalfNormal(name, 0.25),
        separation=lambda name: pm.HalfNormal(name, 0.2),
        prevalence=0.1,
    )
    names = {each.name for each in model.free_RVs}
    assert {"spread", "separation_spread"} <= names


@pytest.mark.long
@pytest.mark.parametrize("name", CASES)
def test_draws_fit_the_model(name):
    cells, dims, keywords = CASES[name]
    counts = labelled(cells, dims)
    model = models.hierarchical_folds(counts, **keywords)
    posterior = posteriors.hierarchical_folds(counts, **keywords)
    drawn = posterior.variables(3, np.random.default_rng(1))
    for variable in [*model.free_RVs, *model.deterministics]:
        shape = [len(model.coords[dim]) for dim in model.named_vars_to_dims[variable.name]]
        assert drawn[variable.name].shape == (3, *shape), variable.name


@pytest.mark.parametrize("name", ["hierarchical_folds", "paired_folds"])
def test_constants_are_those_of_the_direct_posterior(name):
    model, posterior = (
        vars(import_module(f"bayescm.{folder}.{name}")) for folder in ("models", "posteriors")
    )
    constants = {key: value for key, value in model.items() if key.isupper()}
    assert len(constants) > 9
    assert constants == {key: posterior[key] for key in constants}


def test_pairs_and_folds_have_the_same_constants():
    folds, pairs = (
        vars(import_module(f"bayescm.models.{name}"))
        for name in ("hierarchical_folds", "paired_folds")
    )
    shared = {key for key in folds if key.isupper() and key in pairs}
    assert len(shared) > 8
    assert {key: folds[key] for key in shared} == {key: pairs[key] for key in shared}
