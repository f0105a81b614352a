"""NUTS by nutpie, with samplers that are compiled once and used again on new data."""

import sys
import warnings
from importlib.metadata import version
from pathlib import Path

import numpy as np
import xarray as xr

from bayescm.fitting import compiled
from bayescm.validate import fail

# The samplers of `pymc.sample`; each but PyMC's own is a package by its name.
SAMPLERS = ("nutpie", "pymc", "numpyro", "blackjax")

# The last few compiled samplers: (what each works out, the sampler), the latest last. Compiling
# takes seconds, sampling tenths of a second.
_CACHE_SIZE = 8
# Short steps: with nutpie's 0.8 one draw in 300 of the hierarchical models diverges.
_ACCEPT = 0.95
_compiled: list[tuple] = []
# The attribute of a tree, and of its group posterior, that says what the chains show.
NOT_CONVERGED = "not_converged"
_PACKAGE = str(Path(__file__).parents[1])


def nuts(
    model,
    *,
    draws: int,
    tune: int,
    chains: int,
    seed: int,
    progressbar: bool | None = None,
    sampler: str = "nutpie",
    unconstrained: bool = False,
) -> xr.DataTree:
    """
    Sample a PyMC model by NUTS. Warns where the chains diverge or disagree.

    Parameters
    ----------
    model : pymc.Model
        Continuous variables only. What differs from an earlier call only in the values of its
        ``pm.Data`` is not compiled again.
    draws, tune, chains : int
        Draws kept and draws to adapt, each per chain; number of chains.
    seed : int
        Seed, >= 0.
    progressbar : bool, optional
        Whether to show the sampler's progress; by default in terminals and notebooks.
    sampler : str, default "nutpie"
        One of `SAMPLERS`.
    unconstrained : bool, default False
        Whether to return the draws on the unconstrained scale as well. By nutpie only.

    Returns
    -------
    xarray.DataTree
        Groups ``posterior`` and ``sample_stats``, and ``unconstrained_posterior`` if requested.
    """
    if model.discrete_value_vars:
        raise fail(
            "NUTS cannot sample discrete variables",
            [variable.name for variable in model.discrete_value_vars],
            "continuous free variables",
            "marginalise these out, or sample the model with pm.sample",
        )
    shown = watched() if progressbar is None else bool(progressbar)
    sizes = {"draws": draws, "tune": tune, "chains": chains, "target_accept": _ACCEPT}
    if sampler == "nutpie":
        tree = _by_nutpie(model, sizes, seed, shown, unconstrained)
    else:
        tree = _by_pymc(model, sizes, seed, shown, sampler)
    # Objects (None or a text) that neither netCDF nor a comparison can take.
    stats = tree["sample_stats"].to_dataset().drop_vars("divergence_message", errors="ignore")
    tree["sample_stats"] = xr.DataTree(stats)
    if troubles := troubles_of(tree, [variable.name for variable in model.free_RVs]):
        tree.attrs[NOT_CONVERGED] = troubles
        warnings.warn(
            f"The sampler may have missed part of the posterior: {troubles}. Do not trust the "
            "intervals yet: take more draws and tune for longer (draws=, tune=), or use a more "
            "informative prior. plot_diagnostics shows the chains.",
            UserWarning,
            skip_file_prefixes=(_PACKAGE,),  # the line of the caller, however deep this is called
        )
    return tree


def origin(sampler: str) -> dict[str, str]:
    """Return the attributes that ArviZ's trees have for the library that sampled."""
    return {"inference_library": sampler, "inference_library_version": version(sampler)}


def _by_nutpie(model, sizes, seed, shown, unconstrained):
    import nutpie

    options = {"save_warmup": False, "progress_bar": shown, "store_unconstrained": unconstrained}
    return nutpie.sample(_sampler(model), **sizes, seed=seed, **options)


def _by_pymc(model, sizes, seed, shown, sampler):
    """Sample with one of the samplers that PyMC knows, all of which give the same tree."""
    import pymc as pm

    quiet = {"progressbar": shown, "quiet": True, "compute_convergence_checks": False}
    try:
        tree = pm.sample(**sizes, model=model, nuts_sampler=sampler, random_seed=seed, **quiet)
    except ImportError:
        todo = f"install {sampler}, or leave `nuts_sampler` out"
        raise fail("the sampler is not installed", sampler, "an installed one", todo) from None
    return xr.DataTree.from_dict(
        {name: tree[name].to_dataset() for name in ("posterior", "sample_stats")}
    )


def watched() -> bool:
    """Say whether somebody sees what is written to stderr: in a terminal or in a notebook."""
    from rich.console import Console

    return Console(stderr=True).is_jupyter or sys.stderr.isatty()


def _sampler(model):
    """Return a compiled sampler that holds the data of the model."""
    import nutpie

    new = computation_of(model)
    cached = [entry for entry in _compiled if compiled.same(entry[0], new)]
    if cached:
        _compiled.remove(cached[0])
        sampler = cached[0][1]
    else:
        sampler = nutpie.compile_pymc_model(model)
    _compiled.append((new, sampler))
    del _compiled[:-_CACHE_SIZE]
    shared = {variable.name for variable in sampler.shared_var_keys}
    return sampler.with_data(
        **{
            variable.name: variable.get_value()
            for variable in model.data_vars
            if variable.name in shared
        }
    )


def computation_of(model) -> compiled.Computation:
    """Return what a compiled sampler works out."""
    from pytensor.graph.basic import clone

    graph = [model.logp(), *model.deterministics]
    computation = compiled.computation(model, graph, [*model.value_vars, *model.free_RVs])
    # Compiling rewrites in place what depends on the data alone, which every log density shares.
    _, graph = clone(computation.inputs, computation.graph, copy_inputs=False)
    return computation._replace(graph=graph)


def troubles_of(tree: xr.DataTree, free: list[str]) -> str:
    """Say in plain words how many draws diverged and how far the chains disagree, or nothing."""
    from arviz_stats import rhat

    divergent = int(tree["sample_stats"]["diverging"].sum())
    draws = tree["posterior"].to_dataset()[free]
    disagreement = rhat(draws) if draws.sizes["chain"] > 1 else {}
    worst = max((float(np.nanmax(values)) for values in disagreement.values()), default=0.0)
    troubles = []
    if divergent:
        troubles.append(f"{divergent} of {tree['sample_stats']['diverging'].size} draws diverged")
    if worst > 1.01:
        troubles.append(f"the chains disagree (r-hat {worst:.3f}, should be below 1.01)")
    return " and ".join(troubles)
