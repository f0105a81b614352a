"""Fits: the posterior as an ArviZ tree, from direct draws or, otherwise, from NUTS."""

import json
import time
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from importlib.metadata import version
from typing import Any, Literal

import numpy as np
import xarray as xr

from bayescm.evidence.counts import CELLS, COUNTS, check_true_negatives
from bayescm.evidence.evidence_type import EVIDENCE_GROUP
from bayescm.evidence.registry import FIT, type_of
from bayescm.evidence.stored import to_dataset
from bayescm.evidence.trees import estimands_by_name, with_positive_class
from bayescm.fitting import models_by_name, sampler_options, tree
from bayescm.fitting import nuts as sampling
from bayescm.fitting.fitted import check_in_model
from bayescm.measures.labelled import of_variable
from bayescm.validate import check_choice, check_seed, check_whole, fail

# Largest number of values of one variable in a tree (1.6 GB).
_LARGEST = 2e8
# Default number of tuning draws per chain.
_TUNE = 1000
_NO_MODEL = "there is no PyMC model of this evidence, and so no likelihood"
# An error is raised for a smaller concentration. This is the smallest for which NUTS gave correct
# quantiles of an empty cell; with 0.01, they were wrong.
_SMALLEST = 0.02


def fit(
    evidence: xr.DataArray | xr.Dataset,
    model: str | Callable | None = None,
    *,
    method: Literal["auto", "direct", "nuts"] = "auto",
    direct: Callable | None = None,
    concentration: Any = None,
    positive: Any = None,
    draws: int = 1000,
    chains: int = 4,
    tune: int | None = None,
    random_seed: int = 0,
    progressbar: bool | None = None,
    nuts_sampler: Literal["nutpie", "pymc", "numpyro", "blackjax"] | None = None,
    **keywords: Any,
) -> xr.DataTree:
    """
    Fit a model to the evidence and return its posterior as an ArviZ tree.

    Use this function for draws, diagnostics and model comparison. For intervals alone, `interval`
    and `summary` are faster. The tree has the same groups, dimensions and coordinates for direct
    draws and for NUTS, and works with the functions of PyMC and ArviZ.

    Parameters
    ----------
    evidence : DataArray or Dataset
        Counts, dims ``(..., actual, predicted)``, or another type of evidence that `model` accepts.
        Leading dimensions are separate matrices or, in models of folds or groups, the members of
        one sample.
    model : str or callable, optional
        Name of a model in ``bayescm.models``, or a function ``f(counts, **keywords)`` that returns
        a ``pymc.Model``. By default the default model of the evidence.
    method : {"auto", "direct", "nuts"}, default "auto"
        Sampling method. ``"direct"`` gives independent draws, ``"nuts"`` uses MCMC, and ``"auto"``
        uses direct draws if they are available.
    direct : callable, optional
        Direct posterior of a custom model: a function of the same evidence and keywords that
        returns a `bayescm.posteriors.base.Posterior`.
    concentration : float, array_like, DataArray or callable, optional
        Prior, for models that accept this keyword. See `bayescm.interval`.
    positive : label, optional
        Positive class. Required if the evidence does not define one, and overrides it otherwise.
    draws, chains : int
        Number of posterior draws per chain, and number of chains.
    tune : int, optional
        Number of tuning draws of NUTS per chain. By default 1000.
    random_seed : int, default 0
        Seed. The same seed gives the same tree.
    progressbar : bool, optional
        Whether to show the progress of NUTS. By default in terminals and notebooks only.
    nuts_sampler : {"nutpie", "pymc", "numpyro", "blackjax"}, optional
        Library for NUTS, as in `pymc.sample`. By default nutpie, or PyMC if an option such as
        ``init`` is given. The packages numpyro and blackjax must be installed separately.
    **keywords
        Further keywords of the model. A function from a name to a PyMC variable specifies a prior
        from another family, e.g. ``prevalence=lambda name: pm.Beta(name, 2, 8)``. These options of
        `pymc.sample` are passed to the sampler: ``backend``, ``blas_cores``, ``callback``,
        ``compile_kwargs``, ``cores``, ``idata_kwargs``, ``init``, ``initvals``,
        ``jitter_max_retries``, ``max_treedepth``, ``mp_ctx``, ``n_init``, ``nuts`` and
        ``target_accept`` (default 0.95).

    Returns
    -------
    xarray.DataTree
        Fit with the groups ``posterior``, ``posterior_predictive``, ``log_likelihood``,
        ``log_prior``, ``prior``, ``prior_predictive``, ``observed_data``, ``constant_data`` and,
        from NUTS, ``sample_stats``. Some groups may be missing:

        - With an improper prior (concentration 0), the groups of the prior.
        - With fractional counts, the groups of the likelihood.
        - With a discounted likelihood (``omega`` below 1), the log likelihood. The attribute
          ``why_no_log_likelihood`` states the reason.

        The root and the group ``posterior`` have these attributes:

        - The model, its keywords and the estimands. A prior that is a function is given in words,
          such as "Gamma(alpha=2, beta=4)".
        - ``sampling_method``: "conjugate", "quadrature", "importance", "gibbs" or "nuts", with its
          reason.
        - The seed, and the ``versions`` of the libraries.

        The root has further attributes if they apply:

        - ``log_likelihood_effects``: whether the log likelihood of a group is "conditional on"
          effects, or the effects are "integrated out" as in ``hierarchical_groups``.
        - ``log_marginal_likelihood``: a number, or a list over the flattened batch, if the direct
          posterior provides it (`evidence_for` uses it to compare models).

        If chains of NUTS disagree or draws diverged, ``posterior`` has the attribute
        ``not_converged``, and every result computed from the tree includes a caution.

    Raises
    ------
    ValueError
        If the evidence is not valid, the model is unknown, or direct draws are requested but not
        available.
    TypeError
        If the model does not accept one of the keywords, or sampler options are given for direct
        draws.

    Warns
    -----
    UserWarning
        If draws of NUTS diverged or its chains disagree. Also if the examples have groups or
        importance weights that the model ignores.

    See Also
    --------
    bayescm.interval : Intervals of many matrices, without a tree.
    bayescm.priors.evidence_for : Comparison of models of the same evidence.

    Examples
    --------
    >>> import bayescm as bcm
    >>> tree = fit(bcm.from_cells(tp=65, fn=15, fp=35, tn=30), random_seed=1)
    >>> tree.attrs["model"], tree.attrs["sampling_method"]
    ('dirichlet_multinomial', 'conjugate')
    >>> tree["posterior"]["theta"].dims
    ('chain', 'draw', 'actual', 'predicted')
    """
    check_choice("method", method, ["auto", "direct", "nuts"])
    keywords, options = sampler_options.split(keywords)
    named = {"tune": tune, "progressbar": progressbar, "nuts_sampler": nuts_sampler}
    options |= {name: value for name, value in named.items() if value is not None}
    sampler_options.check_options(options)
    entry = type_of(evidence)
    if entry is FIT:
        raise fail(
            "This is already a fit, of {}",
            evidence.attrs.get("model", ...),
            "",
            "pass the evidence that it was fitted to",
        )
    evidence = with_positive_class(evidence, positive)
    check_true_negatives(evidence, "the probability of a cell")
    if concentration is not None:
        keywords = {"concentration": concentration, **keywords}
    if model is None:
        model, evidence, design = entry.default_model(evidence, keywords)
        entry, keywords = type_of(evidence), {**design, **keywords}
    if callable(model):
        sampler_options.refuse_shared_names(model, options)
    canonical, function, aligned = models_by_name.prepare(entry, evidence, model, keywords)
    values, whole_counts = entry.values(canonical), entry.is_whole(canonical)
    _check_sizes(values, draws=draws, chains=chains)
    # PyMC models do not validate their keywords, but the direct posterior does.
    posterior = models_by_name.direct_posterior(function, evidence, keywords, direct)
    seed = _number_of(check_seed(random_seed))
    if posterior is not None and not posterior.has_model:
        if method == "nuts":
            todo = "leave `method` out: the direct posterior needs no PyMC model"
            raise fail(
                f"{models_by_name.name_of(function)} has no PyMC model for this evidence",
                ...,
                "",
                todo,
            )
        why = f"{models_by_name.name_of(function)} has direct draws, so nothing is sampled"
        sampler_options.refuse_options(options, why)
        attrs = _described(function, keywords) | {"random_seed": seed}
        attrs |= {"versions": _versions("numpy", "scipy")}
        return _tree_of_measures(posterior, entry, canonical, (chains, draws), attrs)
    if posterior is not None:
        name = models_by_name.name_of(function)
        models_by_name.warn_of_design(posterior, canonical, name, stacklevel=3)
    obstacle = models_by_name.obstacle(function, keywords, direct)
    directly, why = _choose(method, obstacle)
    if directly:
        name = models_by_name.name_of(function)
        sampler_options.refuse_options(options, f"{name} has direct draws, so nothing is sampled")
    with _untraced(model):
        built = function(canonical, **aligned)
    _check_model(built, posterior, has_cells=entry.has_cells)
    attrs = _described(function, aligned, built) | _estimands(built, posterior, values)
    used = posterior.sampling_method if directly and posterior else "nuts"
    attrs |= {"sampling_method": used, "sampling_reason": why}
    if "effective" in getattr(canonical, "coords", ()):  # the tree contains only sums of weights
        attrs |= {"weights": "importance"}
    attrs |= {"random_seed": seed}
    seeds = np.random.SeedSequence(seed).spawn(2)
    if directly:
        groups = _draw(posterior, built, chains, draws, seeds[0])
    else:
        _check_samplable(built, whole_counts=whole_counts)
        sizes = {"draws": draws, "tune": options.pop("tune", _TUNE), "chains": chains}
        groups = _sample(built, sizes, seeds[0], options)
    coords = canonical.coords.items()
    scalars = {name: coord.variable for name, coord in coords if coord.ndim == 0}
    if posterior is not None and whole_counts and not obstacle:
        attrs |= _marginal(posterior, built)
    library = groups["posterior"].attrs["inference_library"]
    attrs |= {"versions": _versions("pymc", "pytensor", "arviz", "numpy", library)}
    drawn = tree.build(
        built, groups, attrs=attrs, scalars=scalars, seed=seeds[1], whole_counts=whole_counts
    )
    if entry is COUNTS:
        drawn = tree.with_counts(drawn, values)
    if not entry.has_cells:
        drawn[EVIDENCE_GROUP] = xr.DataTree(to_dataset(canonical))
    return tree.by_unit(drawn, posterior) if posterior is not None else drawn


