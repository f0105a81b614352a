"""Tree of a fit, in the same form for all sampling methods."""

from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

import numpy as np
import xarray as xr

from bayescm.evidence.counts import CELLS
from bayescm.fitting import forward
from bayescm.fitting.forward import labelled
from bayescm.posteriors.base import Posterior

ORDER = [
    "posterior",
    "unconstrained_posterior",
    "sample_stats",
    "posterior_predictive",
    "log_likelihood",
    "log_prior",
    "prior",
    "prior_predictive",
    "observed_data",
    "constant_data",
]
LIKELIHOOD = {"posterior_predictive", "log_likelihood", "prior_predictive", "observed_data"}

# Attribute of the root with the reason for a missing log likelihood.
WHY_NO_LOG_LIKELIHOOD = "why_no_log_likelihood"
# Attribute that states whether effects are integrated out of the log likelihood of a unit.
EFFECTS = "log_likelihood_effects"
DISCOUNTED = (
    "the likelihood is raised to a power below 1, so it is not a probability of "
    "the folds. Leaving out a fold with its whole likelihood would remove more "
    "than the fold contributed"
)

ORIGIN = {"inference_library": "bayescm", "inference_library_version": version("bayescm")}


def build(
    model,
    groups: Mapping[str, xr.Dataset],
    *,
    attrs: Mapping[str, Any],
    scalars: Mapping[str, Any],
    seed: np.random.SeedSequence,
    whole_counts: bool = True,
) -> xr.DataTree:
    """
    Build the tree of a fit from draws of the free variables.

    Parameters
    ----------
    model : pymc.Model
        Model of the draws.
    groups : mapping of str to Dataset
        ``posterior`` with draws of every free variable, and ``sample_stats`` if available.
    attrs : mapping
        Attributes of the root and of the group ``posterior``.
    scalars : mapping
        Scalar coordinates, which are assigned in every group.
    seed : numpy.random.SeedSequence
        Seed of the predictive and prior draws.
    whole_counts : bool, default True
        Whether the counts are integers. Fractional counts have no likelihood.

    Returns
    -------
    xarray.DataTree
        Tree with the groups in `ORDER` that contain variables. The groups of the prior are omitted
        if the prior is improper (a concentration of 0, or a flat variable), and the groups of the
        likelihood if counts are fractional. The log likelihood is omitted if the likelihood is
        discounted; the attribute `WHY_NO_LOG_LIKELIHOOD` of the root states the reason.
    """
    from pytensor import config

    predictive_seed, prior_seed = (int(sequence.generate_state(1)[0]) for sequence in seed.spawn(2))
    sampled = groups["posterior"]
    free = {variable.name: sampled[variable.name].values for variable in model.free_RVs}
    with config.change_flags(traceback__limit=0):  # saves a fifth of the time
        posterior = labelled(model, free | _deterministics(model, free), {**sampled.attrs, **attrs})
        groups = {**groups, "posterior": posterior}
        groups |= forward.predictive(model, posterior, predictive_seed)
        groups |= _logs(model, free)
        if not is_improper(model):
            n_chains, n_draws = posterior.sizes["chain"], posterior.sizes["draw"]
            numbers = sum(variable.size for variable in posterior.values()) // n_chains
            groups |= forward.prior(model, n_draws, numbers, prior_seed)
    coords = {name: np.asarray(values) for name, values in model.coords.items()}
    omitted = set() if whole_counts else LIKELIHOOD
    if is_discounted(model):
        attrs = {**attrs, WHY_NO_LOG_LIKELIHOOD: DISCOUNTED}
    elif given := _effects_of_units(model):
        attrs = {**attrs, EFFECTS: f"conditional on {', '.join(given)}"}
    # Models that use the data as weights have no observed variables.
    order = [name for name in ORDER if name in groups and len(groups[name].data_vars)]
    fitted = {name: _finish(groups[name], coords, scalars) for name in order if name not in omitted}
    return xr.DataTree.from_dict({"/": xr.Dataset(attrs=dict(attrs)), **fitted})


def _effects_of_units(model):
    """Return the names of the free variables that have values for each unit of the evidence."""
    dims, units = model.named_vars_to_dims, set()
    for variable in model.observed_RVs:
        named = dims.get(variable.name, ())
        # The last dimensions belong to one observation, such as the cells of a table.
        units |= {*named[: len(named) - getattr(variable.owner.op, "ndim_supp", 0)]}
    units -= {None, *CELLS}
    free = [variable.name for variable in model.free_RVs]
    return [name for name in free if units & set(dims.get(name, ()))]


