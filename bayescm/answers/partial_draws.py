"""Draws of measures of folds and of groups."""

import numpy as np
import xarray as xr

from bayescm.answers.drawn import Drawn, class_last, in_chunks, no_distribution
from bayescm.answers.interval import sibling_posterior
from bayescm.classical.correlated_t import posterior as fold_posterior
from bayescm.direct.groups.grouped_outcomes import grouped_outcomes
from bayescm.evidence.counts import align
from bayescm.evidence.folds import design
from bayescm.evidence.outcomes import counts_of
from bayescm.measures.labelled import kernels as as_kernels
from bayescm.measures.over_folds import fold_values
from bayescm.validate import check_keywords, fail


def of_folds(counts, measures, dim, draws, rng, **keywords):
    """Draw mean differences between members from the correlated t of all folds."""
    found = as_kernels(measures, counts)
    if keywords:
        got = ", ".join(keywords)
        raise fail("the correlated t has no keywords", got, "none", "name a model", TypeError)
    rho = design(counts)["test_share"]
    values, size = {}, draws or 50_000
    for kernel in found:
        folds = fold_values(counts, kernel)
        values[kernel.__name__] = xr.apply_ufunc(
            lambda each: _multivariate_t(each, rho, size, rng),
            folds.transpose(..., dim, "fold") if dim in folds.dims else folds,
            input_core_dims=[[dim, "fold"]],
            output_core_dims=[["draw", dim]],
            vectorize=True,
        )
    drawn = xr.Dataset(values).transpose("draw", ...)

    def difference(kernel, first, second):
        folds = fold_values(counts, kernel)
        ends = [folds.isel({k: v for k, v in at.items()}).values for at in (first, second)]
        return fold_posterior(ends[0] - ends[1], rho)

    return Drawn(class_last(drawn), found, True, no_distribution, difference)


def _multivariate_t(folds, rho, size, rng):
    """Draw the members' means, (size, J), from the folds (J, n) in which all are defined."""
    folds = folds[:, ~np.isnan(folds).any(axis=0)]
    if folds.shape[1] < 2:
        return np.full((size, len(folds)), np.nan)
    freedom = folds.shape[1] - 1
    covariance = np.atleast_2d(np.cov(folds)) * (1 / folds.shape[1] + rho / (1 - rho))
    values, vectors = np.linalg.eigh(covariance)
    factor = vectors * np.sqrt(np.maximum(values, 0))
    normal = rng.standard_normal((size, len(folds))) @ factor.T
    return folds.mean(axis=1) + normal / np.sqrt(rng.chisquare(freedom, (size, 1)) / freedom)


def of_grouped(outcomes, measures, draws, rng, **keywords):
    """Draw the typical group's measures, the classifiers paired within every group."""
    matrices = counts_of(outcomes)
    template = matrices.transpose("group", ...).isel(group=0, drop=True)
    found = as_kernels(measures, template)
    check_keywords(grouped_outcomes, keywords)
    if "concentration" in keywords:
        keywords["concentration"] = align(keywords["concentration"], matrices)
    posterior = grouped_outcomes(outcomes, **keywords)
    return Drawn(in_chunks(posterior.measure, found, draws or 20_000, rng, template), found, True)


def of_groups(counts, measures, draws, rng, **keywords):
    """Draw the measures of every group, drawn towards the others."""
    counts = counts.transpose(..., "group", "actual", "predicted")
    found = as_kernels(measures, counts)
    posterior, _ = sibling_posterior(counts, counts, "hierarchical_groups", keywords)

    def drawer(kernels, size, rng):
        theta = posterior.draws(size, rng)["theta_group"]
        return [kernel(theta) for kernel in kernels]

    return Drawn(in_chunks(drawer, found, draws or 20_000, rng, counts), found, False)