def check_estimand(
    evidence: xr.DataArray | xr.Dataset, model: str | Callable, keywords: dict[str, Any], of: str
) -> None:
    """Raise an error, before sampling, if the fit of a built-in model will lack an estimand."""
    entry = type_of(evidence)
    canonical, function, aligned = models_by_name.prepare(entry, evidence, model, keywords)
    direct = models_by_name.direct_posterior(function, evidence, keywords)
    if direct is None or not entry.has_cells:
        return
    if of not in direct.pooled_dims:
        direct.resolve_estimand(of)
    with _untraced(model):
        built = function(canonical, **aligned)
    names = {variable.name for variable in (*built.free_RVs, *built.deterministics)}
    members = {dim: f"theta_{dim}" for dim in direct.pooled_dims}
    available = [
        name for name, variable in {**members, **direct.estimands}.items() if variable in names
    ]
    check_in_model(of, direct, available)


def _tree_of_measures(posterior, entry, evidence, shape, attrs):
    """
    Return a tree of the default measures, for evidence without a PyMC model.

    The tree also contains the evidence, so that other measures can be computed.
    """
    chains, draws = shape
    measured = posterior.measured or entry.default_measures(evidence)
    measures = of_variable(measured, posterior.measured_variable)
    measures = [posterior.bound(measure) for measure in measures]
    started = time.perf_counter()
    rng = np.random.default_rng(attrs["random_seed"])
    arrays = posterior.draw_in_parts(measures, chains * draws, rng)
    lead = {"chain": np.arange(chains), "draw": np.arange(draws)}
    sampled = xr.Dataset(attrs=tree.ORIGIN | attrs)
    for measure, values in zip(measures, arrays, strict=True):
        template = posterior.measure_template(measure)
        coords = {**{dim: xr.Variable(dim, labels) for dim, labels in lead.items()}}
        coords |= template.coords
        shaped = values.reshape(chains, draws, *values.shape[1:])
        sampled[measure.__name__] = xr.DataArray(shaped, coords, (*lead, *template.dims))
    attrs |= {"sampling_method": posterior.sampling_method}
    attrs |= {"sampling_reason": "there is no PyMC model of this evidence"}
    sampled.attrs |= attrs | {"sampling_time": time.perf_counter() - started}
    groups = {"/": xr.Dataset(attrs=attrs | {tree.WHY_NO_LOG_LIKELIHOOD: _NO_MODEL})}
    groups |= {"posterior": sampled, EVIDENCE_GROUP: to_dataset(evidence)}
    return xr.DataTree.from_dict(groups)