def with_counts(fitted: xr.DataTree, counts: xr.DataArray) -> xr.DataTree:
    """Add the counts to a tree whose model contains them as constants in its graph."""
    has_data = "constant_data" in fitted.children
    data = fitted["constant_data"].to_dataset() if has_data else xr.Dataset(attrs=ORIGIN)
    if "counts" not in data:
        fitted["constant_data"] = xr.DataTree(data.assign(counts=counts.drop_attrs()))
    return fitted


def by_unit(fitted: xr.DataTree, posterior: Posterior) -> xr.DataTree:
    """Add the log likelihood by unit to a tree whose model defines it differently."""
    sampled = fitted["posterior"].to_dataset()
    draws = {
        str(name): array.values.reshape(-1, *array.shape[2:]) for name, array in sampled.items()
    }
    log_likelihood = posterior.log_likelihood(draws)
    if log_likelihood is None or "log_likelihood" not in fitted.children:
        return fitted
    lead = sampled.sizes["chain"], sampled.sizes["draw"]
    dims = ("chain", "draw", *log_likelihood.dims[1:])
    values = log_likelihood.values.reshape(*lead, *log_likelihood.shape[1:])
    group_of_model = fitted["log_likelihood"].to_dataset()
    coords = [name for name, coord in group_of_model.coords.items() if set(coord.dims) <= set(dims)]
    group = xr.Dataset(
        {log_likelihood.name: (dims, values)},
        {name: group_of_model[name] for name in coords},
        group_of_model.attrs,
    )
    fitted["log_likelihood"] = xr.DataTree(group)
    fitted.attrs[EFFECTS] = "integrated out"
    return fitted


def _finish(group, coords, scalars):
    """Assign the coordinates of the model to a group, with the same types as in other groups."""
    of_dims = {name: (name, values) for name, values in coords.items() if name in group.dims}
    # A known prevalence may be a scalar of the evidence as well as a variable of the model.
    scalars = {name: value for name, value in scalars.items() if name not in group.data_vars}
    # Construct in one step, which is faster than successive assignments.
    coords = {**group.coords.variables, **of_dims, **scalars}
    return xr.Dataset(group.data_vars.variables, coords, group.attrs)


def is_discounted(model) -> bool:
    """Check whether the likelihood is raised to a power, so that it is not a probability."""
    return "omega" in model.named_vars and bool((model["omega"].get_value() != 1).any())


def is_improper(model) -> bool:
    """Check whether a Dirichlet prior has a zero parameter, or a variable has a flat prior."""
    from pymc.distributions.continuous import FlatRV, HalfFlatRV

    if any(isinstance(variable.owner.op, FlatRV | HalfFlatRV) for variable in model.free_RVs):
        return True
    names = ("concentration", "pseudo_count")
    weights = [variable for variable in model.data_vars if variable.name in names]
    return any(bool((variable.get_value() == 0).any()) for variable in weights)


def _deterministics(model, free):
    """Return draws of the model's deterministic variables."""
    return forward.evaluate(model, "deterministics", _free_deterministics, free)


def _free_deterministics(model):
    """Return the deterministic variables that depend on free variables only, and the free ones."""
    from pytensor.graph.traversal import ancestors

    observed = set(model.observed_RVs)
    forward_only = [
        variable for variable in model.deterministics if not set(ancestors([variable])) & observed
    ]
    deterministics = {variable.name: variable for variable in forward_only}
    return deterministics, {variable.name: variable for variable in model.free_RVs}


def _densities(*parts):
    """Return a function from a model to log densities of data, of parameters, or of both."""

    def densities(model):
        from pymc.model.transform.conditioning import remove_value_transforms

        # Use densities of the variables themselves, not of their unconstrained transforms.
        plain = remove_value_transforms(model)
        variables = [
            *(plain.observed_RVs if "log_likelihood" in parts else []),
            *(plain.free_RVs if "log_prior" in parts else []),
        ]
        values = {variable.name: plain.rvs_to_values[variable] for variable in plain.free_RVs}
        named = [variable.name for variable in variables]
        return dict(zip(named, plain.logp(vars=variables, sum=False), strict=True)), values

    return densities


def _logs(model, free):
    """
    Return the log likelihood of every observation and the log prior of every free variable.

    A discounted likelihood is omitted, because `arviz.loo` would divide the posterior by it.
    """
    parts = {} if is_discounted(model) else {"log_likelihood": model.observed_RVs}
    if not is_improper(model):
        parts["log_prior"] = model.free_RVs
    if not parts:
        return {}
    groups = {}
    values = forward.evaluate(model, " ".join(parts), _densities(*parts), free)
    for name, variables in parts.items():
        named = {rv.name: values[rv.name] for rv in variables}
        groups[name] = labelled(model, named, ORIGIN)
    return groups
