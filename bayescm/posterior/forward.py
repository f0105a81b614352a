"""Draws forward from a model: what its posterior predicts; its prior, and what that predicts."""

import logging
from contextlib import suppress
from typing import Any

import numpy as np
import xarray as xr

# Up to this many numbers all draws are made at once, by numpy; of more, one after the other.
_FEW = 5e6
# Compiled code casts what numpy refuses with a TypeError, such as a float as a total.
_IN_TURN = (TypeError, NotImplementedError)


def predictive(model, posterior: xr.Dataset, seed: int) -> dict[str, xr.Dataset]:
    """Return draws of new counts, and the data the model was given."""
    import pymc as pm

    free = {variable: posterior[variable.name].values for variable in model.free_RVs}
    tree = None
    numbers = sum(each.size for each in posterior.values())
    if numbers < _FEW:
        with suppress(*_IN_TURN):
            named = _at_once(model, model.observed_RVs, free, (), seed)
            tree = pm.to_inference_data(posterior_predictive=named, model=model)
    if tree is None:
        tree = _in_turn(
            pm.sample_posterior_predictive,
            numbers,
            trace=xr.DataTree.from_dict({"posterior": posterior}),
            model=model,
            freeze_vars=[variable.name for variable in model.free_RVs],
            random_seed=seed,
            progressbar=False,
        )
    return {name: group.to_dataset() for name, group in tree.children.items()}


def prior(model, draws: int, numbers: int, seed: int) -> dict[str, xr.Dataset]:
    """Return draws of the prior and of the counts it predicts; `numbers` says how many numbers."""
    import pymc as pm

    tree = None
    if numbers < _FEW:
        with suppress(*_IN_TURN):
            named = _at_once(model, model.basic_RVs, {}, (draws,), seed)
            tree = pm.to_inference_data(prior=named, model=model)
    if tree is None:
        asked = {"draws": draws, "model": model, "random_seed": seed}
        tree = _in_turn(pm.sample_prior_predictive, numbers, **asked)
    return {name: tree[name].to_dataset() for name in ("prior", "prior_predictive")}


def _at_once(model, variables, given, lead, seed):
    """
    Return draws of variables, and of what depends on them, by name.

    Parameters
    ----------
    variables : list
        In an order in which none depends on a later one.
    given : mapping of variable to ndarray, shape (*lead, ...)
        The draws of others.
    lead : tuple of int
        The shape of the draws, where none is given.
    """
    from pytensor.graph.replace import vectorize_graph
    from pytensor.graph.traversal import ancestors

    inputs = _inputs(given)
    at: dict = dict(inputs)
    first = next(iter(given.values()), None)
    lead = lead if first is None else first.shape[:2]
    for variable in variables:
        at[variable] = _repeated(variable, at, lead)
    after = [each for each in model.deterministics if set(ancestors([each])) & set(variables)]
    batched = [*(at[each] for each in variables), *vectorize_graph(after, replace=at)]
    values = _run(list(inputs.values()), batched, seed)(*given.values())
    return {each.name: value for each, value in zip([*variables, *after], values, strict=True)}


def _repeated(variable, at, lead):
    """Return a random variable drawn once for each of the draws of those that it depends on."""
    import pytensor.tensor as pt
    from pymc.distributions.shape_utils import change_dist_size
    from pytensor.graph.replace import vectorize_graph
    from pytensor.graph.traversal import ancestors
    from pytensor.tensor.random.op import RandomVariable

    node = variable.owner
    if not set(ancestors([variable])) & set(at):
        return change_dist_size(variable, lead, expand=True)
    if not isinstance(node.op, RandomVariable):  # made of several, which would not be independent
        raise NotImplementedError
    batch = variable.ndim - node.op.ndim_supp
    padded = [
        pt.shape_padleft(each, batch - (each.type.ndim - core))
        for each, core in zip(node.op.dist_params(node), node.op.ndims_params, strict=True)
    ]
    shape = pt.concatenate([pt.constant(np.array(lead)), variable.shape[:batch]])
    return node.op.make_node(node.inputs[0], shape, *vectorize_graph(padded, replace=at)).outputs[1]


def _in_turn(sample, numbers, **keywords):
    """Sample forward by one of PyMC's functions, one draw after the other, without its log."""
    logger = logging.getLogger("pymc")
    level = logger.level
    logger.setLevel(logging.WARNING)
    try:
        if numbers < _FEW:
            with suppress(TypeError):
                return sample(**keywords, compile_kwargs={"mode": _interpreted()})
        return sample(**keywords)
    finally:
        logger.setLevel(level)


def evaluate(outputs, at: dict[Any, np.ndarray]) -> list[np.ndarray]:
    """Evaluate expressions at all draws in one call, each ``(chain, draw, ...)``."""
    from pytensor.graph.replace import vectorize_graph

    if not outputs:
        return []
    inputs = _inputs(at)
    batched = vectorize_graph(outputs, replace=inputs)
    values = _run(list(inputs.values()), batched)(*at.values())
    lead = next(iter(at.values())).shape[:2]
    return [
        # What depends on no free variable comes back without the axes of the draws.
        value if new is not old else np.broadcast_to(value, (*lead, *value.shape))
        for value, new, old in zip(values, batched, outputs, strict=True)
    ]


def _inputs(at):
    import pytensor.tensor as pt

    return {
        variable: pt.tensor(variable.name, dtype=variable.dtype, shape=(None,) * draws.ndim)
        for variable, draws in at.items()
    }


def _run(inputs, outputs, seed=None):
    import pytensor
    from pymc.pytensorf import find_rng_nodes, reseed_rngs

    if seed is not None:
        reseed_rngs(find_rng_nodes(outputs), seed)
    return pytensor.function(inputs, outputs, mode=_interpreted(), on_unused_input="ignore")


def _interpreted():
    """Return PyTensor's mode for tiny graphs: interpreted, which spares seconds of compilation."""
    from pytensor.compile.mode import Mode

    return Mode("py", None)  # type: ignore[arg-type]