def _untraced(model):
    """Disable tracebacks of the nodes in built-in models, which saves a tenth of the time."""
    from pytensor import config

    return nullcontext() if callable(model) else config.change_flags(traceback__limit=0)


def _check_model(model, posterior, *, has_cells):
    """Raise an error if the result is not a model, or lacks cell probabilities."""
    from pymc import Model

    if not isinstance(model, Model):
        todo = "return the model at the end of the function"
        raise fail("The function must return a pymc.Model", model, "", todo, TypeError)
    names = [variable.name for variable in (*model.free_RVs, *model.deterministics)]
    if posterior is None and has_cells and not {"theta", "theta_new", "theta_fold"} & set(names):
        todo = 'add pm.Deterministic("theta", ..., `dims=("actual", "predicted")`)'
        raise fail(
            "The model has no variable theta of cell probabilities, with dimensions "
            "(actual, predicted); it has {}",
            names,
            "",
            todo,
        )


def _estimands(model, posterior, values):
    """Return the estimands of a tree, with their variables and dimensions, as attributes."""
    names = {variable.name for variable in (*model.free_RVs, *model.deterministics)}
    if posterior is None:
        dims = {name: model.named_vars_to_dims.get(name, ()) for name in sorted(names)}
        variables = estimands_by_name(dims) if "theta" in names else {}
        batch_dims = [dim for dim in model.named_vars_to_dims.get("theta", ()) if dim not in CELLS]
        pooled_dims = [dim for dim in values.dims if dim not in (*batch_dims, *CELLS)]
        estimands: dict[str, Any] = {"uses": pooled_dims, "pairs": []}
    else:
        variables = {of: name for of, name in posterior.estimands.items() if name in names}
        batch_dims = list(posterior.batch.dims) if variables else []
        estimands = {"uses": list(posterior.pooled_dims), "pairs": list(posterior.pairs)}
    estimands |= {"estimands": variables, "batch": batch_dims}
    return {name: json.dumps(value) for name, value in estimands.items()} if variables else {}


