"""Marginal likelihoods of models of the same evidence, and Bayes factors."""

import warnings
from collections import ChainMap
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import xarray as xr

from bayescm.evidence.trees import attribute_dims
from bayescm.fitting.sampler_options import OPTIONS, check_options, refuse_options, split
from bayescm.fitting.tree import EFFECTS, WHY_NO_LOG_LIKELIHOOD
from bayescm.validate import Advice, check_seed, check_whole, fail, suggest

if TYPE_CHECKING:
    from pymc import Model

_KEY = "log_marginal_likelihood"
# Number of draws per chain for tuning the sampler.
_TUNE = 1000
# Largest number of data values in one evaluation of the log density (32 MB).
_AT_ONCE = 2**22
# An error is raised if the standard error of a log marginal likelihood, in nats, exceeds this,
# because a Bayes factor may then be wrong by more than a factor of two.
_LARGEST_ERROR = 0.35


def evidence_for(
    models: "Mapping[Any, xr.DataTree | Model]",
    *,
    draws: int = 2000,
    chains: int = 4,
    random_seed: int = 0,
    **keywords: Any,
) -> pd.DataFrame:
    """
    Compare models of the same evidence by their marginal likelihoods.

    The marginal likelihood is the prior predictive probability of the evidence under the model. It
    depends on the prior, and vaguer priors usually lower it. Marginal likelihoods can also compare
    models of a single matrix, for which leave-one-out cross-validation is not available.

    Parameters
    ----------
    models : mapping of name to DataTree or pymc.Model
        Two or more models of the same evidence. Trees from `fit` contain the marginal likelihood of
        their direct posterior. Other models, and priors from other families, are passed as PyMC
        models, such as ``bcm.models.dirichlet_multinomial(counts, concentration=partial(pm.Gamma,
        ...))``. These are sampled by NUTS, and their marginal likelihood is estimated by bridge
        sampling.
    draws, chains : int, default 2000 and 4
        Number of NUTS draws per chain (at least 100), and number of chains (at least 2).
    random_seed : int, default 0
        Seed of NUTS and of bridge sampling.
    **keywords
        Further options of the sampler, such as ``tune`` and ``target_accept``. See `bayescm.fit`.

    Returns
    -------
    DataFrame
        One row per model and member of the batch:

        - ``log_marginal_likelihood``: natural logarithm of the marginal likelihood.
        - ``standard_error``: its standard error (0 for a direct posterior).
        - ``difference``: difference from the best model.
        - ``bayes_factor``: Bayes factor against the best model.
        - ``probability``: posterior probability of the model, with equal prior probabilities.
        - ``how``: the method of computation.

        If a model is sampled, a batch is treated as a whole.

    Raises
    ------
    TypeError
        If ``models`` is not a mapping of fits and models.
    ValueError
        If there is only one model, or a model has an improper prior, discrete free variables or a
        discounted likelihood. If the models use different evidence, or condition on different parts
        of it: ``fixed_totals`` conditions on the class totals, but ``dirichlet_multinomial`` does
        not. If the chains of a sampled model give different marginal likelihoods, or the standard
        error is above 0.35.

    Warns
    -----
    UserWarning
        If there are divergences, or the chains disagree. If some log likelihoods are conditional on
        group effects, but others marginalise over them.

    See Also
    --------
    bayescm.fit : Fit a model. The tree has the attribute ``log_marginal_likelihood``.

    Notes
    -----
    For custom models, only the observed numbers are compared with those of other models. The
    likelihood must be complete, including the multinomial coefficient.

    References
    ----------
    Kass, R. E. & Raftery, A. E. (1995). Bayes factors. Journal of the American Statistical
    Association 90, 773-795. doi:10.1080/01621459.1995.10476572

    Gronau, Q. F. et al. (2017). A tutorial on bridge sampling. Journal of Mathematical Psychology
    81, 80-97. doi:10.1016/j.jmp.2017.09.005

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
    # A tree is itself a mapping.
    named = isinstance(models, Mapping) and not isinstance(models, xr.DataTree)
    if not named or not all(_is_fit(model) or _is_model(model) for model in models.values()):
        raise fail(
            "Models must be a mapping from names to fits or PyMC models, not a "
            f"{type(models).__name__}",
            ...,
            "",
            "pass e.g. evidence_for({'flat': fit(counts, `concentration=1.0`), ...})",
            TypeError,
        )
    if len(models) < 2:
        raise fail("A comparison needs two or more fits", list(models), "", "fit another model")
    check_whole("draws", draws, 100, "draws", 2000)
    check_whole("chains", chains, 2, "chains", 4)
    check_seed(random_seed)
    names = list(models)
    _warn_of_effects(models)
    for name in names:
        _check_marginal(name, models[name])
        _check_same(names[0], name, models)
    for name in split(keywords)[0]:
        todo = suggest(name, OPTIONS) or "leave it out"
        raise fail("evidence_for has no keyword {}", name, OPTIONS, todo, TypeError)
    check_options(keywords)
    if all(map(_is_fit, models.values())):
        why = "fits have their marginal likelihoods, and nothing is sampled"
        refuse_options(keywords, why)
    sampler = {"draws": draws, "chains": chains, "random_seed": random_seed, **keywords}
    as_whole = not all(map(_is_fit, models.values()))
    marginals = [
        _by_fit(model, as_whole=as_whole)
        if _is_fit(model)
        else by_bridge_sampling(name, model, **sampler)
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


def _warn_of_effects(models):
    """Warn if only some log likelihoods are conditional on group effects."""
    kinds = {name: tree.attrs.get(EFFECTS) for name, tree in models.items() if _is_fit(tree)}
    kinds = {name: kind for name, kind in kinds.items() if kind}
    if len({kind == "integrated out" for kind in kinds.values()}) > 1:
        listed = ", ".join(f"{name}: {kind}" for name, kind in kinds.items())
        what = f"The log likelihoods of these trees treat group effects differently ({listed}), "
        what += "so their az.loo and az.compare are not comparable"
        todo = "use marginal likelihoods; instead of a tree without one, pass its pymc.Model"
        warnings.warn(Advice(what, [todo]), stacklevel=3)


def _is_fit(model):
    return isinstance(model, xr.DataTree)


def _is_model(model):
    """Return True if this is a PyMC model, without importing PyMC."""
    ours = ("pymc.model.core", "Model")
    return any((base.__module__, base.__name__) == ours for base in type(model).__mro__)


def _by_fit(tree, *, as_whole):
    """Return the log marginal likelihoods of the batch (or their sum), the error and the method."""
    dims = attribute_dims(tree, "batch")
    sizes = tree["posterior"].sizes
    values = np.reshape(tree.attrs[_KEY], [sizes[dim] for dim in dims])  # stored as a flat list
    coords = {dim: tree["posterior"][dim] for dim in dims if dim in tree["posterior"].coords}
    logs = xr.DataArray(values, dims=dims, coords={k: v.values for k, v in coords.items()})
    return logs.sum() if as_whole else logs, 0.0, "direct posterior"


def by_bridge_sampling(
    name: Any, model: "Model", *, draws: int, chains: int, random_seed: int, **options: Any
) -> tuple[xr.DataArray, float, str]:
    """
    Return a bridge sampling estimate of the log marginal likelihood.

    The result also includes its standard error and a description of the method.

    Raises
    ------
    ValueError
        If the chains disagree, or the standard error is above 0.35.
    """
    from bayescm.fitting.nuts import nuts
    from bayescm.inference.bridge_sampling import bridge_sampling

    size: dict[str, Any] = {"draws": draws, "tune": options.pop("tune", _TUNE), "chains": chains}
    tree = nuts(model, **size, seed=random_seed, options=options, unconstrained=True)
    # The first group contains only transformed variables.
    groups = [name for name in ("unconstrained_posterior", "posterior") if name in tree.children]
    sampled = ChainMap(*(dict(tree[name].data_vars) for name in groups))
    names = [variable.name for variable in model.value_vars]
    values = [sampled[name].values for name in names]
    shapes = [array.shape[2:] for array in values]
    points = np.concatenate([array.reshape(chains, draws, -1) for array in values], axis=-1)
    log_density = _log_density(model, names, shapes)
    try:
        found = bridge_sampling(points, log_density, np.random.default_rng(random_seed))
    except ValueError as problem:
        raise ValueError(f"No marginal likelihood of {name}: {problem}") from problem
    todo = "take more draws, or reparametrise the model: NUTS may miss part of its posterior"
    if not found.chains_agree:
        raise fail(
            f"The chains of {name} give different marginal likelihoods: {{}}",
            found.by_chain.round(2).tolist(),
            "",
            todo,
        )
    if not found.error <= _LARGEST_ERROR:
        raise fail(
            f"The log marginal likelihood of {name} has a standard error of "
            f"{round(found.error, 2):g}, above {_LARGEST_ERROR}",
            ...,
            "",
            todo,
        )
    how = f"bridge sampling ({chains} chains of {draws:,} draws)"
    return xr.DataArray(found.log_marginal_likelihood), found.error, how


def _log_density(model, names, shapes):
    """Return the function that maps unconstrained points (m, d) to the joint log density (m,)."""
    from pymc.backends.arviz import find_observations

    from bayescm.fitting.forward import evaluate

    ends = np.cumsum([int(np.prod(shape)) for shape in shapes])[:-1]
    observed = sum(array.size for array in find_observations(model).values())
    step = max(1, int(_AT_ONCE / (observed + sum(int(np.prod(shape)) for shape in shapes))))

    def expressions(model):
        variables = {variable.name: variable for variable in model.value_vars}
        return {"log_density": model.logp(jacobian=True)}, variables

    def log_density(points):
        parts = []
        for start in range(0, len(points), step):
            block = points[None, start : start + step]
            arrays = np.split(block, ends, axis=-1)
            at = {
                name: array.reshape(*block.shape[:2], *shape)
                for name, array, shape in zip(names, arrays, shapes, strict=True)
            }
            parts.append(evaluate(model, "log density", expressions, at)["log_density"][0])
        return np.concatenate(parts)

    return log_density


def _check_marginal(name, model):
    """Raise an error if the marginal likelihood is undefined, or cannot be computed."""
    if _is_fit(model):
        if _KEY in model.attrs:
            return
        if WHY_NO_LOG_LIKELIHOOD in model.attrs:
            _refuse_discounted(name)
        raise fail(
            f"The fit {name!r} has no marginal likelihood",
            ...,
            "",
            "pass the pymc.Model itself, or compare with az.loo if there are folds or groups",
        )
    from bayescm.fitting.tree import is_discounted, is_improper

    if is_discounted(model):
        _refuse_discounted(name)
    if is_improper(model):
        raise fail(
            "{} has an improper prior, so it has no marginal likelihood",
            name,
            "",
            "use a concentration above 0, and no flat variable",
        )
    if model.discrete_value_vars:
        discrete = [variable.name for variable in model.discrete_value_vars]
        raise fail(
            f"Bridge sampling of {name} needs continuous variables, but {{}} are discrete",
            discrete,
            "",
            "sum them out of the likelihood, e.g. with pm.Mixture",
        )
    if not model.free_RVs:
        raise fail(
            f"{name} has no free variables", ..., "", "pass a model with a prior and a likelihood"
        )


def _refuse_discounted(name):
    raise fail(
        "{} has a discounted likelihood, which is not a probability",
        name,
        "",
        "pass `omega=1.0` to pooled_folds, or compare hierarchical_folds for one cross-validation",
    )


def _check_same(first, name, models):
    first_data, second_data = _observed(first, models[first]), _observed(name, models[name])
    if first_data.equals(_in_order_of(first_data, second_data)):
        return
    fits = _is_fit(models[first]) and _is_fit(models[name])
    if not fits and _same_numbers(first_data, second_data):
        return
    got = _difference(first, name, first_data, second_data)
    raise fail(
        "The models have different evidence: {}",
        got,
        "",
        "fit all of them to the same counts, with the same fixed totals",
    )


def _in_order_of(first_data, data):
    """Reorder labels as in the first data, because a fit puts the positive class last."""
    pairs = {dim: (index, data.indexes.get(dim)) for dim, index in first_data.indexes.items()}
    reordered = {
        dim: index
        for dim, (index, other) in pairs.items()
        if other is not None and index.is_unique and set(index) == set(other)
    }
    return data.sel(reordered)


def _same_numbers(first_data, second_data):
    """Return True if the observed numbers agree, ignoring names, shapes and labels."""
    if set(first_data) == set(second_data):
        return all(
            np.array_equal(first_data[key].values.ravel(), second_data[key].values.ravel())
            for key in first_data
        )
    first, second = (
        np.sort(np.concatenate([array.values.ravel() for array in data.values()]))
        for data in (first_data, second_data)
    )
    return np.array_equal(first, second)


def _observed(name, model):
    """Return the observed variables of a model, without scalar coordinates of the evidence."""
    named = "observed_data" in model.children if _is_fit(model) else bool(model.observed_RVs)
    if not named:
        raise fail(
            f"{name} has no observed variable, so its evidence is unknown",
            ...,
            "",
            "compare models with observed variables",
        )
    if _is_fit(model):
        data = model["observed_data"].to_dataset()
    else:
        from pymc.backends.arviz import find_observations

        from bayescm.fitting.forward import labelled

        data = labelled(model, find_observations(model), {}, ())
    return data.drop_vars([key for key, coord in data.coords.items() if not coord.ndim])


def _difference(first, name, first_data, second_data):
    """Describe the difference between the observations of two models."""
    described = [_describe(data) for data in (first_data, second_data)]
    if described[0] != described[1]:
        return f"{first} observes {described[0]}; {name} observes {described[1]}"
    for key, array in first_data.items():
        other = second_data[key]
        if not np.array_equal(array.values, other.values):
            place = tuple(np.argwhere(array.values != other.values)[0])
            values = f"{array.values[place]:g} and {other.values[place]:g}"
            return f"{first} and {name} observe different numbers of {key}, such as {values}"
        for dim in array.dims:
            labels = [data.indexes[dim].tolist() for data in (array, other) if dim in data.indexes]
            if len(labels) < 2 or labels[0] != labels[1]:
                return f"{first} and {name} have different labels of {dim}: {labels}"
    return f"{first} and {name} have different labels"


def _describe(data):
    """Describe the observed variables with their dimensions and sizes."""
    words = []
    for name, array in data.data_vars.items():
        sizes = " x ".join(f"{size} {dim}" for dim, size in array.sizes.items())
        words.append(f"{name} ({sizes})" if sizes else str(name))
    return ", ".join(words) or "nothing"
