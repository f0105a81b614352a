"""What the evidence says of the models themselves: marginal likelihoods and Bayes factors."""

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import xarray as xr

from bayescm.evidence.trees import attribute_dims
from bayescm.fitting.tree import WHY_NO_LOG_LIKELIHOOD
from bayescm.validate import check_seed, check_whole, fail

if TYPE_CHECKING:
    from pymc import Model

_KEY = "log_marginal_likelihood"


def evidence_for(
    models: "Mapping[Any, xr.DataTree | Model]",
    *,
    draws: int = 2000,
    chains: int = 4,
    random_seed: int = 0,
) -> pd.DataFrame:
    """
    Compare models of the same evidence by their marginal likelihoods.

    It answers where leave-one-out cross-validation has nothing to leave out, as with models of one
    matrix. A marginal likelihood is the probability that the model gave the evidence before it was
    seen; it depends on the prior, and more so the vaguer that is.

    Parameters
    ----------
    models : mapping of name to DataTree or pymc.Model
        Two or more models of the same evidence. A tree as `fit` returns it has its marginal
        likelihood from its direct posterior. Any other model, or prior of another family, is given
        as the model itself, such as
        ``bcm.models.dirichlet_multinomial(counts, concentration=partial(pm.Gamma, ...))``, and
        sampled by sequential Monte Carlo (`pymc.sample_smc`).
    draws, chains : int, default 2000 and 4
        The particles of each chain of sequential Monte Carlo, and the number of chains, 2 or more.
    random_seed : int, default 0
        The seed of sequential Monte Carlo.

    Returns
    -------
    DataFrame
        A row per model (and member of the batch): ``log_marginal_likelihood`` (natural logarithm),
        its ``standard_error`` (0 of a direct posterior, that of the mean of the chains' estimates
        otherwise), ``difference`` from the best model, ``bayes_factor`` against the best model,
        ``probability`` of the model if all were equally probable before, and ``how`` the marginal
        likelihood was computed. Where a model is sampled, a batch counts as a whole.

    Raises
    ------
    TypeError
        If this is not a mapping of fits and models.
    ValueError
        If there is one model only, a model has no marginal likelihood, or the models are of
        different evidence, or condition on different parts of it: ``fixed_totals`` is about the
        predictions given the class totals, ``dirichlet_multinomial`` about both.

    See Also
    --------
    bayescm.fit : The attribute ``log_marginal_likelihood`` of its trees.

    Notes
    -----
    Each chain estimates the marginal likelihood without bias; the logarithm of their mean is
    reported. Of a model of your own it is compared only whether the observed numbers are the same:
    it must be their whole probability, the multinomial coefficient included.

    References
    ----------
    Kass, R. E. & Raftery, A. E. (1995). Bayes factors. Journal of the American Statistical
    Association 90, 773-795. doi:10.1080/01621459.1995.10476572

    Del Moral, P., Doucet, A. & Jasra, A. (2006). Sequential Monte Carlo samplers. Journal of the
    Royal Statistical Society B 68, 411-436. doi:10.1111/j.1467-9868.2006.00553.x

    Examples
    --------
    >>> import bayescm as bcm
    >>> counts = bcm.from_cells(tp=65, fn=15, fp=35, tn=30)
    >>> good = [[3, 1], [1, 3]]
    >>> fits = {
    ...     "flat": bcm.fit(counts, concentration=1.0, draws=100),
    ...     "better than chance": bcm.fit(counts, concentration=good, draws=100),
    ... }
    >>> evidence_for(fits)["bayes_factor"].round(2).to_dict()
    {'flat': 0.56, 'better than chance': 1.0}
    """
    named = isinstance(models, Mapping) and not isinstance(models, xr.DataTree)  # it is a mapping
    if not named or not all(_is_fit(model) or _is_model(model) for model in models.values()):
        todo = "pass evidence_for({'flat': fit(counts, concentration=1.0), ...})"
        allowed = "a mapping to trees and pymc.Models"
        raise fail("not fits by name", type(models).__name__, allowed, todo, TypeError)
    if len(models) < 2:
        raise fail("nothing to compare", list(models), "two or more fits", "fit another model")
    check_whole("draws", draws, 2, "particles", 2000)
    check_whole("chains", chains, 2, "chains", 4)
    check_seed(random_seed)
    names = list(models)
    for name in names:
        _check_marginal(name, models[name])
        _check_same(names[0], name, models)
    sampler = {"draws": draws, "chains": chains, "random_seed": random_seed}
    as_whole = not all(map(_is_fit, models.values()))
    marginals = [
        _by_fit(model, as_whole=as_whole) if _is_fit(model) else _by_smc(name, model, **sampler)
        for name, model in models.items()
    ]
    of_models, errors, how = zip(*marginals, strict=True)
    logs = xr.concat(of_models, pd.Index(names, name="model")).transpose("model", ...)
    difference = logs - logs.max("model")
    factor = np.exp(difference)
    columns = {_KEY: logs, "standard_error": xr.DataArray([*errors], dims="model")}
    columns |= {"difference": difference, "bayes_factor": factor}
    columns["probability"] = factor / factor.sum("model")
    columns["how"] = xr.DataArray([*how], dims="model")
    return xr.Dataset(columns).to_dataframe(dim_order=list(logs.dims))