def _marginal(posterior, model):
    """Return the log marginal likelihood as an attribute, if it is available."""
    if tree.is_discounted(model):
        return {}
    try:
        with np.errstate(invalid="ignore"):  # an improper prior
            log_marginal = np.asarray(posterior.log_marginal_likelihood(), float)
    except NotImplementedError:
        return {}
    if not np.isfinite(log_marginal).all():
        return {}
    scalar = log_marginal.ndim == 0
    return {
        "log_marginal_likelihood": log_marginal.item() if scalar else log_marginal.ravel().tolist()
    }


def _choose(method, obstacle):
    """Return whether to use direct draws, and the reason."""
    if method == "direct" and obstacle:
        todo = "leave `method` out, or pass `method='nuts'`"
        raise fail(f"Direct draws are not available: {obstacle}", ..., "", todo)
    if method == "nuts":
        return False, "asked for"
    return not obstacle, obstacle or "the model has a direct posterior"


def _check_sizes(values, **sizes):
    for name, size in sizes.items():
        check_whole(name, size, 1, *(("chains", 4) if name == "chains" else ("draws", 1000)))
    total = sizes["draws"] * sizes["chains"] * values.size
    if total > _LARGEST:
        raise fail(
            f"A variable of the tree would need {8 * total / 1e9:.3g} GB of memory, more "
            f"than {8 * _LARGEST / 1e9:.3g} GB",
            ...,
            "",
            "take fewer draws, or use interval(), which needs no tree",
        )


