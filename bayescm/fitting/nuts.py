"""NUTS with nutpie, whose compiled samplers are cached and reused for new data."""

import inspect
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from bayescm.fitting import compiled
from bayescm.fitting.recent import Recent
from bayescm.fitting.sampler_options import OF_EACH_RUN, OF_PYMC
from bayescm.validate import fail, suggest

# Target acceptance rate. It is higher than nutpie's default of 0.8, with which 1 in 300 draws of
# hierarchical models diverged.
_ACCEPT = 0.95
# Cache of compiled samplers, because compiling takes seconds and sampling only tenths of a second.
_samplers: Recent[compiled.Computation, Any] = Recent(compiled.same)
# Attribute that records convergence problems, on a tree and on its posterior group.
NOT_CONVERGED = "not_converged"
_PACKAGE = str(Path(__file__).parents[1])


def nuts(
    model,
    *,
    draws: int,
    tune: int,
    chains: int,
    seed: int,
    options: Mapping[str, Any] | None = None,
    unconstrained: bool = False,
) -> xr.DataTree:
    """
    Sample a PyMC model by NUTS, and warn if draws diverge or chains disagree.

    Parameters
    ----------
    model : pymc.Model
        Model with continuous variables only. If it differs from an earlier one only in the values
        of ``pm.Data``, nothing is compiled.
    draws, tune, chains : int
        Number of draws kept and number of tuning draws, per chain, and number of chains.
    seed : int
        Seed, >= 0.
    options : mapping of str to object, optional
        Further options of `pymc.sample`. By default nutpie is used, and its progress is shown in
        terminals and notebooks.
    unconstrained : bool, default False
        Whether to return the draws on the unconstrained scale as well.

    Returns
    -------
    xarray.DataTree
        Groups ``posterior`` and ``sample_stats``, and ``unconstrained_posterior`` if requested. The
        posterior contains the free variables. Samplers of PyMC add the deterministic ones.
    """
    if model.discrete_value_vars:
        raise fail(
            "NUTS cannot sample the discrete variables {}",
            [variable.name for variable in model.discrete_value_vars],
            "",
            "marginalise these out, or sample the model with pm.sample",
        )
    asked = {"target_accept": _ACCEPT, "progressbar": watched(), **(options or {})}
    asked |= {"draws": draws, "tune": tune, "chains": chains}
    # Compiled samplers of nutpie are cached, whereas PyMC compiles every time.
    kept = asked.get("nuts_sampler", "nutpie") == "nutpie"
    kept = kept and {*asked} <= {*OF_EACH_RUN, "draws", "nuts_sampler"}
    try:
        tree = (_by_nutpie if kept else _by_pymc)(model, asked, seed, unconstrained)
    except (AttributeError, TypeError) as problem:
        if not asked.get("nuts"):
            raise
        todo = "pass options of the steps, e.g. `nuts={'max_treedepth': 12}`"
        raise fail("An option in `nuts` is invalid: {}", problem, "", todo) from problem
    # Remove objects (None or strings) that netCDF and comparisons do not support.
    stats = tree["sample_stats"].to_dataset().drop_vars("divergence_message", errors="ignore")
    tree["sample_stats"] = xr.DataTree(stats)
    if troubles := troubles_of(tree, [variable.name for variable in model.free_RVs]):
        tree.attrs[NOT_CONVERGED] = troubles
        warnings.warn(
            f"The sampler may have missed part of the posterior: {troubles}. The intervals "
            "may be wrong. Take more draws and a longer warm-up (draws=, tune=), or use a "
            "more informative prior. plot_diagnostics shows the chains.",
            UserWarning,
            skip_file_prefixes=(_PACKAGE,),  # point to the user's line of code
        )
    return tree


def _by_nutpie(model, asked, seed, unconstrained):
    """Sample with nutpie, using a cached sampler if there is one."""
    import nutpie

    sizes = {name: asked[name] for name in ("draws", "tune", "chains", "cores") if name in asked}
    shown = {"save_warmup": False, "progress_bar": bool(asked["progressbar"])}
    options = {**sizes, **shown, **_of_nuts(asked, "nutpie"), "store_unconstrained": unconstrained}
    tree = nutpie.sample(_sampler(model), seed=seed, **options)
    groups = {name: tree[name].to_dataset() for name in tree.children if "warmup" not in name}
    return xr.DataTree.from_dict({"/": xr.Dataset(attrs=_origin("nutpie")), **groups})


