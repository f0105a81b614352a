"""Checks of the draws of a Markov chain: convergence, and agreement with a distribution."""

import arviz as az
import numpy as np
import pymc as pm
import xarray as xr

from bayescm.fitting.nuts import nuts
from bayescm.measures import resolve

LEVELS = (0.025, 0.5, 0.975)
DRAWN = ("chain", "draw")


def sampled_by_nuts(model, seed, draws=800):
    """Return the chains of a model, without the predictions that `fit` adds."""
    tree = nuts(model, draws=draws, tune=draws, chains=2, seed=seed)
    free = tree["posterior"].to_dataset()
    options = {"extend_dataset": True, "progressbar": False}
    tree["posterior"] = xr.DataTree(pm.compute_deterministics(free, model=model, **options))
    return tree


def measured(cells, name):
    """Return a measure of sampled cells (chain, draw, ..., actual, predicted)."""
    return cells[..., 0, 0].copy(data=resolve(name)(cells.values)).rename(name)


def assert_converged(tree):
    """Check R-hat and the effective sample size of all variables. Divergences are ignored."""
    for name, sampled in tree["posterior"].data_vars.items():
        varies = sampled.std(DRAWN) > 1e-12
        assert (az.rhat(sampled).where(varies, 1) < 1.05).all(), name
        assert (az.ess(sampled).where(varies, np.inf) > 100).all(), name


def assert_quantiles(sampled, wanted, size=np.inf, levels=LEVELS):
    """
    Check that the proportion of a chain below each quantile equals its level.

    The tolerance is five standard errors. These include the Monte Carlo error of the chain and, if
    the quantiles come from draws, the error of these ``size`` draws.
    """
    for level, end in zip(levels, wanted, strict=True):
        below = (sampled <= end).mean(DRAWN)
        effective = az.ess(sampled, method="quantile", prob=level)
        error = np.sqrt(level * (1 - level) * (1 / effective + 1 / size))
        gap = np.abs(below - level) / error
        assert (gap.fillna(0) < 5).all(), f"{sampled.name}: {gap.values} errors off at {level}"


def assert_same_distribution(sampled, draws, levels=LEVELS):
    """Check a chain against independent draws (size, ...)."""
    assert_quantiles(sampled, np.quantile(draws, levels, axis=0), len(draws), levels)
