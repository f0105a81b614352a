"""Options of the sampler, named as in `pymc.sample`."""

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from bayescm.validate import check_choice, check_whole, fail

# Samplers of `pymc.sample`. All except PyMC's own sampler are provided by packages of the same
# name.
SAMPLERS = ("nutpie", "pymc", "numpyro", "blackjax")
# Options of PyMC's own sampler only.
OF_PYMC = ("callback", "init", "jitter_max_retries", "mp_ctx", "n_init")
# Options that a compiled nutpie sampler accepts at run time. Others require a new compilation.
OF_EACH_RUN = ("chains", "cores", "max_treedepth", "nuts", "progressbar", "target_accept", "tune")
# `draws` and `random_seed` are not listed, because they are arguments of every function.
OPTIONS = (
    *OF_EACH_RUN,
    *OF_PYMC,
    "backend",
    "blas_cores",
    "compile_kwargs",
    "idata_kwargs",
    "initvals",
    "nuts_sampler",
)
_OF_THE_TREE = ["include_transformed"]


def split(keywords: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Split keywords into keywords of the model and options of the sampler."""
    of_model = {name: value for name, value in keywords.items() if name not in OPTIONS}
    options = {name: value for name, value in keywords.items() if name in OPTIONS}
    return of_model, options


def check_options(options: Mapping[str, Any]) -> None:
    """Raise an error if an option of the sampler is invalid or has no effect."""
    sampler = options.get("nuts_sampler", "pymc")
    check_choice("nuts_sampler", sampler, list(SAMPLERS))
    for name in ("tune", "chains", "cores", "max_treedepth"):
        if name in options:
            check_whole(name, options[name], 1, *_USUAL[name])
    accept = options.get("target_accept", 0.9)
    if not (isinstance(accept, float | np.floating) and 0 < accept < 1):
        todo = "pass a number, e.g. `target_accept=0.95`"
        raise fail("`target_accept` must be a number between 0 and 1", accept, "", todo)
    unused = [name for name in OF_PYMC if name in options]
    if unused and sampler != "pymc":
        todo = f"leave `{unused[0]}` out, or pass `nuts_sampler='pymc'`"
        raise fail(f"{sampler} does not have the option {{}}", unused[0], "", todo)
    further = [name for name in options.get("idata_kwargs") or {} if name not in _OF_THE_TREE]
    if further:
        raise fail(
            "{} has no effect in `idata_kwargs`",
            further[0],
            _OF_THE_TREE,
            "leave it out: the tree already has log likelihoods, coordinates and dimensions",
        )


def refuse_options(options: Mapping[str, Any], why: str) -> None:
    """Raise an error if options of the sampler are given, because nothing is sampled."""
    # ``progressbar=False`` is harmless without sampling.
    named = [name for name, value in options.items() if name != "progressbar" or value]
    if named:
        listed = " and ".join(f"`{name}`" for name in named)
        what = f"{listed} {'has' if len(named) == 1 else 'have'} no effect: {why}"
        todo = [f"leave {listed} out", "sample it: fit(evidence, `method='nuts'`, ...)"]
        raise fail(what, ..., "", todo, TypeError)


def refuse_shared_names(model: Callable, options: Mapping[str, Any]) -> None:
    """Raise an error if a keyword of a model has the name of a sampler option."""
    shared = [name for name in options if name in inspect.signature(model).parameters]
    if shared:
        raise fail(
            "The model and the sampler both have the keyword {}",
            shared[0],
            "",
            "rename the keyword of the model",
            TypeError,
        )


_USUAL = {
    "tune": ("draws", 1000),
    "chains": ("chains", 4),
    "cores": ("cores", 2),
    "max_treedepth": ("steps", 12),
}
