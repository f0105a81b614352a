"""The posterior as an ArviZ tree: direct draws if the model has them, NUTS otherwise."""

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
from bayescm.measures.labelled import of_variable
from bayescm.validate import check_choice, check_seed, check_whole, fail

# Numbers in one variable of a tree: 1.6 GB.
_LARGEST = 2e8
# Draws of each chain with which NUTS adapts.
_TUNE = 1000
_NO_MODEL = "there is no PyMC model of this evidence, and so no likelihood"
# Down to this concentration in an empty cell NUTS gave the right quantiles; at 0.01 it did not.
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

    The tree has the same groups, dims and coordinates whether its draws are direct or from NUTS,
    and works with PyMC's and ArviZ's own functions.

    Parameters
    ----------
    evidence : DataArray or Dataset
        Counts, dims ``(..., actual, predicted)``, or another kind of evidence that `model` takes.
        Leading dims are separate matrices or, in a model of folds or groups, what belongs together.
    model : str or callable, optional
        Name of a model in ``bayescm.models``, or a function ``f(counts, **keywords)`` that returns
        a ``pymc.Model``. By default the model that fits the evidence.
    method : {"auto", "direct", "nuts"}, default "auto"
        Direct, independent draws, or NUTS; "auto" uses direct draws if there are any.
    direct : callable, optional
        The direct posterior of a model of your own: a function of the same evidence and keywords
        that returns a `bayescm.posteriors.base.Posterior`.
    concentration : float, array_like, DataArray or callable, optional
        The prior, of a model that has this keyword; see `bayescm.interval`.
    positive : label, optional
        The positive class, where the evidence does not know it or another one is meant.
    draws, chains : int
        Posterior draws of each chain, and the number of chains.
    tune : int, optional
        Tuning draws of each chain, with which NUTS adapts. Default: 1000.
    random_seed : int, default 0
        Seed; the same seed gives the same tree.
    progressbar : bool, optional
        Whether NUTS shows its progress; by default in terminals and notebooks.
    nuts_sampler : {"nutpie", "pymc", "numpyro", "blackjax"}, optional
        Library that samples by NUTS, as in `pymc.sample`. By default it is nutpie, or PyMC if an
        option such as ``init`` is requested. The last two are packages to install.
    **keywords
        Further keywords of the model. A function from a name to a PyMC
        variable is a prior from another family: ``prevalence=lambda name: pm.Beta(name, 2, 8)``.
        The following options of `pymc.sample` are passed to the sampler: ``backend``,
        ``blas_cores``, ``callback``, ``compile_kwargs``, ``cores``, ``idata_kwargs``, ``init``,
        ``initvals``, ``jitter_max_retries``, ``max_treedepth``, ``mp_ctx``, ``n_init``, ``nuts``
        and ``target_accept`` (default 0.95).

    Returns
    -------
    xarray.DataTree
        Groups ``posterior``, ``posterior_predictive``, ``log_likelihood``, ``log_prior``,
        ``prior``, ``prior_predictive``, ``observed_data``, ``constant_data``, and from NUTS
        ``sample_stats``. The attributes of the root and of ``posterior`` name the model, its
        keywords, the ``sampling_method`` ("conjugate", "quadrature", "importance", "gibbs" or
        "nuts") with its reason, the seed, the ``versions`` of the libraries, and the estimands. A
        prior that is a function is named in words, as "Gamma(alpha=2, beta=4)". An improper prior
        (concentration 0) has no groups of the prior, fractional counts have none of the
        likelihood. The attribute
        ``log_likelihood_effects`` of the root says whether the log likelihood of a group is
        conditional on its effects or has them "integrated out", as with ``hierarchical_groups``. A
        discounted likelihood (``omega`` below 1) has none, as the attribute
        ``why_no_log_likelihood`` says. If the direct posterior knows it, the attribute
        ``log_marginal_likelihood`` of the root is a number, or a list over the flat batch
        (`evidence_for` compares models by it). If chains of NUTS disagree or draws diverged, the
        attribute ``not_converged`` of ``posterior`` says so, and every answer of the tree has it
        among its cautions.

    Raises
    ------
    ValueError
        If the evidence is not a table of counts, or the model is unknown or has no direct draws.
    TypeError
        If the model does not take one of the keywords, or options of the sampler are passed and the
        draws are direct.

    Warns
    -----
    UserWarning
        If NUTS diverged or its chains disagree; if the examples come in groups or have importance
        weights and the model does not know of them.

    See Also
    --------
    bayescm.interval : Intervals of many matrices, without a tree.
    bayescm.priors.evidence_for : Models of the same evidence compared.

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
        todo = "pass the evidence that it is of"
        raise fail("this is a fit already", evidence.attrs.get("model", ...), "evidence", todo)
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
    # Models do not validate: the direct posterior checks the keywords, however it is sampled.
    posterior = models_by_name.direct_posterior(function, evidence, keywords, direct)
    seed = _number_of(check_seed(random_seed))
    if posterior is not None and not posterior.has_model:
        if method == "nuts":
            todo = "leave `method` out: the direct posterior needs no PyMC model"
            what = f"{models_by_name.name_of(function)} has no PyMC model of this evidence"
            raise fail(what, dict(canonical.sizes), "`method='auto'` or 'direct'", todo)
        why = f"{models_by_name.name_of(function)} has direct draws, and nothing is sampled"
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
        sampler_options.refuse_options(options, f"{name} has direct draws, and nothing is sampled")
    with _untraced(model):
        built = function(canonical, **aligned)
    _check_model(built, posterior, has_cells=entry.has_cells)
    attrs = _described(function, aligned, built) | _estimands(built, posterior, values)
    used = posterior.sampling_method if directly and posterior else "nuts"
    attrs |= {"sampling_method": used, "sampling_reason": why}
    if "effective" in getattr(canonical, "coords", ()):  # of which the tree has the sums alone
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