def _draw(posterior, model, chains, draws, seed):
    """Return direct draws of the model's free variables as a group."""
    started = time.perf_counter()
    drawn = posterior.variables(chains * draws, np.random.default_rng(seed))
    attrs = {**tree.ORIGIN, "sampling_time": time.perf_counter() - started}
    free = {}
    for name in (variable.name for variable in model.free_RVs):
        # Use the model's dimensions if all have labels, because direct posteriors concatenate the
        # folds of all repeats along one dimension.
        dims = model.named_vars_to_dims.get(name, ())
        named = dims and all(model.coords.get(dim) is not None for dim in dims)
        shape = [len(model.coords[dim]) for dim in dims] if named else drawn[name].shape[1:]
        free[name] = drawn[name].reshape(chains, draws, *shape)
    return {"posterior": tree.labelled(model, free, attrs)}


def _check_samplable(model, *, whole_counts):
    if not whole_counts:
        todo = "count whole examples, or use a conjugate model and prior"
        raise fail("NUTS cannot use fractional counts", ..., "", todo)
    weights = [
        variable for variable in model.data_vars if str(variable.name).endswith("concentration")
    ]
    least = min((float(variable.get_value().min()) for variable in weights), default=1.0)
    if least < _SMALLEST:
        raise fail(
            f"NUTS is not reliable for a concentration of {{}}, below {_SMALLEST}",
            least,
            "",
            "leave `method` out to get direct draws, or raise the concentration",
        )


def _sample(model, sizes, seed, options):
    """Return the groups from NUTS: the free variables and the statistics of the sampler."""
    started = time.perf_counter()
    number = int(seed.generate_state(1)[0])
    further = options.get("idata_kwargs") or {}
    unconstrained = bool(further.get("include_transformed"))
    options = {name: value for name, value in options.items() if name != "idata_kwargs"}
    sampled = sampling.nuts(
        model, **sizes, seed=number, options=options, unconstrained=unconstrained
    )
    spent = {"tuning_steps": sizes["tune"], "sampling_time": time.perf_counter() - started}
    names = [variable.name for variable in model.free_RVs]
    groups = {name: sampled[name].to_dataset() for name in sampled.children}
    groups["posterior"] = groups["posterior"][names].assign_attrs(sampled.attrs | spent)
    return groups


def _described(model, keywords, built=None):
    """Return the model and its keywords as attributes that any file format supports."""
    plain = {name: _plain(name, value, built) for name, value in keywords.items()}
    described = json.dumps(plain, default=repr)
    return {"model": models_by_name.name_of(model), "model_keywords": described}


def _plain(name, value, built):
    """Return a keyword in a form that JSON supports: numbers, or a prior in words."""
    if isinstance(value, partial):
        words = [repr(argument) for argument in value.args]
        words += [f"{key}={argument!r}" for key, argument in value.keywords.items()]
        return f"{getattr(value.func, '__qualname__', value.func)}({', '.join(words)})"
    if callable(value):
        free = {} if built is None else {variable.name: variable for variable in built.free_RVs}
        if name in free:  # in PyMC's notation: "spread ~ HalfNormal(0, 0.3)"
            return free[name].str_repr(formatting="plain").partition(" ~ ")[2]
        return getattr(value, "__qualname__", type(value).__name__)
    value = value.values if isinstance(value, xr.DataArray) else value
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value


def _versions(*libraries):
    """Return the versions of bayescm and other libraries as JSON."""
    return json.dumps({name: version(name) for name in ("bayescm", *dict.fromkeys(libraries))})


def _number_of(seed):
    """Return a seed as a number that can be stored; for None, the number is random."""
    if seed is None or isinstance(seed, np.random.SeedSequence):
        return int((seed or np.random.SeedSequence()).generate_state(1)[0])
    return int(seed)