def _by_pymc(model, asked, seed, unconstrained):
    """Sample with `pymc.sample`, whose samplers return trees of the same form."""
    import pymc as pm

    sampler = asked.get("nuts_sampler") or ("pymc" if {*asked} & {*OF_PYMC} else "nutpie")
    options = {name: value for name, value in asked.items() if name not in _OF_NUTS}
    options |= {"nuts_sampler": sampler, "nuts": _of_nuts(asked, sampler)}
    if unconstrained:
        options["idata_kwargs"] = {"include_transformed": True}
    quiet = {"quiet": not asked["progressbar"], "compute_convergence_checks": False}
    try:
        tree = pm.sample(**options, model=model, random_seed=seed, **quiet)
    except ImportError:
        todo = f"install {sampler}, or leave `nuts_sampler` out"
        raise fail("The sampler {} is not installed", sampler, "", todo) from None
    names = ["posterior", "sample_stats", "unconstrained_posterior"]
    found = {name: tree[name].to_dataset() for name in names if name in tree.children}
    # PyMC's own sampler returns all variables in one group.
    drawn = found["posterior"]
    values = {variable.name for variable in model.value_vars}
    transformed = [name for name in drawn.data_vars if name in values and name not in model]
    if transformed:
        found["unconstrained_posterior"] = drawn[transformed]
        found["posterior"] = drawn.drop_vars(transformed)
    return xr.DataTree.from_dict({"/": xr.Dataset(attrs=_origin(sampler)), **found})


def _origin(sampler):
    """Return ArviZ's attributes for the name and version of the sampling library."""
    return {"inference_library": sampler, "inference_library_version": version(sampler)}


# Options of NUTS steps, and the samplers' names for the maximum tree depth.
_OF_NUTS = ("max_treedepth", "nuts", "target_accept")
_DEPTH = {
    "nutpie": "maxdepth",
    "pymc": "max_treedepth",
    "numpyro": "max_tree_depth",
    "blackjax": "max_num_doublings",
}


def _of_nuts(asked, sampler):
    """Return the options of NUTS steps under the names of the given sampler."""
    steps = {name: asked[name] for name in ("max_treedepth", "target_accept") if name in asked}
    steps |= asked.get("nuts") or {}
    if sampler == "pymc":
        _check_steps_of_pymc(steps)
    return {_DEPTH[sampler] if name == "max_treedepth" else name: v for name, v in steps.items()}


def _check_steps_of_pymc(steps):
    """Raise an error for options that PyMC's NUTS does not know, since PyMC would ignore them."""
    from pymc import NUTS

    functions = [cls.__init__ for cls in NUTS.__mro__ if "__init__" in vars(cls)]
    known = {name for function in functions for name in inspect.signature(function).parameters}
    known -= {"self", "args", "kwargs", "vars", "model", "initial_point", "compile_kwargs", "rng"}
    unknown = [name for name in steps if name not in known]
    if unknown:
        todo = suggest(unknown[0], known) or "leave it out"
        raise fail("NUTS of PyMC has no option {}", unknown[0], sorted(known), todo)


def watched() -> bool:
    """Check whether output to stderr is visible, in a terminal or notebook."""
    from rich.console import Console

    return Console(stderr=True).is_jupyter or sys.stderr.isatty()


def _sampler(model):
    """Return a compiled sampler with the data of the model."""
    import nutpie

    new = computation_of(model)
    sampler = _samplers.find(new)
    if sampler is None:
        # The callers compute the deterministic variables of all draws at once, without numba.
        free = [variable.name for variable in model.free_RVs]
        with _unoptimised():
            sampler = nutpie.compile_pymc_model(model, var_names=free)
        _samplers.keep(new, sampler)
    shared = {variable.name for variable in sampler.shared_var_keys}
    return sampler.with_data(
        **{
            variable.name: variable.get_value()
            for variable in model.data_vars
            if variable.name in shared
        }
    )


@contextmanager
def _unoptimised() -> Iterator[None]:
    """
    Disable LLVM's optimisation passes in numba, which take half of the compilation time.

    Sampling is then up to a fifth slower, but still takes much less time than compilation.
    """
    import numba.core.config

    config: Any = numba.core.config  # attributes are set at run time
    usual = config.OPT
    config.OPT = type(usual)(0)
    try:
        yield
    finally:
        config.OPT = usual


def computation_of(model) -> compiled.Computation:
    """Return the computation of a compiled sampler."""
    from pytensor.graph.basic import clone

    graph = [model.logp()]
    computation = compiled.computation(model, graph, [*model.value_vars, *model.free_RVs])
    # Clone the graph, because compilation rewrites in place the part that depends on data only.
    _, graph = clone(computation.inputs, computation.graph, copy_inputs=False)
    return computation._replace(graph=graph)


def troubles_of(tree: xr.DataTree, free: list[str]) -> str:
    """Return a description of divergences and disagreement between chains, or an empty string."""
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