def _tree_of_measures(posterior, entry, evidence, shape, attrs):
    """
    Return a tree of the usual measures, for evidence without a PyMC model.

    The tree holds the evidence, from which other measures are drawn.
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
    """Leave out where the nodes of our own models were made, which takes a tenth of the time."""
    from pytensor import config

    return nullcontext() if callable(model) else config.change_flags(traceback__limit=0)


def _check_model(model, posterior, *, has_cells):
    """Raise where a function gave no model, or one without the cell probabilities."""
    from pymc import Model

    if not isinstance(model, Model):
        todo = "return the model at the end of the function"
        raise fail("the function returned no model", model, "a pymc.Model", todo, TypeError)
    names = [variable.name for variable in (*model.free_RVs, *model.deterministics)]
    if posterior is None and has_cells and not {"theta", "theta_new", "theta_fold"} & set(names):
        todo = 'add pm.Deterministic("theta", ..., `dims=("actual", "predicted")`)'
        allowed = "a variable theta with dims (actual, predicted)"
        raise fail("the model has no cell probabilities", names, allowed, todo)


def _estimands(model, posterior, values):
    """Return what a tree can be asked: its estimands, their variables and their dims."""
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
    """Return the log marginal likelihood as an attribute, where there is one."""
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
    """Say whether to draw directly, and why."""
    if method == "direct" and obstacle:
        todo = "leave `method` out, or pass `method='nuts'`"
        allowed = "a model and prior with a direct posterior"
        raise fail(f"no direct draws: {obstacle}", ..., allowed, todo)
    if method == "nuts":
        return False, "asked for"
    return not obstacle, obstacle or "the model has a direct posterior"


def _check_sizes(values, **sizes):
    for name, size in sizes.items():
        check_whole(name, size, 1, *(("chains", 4) if name == "chains" else ("draws", 1000)))
    total = sizes["draws"] * sizes["chains"] * values.size
    if total > _LARGEST:
        raise fail(
            "the tree would not fit into memory",
            f"{8 * total / 1e9:.3g} GB for a variable",
            f"at most {8 * _LARGEST / 1e9:.3g} GB",
            "take fewer draws, or use interval(), which needs no tree",
        )


def _draw(posterior, model, chains, draws, seed):
    """Return the group of direct draws of the model's free variables."""
    started = time.perf_counter()
    drawn = posterior.variables(chains * draws, np.random.default_rng(seed))
    attrs = {**tree.ORIGIN, "sampling_time": time.perf_counter() - started}
    free = {}
    for name in (variable.name for variable in model.free_RVs):
        # By the model's dims, if it names them all: direct posteriors have the folds of all repeats
        # in one row.
        dims = model.named_vars_to_dims.get(name, ())
        named = dims and all(model.coords.get(dim) is not None for dim in dims)
        shape = [len(model.coords[dim]) for dim in dims] if named else drawn[name].shape[1:]
        free[name] = drawn[name].reshape(chains, draws, *shape)
    return {"posterior": tree.labelled(model, free, attrs)}


def _check_samplable(model, *, whole_counts):
    if not whole_counts:
        todo = "count whole examples, or use a conjugate model and prior"
        raise fail("NUTS cannot take fractional counts", ..., "whole numbers", todo)
    weights = [
        variable for variable in model.data_vars if str(variable.name).endswith("concentration")
    ]
    least = min((float(variable.get_value().min()) for variable in weights), default=1.0)
    if least < _SMALLEST:
        raise fail(
            "NUTS is not reliable for a concentration this small",
            least,
            f">= {_SMALLEST}",
            "leave `method` out (direct draws take any), or raise the concentration",
        )


def _sample(model, sizes, seed, options):
    """Return the groups that NUTS gives: the free variables, and the sampler's statistics."""
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
    """Return the model and its keywords as attributes that any file format takes."""
    plain = {name: _plain(name, value, built) for name, value in keywords.items()}
    described = json.dumps(plain, default=repr)
    return {"model": models_by_name.name_of(model), "model_keywords": described}


def _plain(name, value, built):
    """Return a keyword as JSON takes it: numbers as they are, a prior in words."""
    if isinstance(value, partial):
        words = [repr(argument) for argument in value.args]
        words += [f"{key}={argument!r}" for key, argument in value.keywords.items()]
        return f"{getattr(value.func, '__qualname__', value.func)}({', '.join(words)})"
    if callable(value):
        free = {} if built is None else {variable.name: variable for variable in built.free_RVs}
        if name in free:  # as PyMC writes it: "spread ~ HalfNormal(0, 0.3)"
            return free[name].str_repr(formatting="plain").partition(" ~ ")[2]
        return getattr(value, "__qualname__", type(value).__name__)
    value = value.values if isinstance(value, xr.DataArray) else value
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value


def _versions(*libraries):
    """Return the versions of bayescm and of libraries, as JSON."""
    return json.dumps({name: version(name) for name in ("bayescm", *dict.fromkeys(libraries))})


def _number_of(seed):
    """Return a seed as a number, which a file can store; None gives a new one each time."""
    if seed is None or isinstance(seed, np.random.SeedSequence):
        return int((seed or np.random.SeedSequence()).generate_state(1)[0])
    return int(seed)