def _is_fit(model):
    return isinstance(model, xr.DataTree)


def _is_model(model):
    """Say whether this is a model of PyMC, which need not be loaded to know."""
    ours = ("pymc.model.core", "Model")
    return any((base.__module__, base.__name__) == ours for base in type(model).__mro__)


def _by_fit(tree, *, as_whole):
    """Return the log marginal likelihoods over the batch, or of all of it, and how they came."""
    dims = attribute_dims(tree, "batch")
    sizes = tree["posterior"].sizes
    values = np.reshape(tree.attrs[_KEY], [sizes[dim] for dim in dims])  # the attribute is flat
    coords = {dim: tree["posterior"][dim] for dim in dims if dim in tree["posterior"].coords}
    logs = xr.DataArray(values, dims=dims, coords={k: v.values for k, v in coords.items()})
    return logs.sum() if as_whole else logs, 0.0, "direct posterior"


def _by_smc(name, model, draws, chains, random_seed):
    """
    Return the log marginal likelihood, its standard error and how they came.

    With the estimates Z_1, ..., Z_K of the chains it is the logarithm of their mean, and its error
    by the delta method sd(Z) / (mean(Z) sqrt(K)).
    """
    import pymc as pm

    from bayescm.fitting.nuts import watched

    logger = logging.getLogger("pymc")
    level = logger.level
    logger.setLevel(logging.WARNING)
    try:
        # In this process: another one would need the main module to be safe to import.
        tree = pm.sample_smc(
            draws,
            model=model,
            chains=chains,
            cores=1,
            random_seed=random_seed,
            progressbar=watched(),
            compute_convergence_checks=False,
        )
    finally:
        logger.setLevel(level)
    stages = tree["sample_stats"][_KEY].values  # of each chain; the last stage has the estimate
    logs = np.array([np.asarray(chain, float)[-1] for chain in stages])
    if not np.isfinite(logs).all():
        todo = "look at the prior: the evidence must be possible under it, and the prior proper"
        raise fail(f"no marginal likelihood of {name}", logs.tolist(), "finite numbers", todo)
    estimates = np.exp(logs - logs.max())
    error = estimates.std(ddof=1) / (estimates.mean() * np.sqrt(chains))
    how = f"sequential Monte Carlo ({chains} chains of {draws:,} particles)"
    return xr.DataArray(np.log(estimates.mean()) + logs.max()), float(error), how


def _check_marginal(name, model):
    """Raise where there is no probability of the evidence, or nobody knows it."""
    if _is_fit(model):
        if _KEY in model.attrs:
            return
        if WHY_NO_LOG_LIKELIHOOD in model.attrs:
            _refuse_discounted(name)
        todo = "pass the pymc.Model itself, or compare by az.loo where there are folds or groups"
        got = (name, model.attrs.get("model", "a tree"))
        raise fail("no marginal likelihood is known", got, "a fit whose attributes have it", todo)
    from bayescm.fitting.tree import is_discounted, is_improper

    if is_discounted(model):
        _refuse_discounted(name)
    if is_improper(model):
        todo = "take a concentration above 0, and no flat variable"
        raise fail("an improper prior has no marginal likelihood", name, "a proper prior", todo)


def _refuse_discounted(name):
    todo = "pass omega=1.0 to pooled_folds, or compare hierarchical_folds of one cross-validation"
    raise fail("a discounted likelihood is no probability", name, "a likelihood as it is", todo)


def _check_same(first, name, models):
    first_data, second_data = _observed(models[first]), _observed(models[name])
    fits = _is_fit(models[first]) and _is_fit(models[name])
    if first_data.equals(_in_order_of(first_data, second_data)):
        return
    if not fits and set(first_data) != set(second_data) and _same_numbers(first_data, second_data):
        return
    got = f"{first} and {name} observe {_describe(first_data)} and {_describe(second_data)}"
    todo = "fit all of them to the same counts, with the same totals given"
    raise fail("the models are of different evidence", got, "the same observations", todo)


def _in_order_of(first_data, data):
    """Return data with labels in the order of the first: a fit has its positive class last."""
    pairs = {dim: (index, data.indexes.get(dim)) for dim, index in first_data.indexes.items()}
    reordered = {
        dim: index
        for dim, (index, other) in pairs.items()
        if other is not None and index.is_unique and set(index) == set(other)
    }
    return data.sel(reordered)


def _same_numbers(first_data, second_data):
    """Say whether the same numbers are observed, whatever names and shapes they have."""
    first, second = (
        np.sort(np.concatenate([array.values.ravel() for array in data.values()]))
        for data in (first_data, second_data)
    )
    return np.array_equal(first, second)


def _observed(model):
    """Return what a model takes for observed, without the scalars that came with the evidence."""
    if _is_fit(model):
        data = model["observed_data"].to_dataset()
    else:
        from pymc.backends.arviz import find_observations

        from bayescm.fitting.forward import labelled

        data = labelled(model, find_observations(model), {}, ())
    return data.drop_vars([key for key, coord in data.coords.items() if not coord.ndim])


def _describe(data):
    return {name: dict(array.sizes) for name, array in data.data_vars.items()}
