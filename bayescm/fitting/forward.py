"""Forward sampling: posterior predictive, prior and prior predictive draws of a model."""

import logging
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
import xarray as xr

from bayescm.fitting import compiled

# Largest number of values to sample at once in numpy. Larger results are sampled draw by draw.
_MOST_AT_ONCE = 5e6
# Compiled code casts some types, whereas numpy raises a TypeError.
_NOT_VECTORIZED = (TypeError, NotImplementedError)
# Distributions whose first parameter is a total. Model data are floats, which numpy does not accept
# as totals.
_OF_A_TOTAL = ("binomial", "beta_binomial", "multinomial")
_PRIOR, _DRAWS = ("prior", "prior_predictive"), ("chain", "draw")


def predictive(model, posterior: xr.Dataset, seed: int) -> dict[str, xr.Dataset]:
    """Return draws of new counts, and the data of the model."""
    import pymc as pm
    from pymc.backends.arviz import find_constants, find_observations

    free = {variable.name: posterior[variable.name].values for variable in model.free_RVs}
    lead = tuple(posterior.sizes[dim] for dim in _DRAWS)
    numbers = sum(variable.size for variable in posterior.values())
    if numbers < _MOST_AT_ONCE:
        with suppress(*_NOT_VECTORIZED):
            named = _vectorized(model, "predictive", _observed, free, lead, seed)
            data = {"observed_data": find_observations(model)}
            data |= {"constant_data": constants} if (constants := find_constants(model)) else {}
            drawn = {"posterior_predictive": labelled(model, named, _origin())}
            return drawn | {
                name: labelled(model, dataset, _origin(), ()) for name, dataset in data.items()
            }
    tree = _one_by_one(
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
    """Return draws from the prior and the prior predictive, with a total size of ``numbers``."""
    import pymc as pm

    if numbers < _MOST_AT_ONCE:
        with suppress(*_NOT_VECTORIZED):
            named = _vectorized(model, "prior", _basic, {}, (1, draws), seed)
            observed = {variable.name for variable in model.observed_RVs}
            by_group = [
                {k: v for k, v in named.items() if (k in observed) == out} for out in (False, True)
            ]
            groups = (labelled(model, part, _origin()) for part in by_group)
            return dict(zip(_PRIOR, groups, strict=True))
    tree = _one_by_one(
        pm.sample_prior_predictive, numbers, draws=draws, model=model, random_seed=seed
    )
    return {name: tree[name].to_dataset() for name in _PRIOR}


def _origin():
    import pymc as pm

    return {"inference_library": "pymc", "inference_library_version": pm.__version__}


def labelled(model, values, attrs, lead=_DRAWS) -> xr.Dataset:
    """Return named arrays (*lead, ...) as a dataset with the model's dimensions."""
    from arviz_base import make_attrs

    variables, coords = {}, dict[Any, Any]()
    for name, array in values.items():
        named = [*lead, *model.named_vars_to_dims.get(name, ()), *[None] * np.ndim(array)]
        dims = [dim or f"{name}_dim_{i - len(lead)}" for i, dim in enumerate(named)]
        variables[name] = (dims[: np.ndim(array)], array)
        for dim, size in zip(dims, np.shape(array), strict=False):
            labels = model.coords.get(dim)
            coords[dim] = np.arange(size) if labels is None else list(labels)
    return xr.Dataset(variables, coords, make_attrs(dict(attrs), sample_dims=[*lead]))


def _vectorized(model, task, variables_of, given_draws, lead, seed):
    """
    Return draws of variables, and of quantities that depend on them, by name.

    Parameters
    ----------
    task : str
        Name of the sampling task.
    variables_of : callable
        From a model to its variables, ordered such that none depends on a later one.
    given_draws : mapping of str to ndarray, shape (*lead, ...)
        Draws of the variables that are conditioned on.
    lead : tuple of int
        Shape of the draws.
    """
    from pytensor.graph.replace import vectorize_graph
    from pytensor.graph.traversal import ancestors

    def build(model):
        variables = variables_of(model)
        inputs = _inputs({model[name]: draws for name, draws in given_draws.items()})
        replaced: dict = dict(inputs)
        for variable in variables:
            replaced[variable] = _repeated(variable, replaced, lead)
        dependent = [
            variable
            for variable in model.deterministics
            if set(ancestors([variable])) & set(variables)
        ]
        batched = [replaced[variable] for variable in variables]
        batched += vectorize_graph(dependent, replace=replaced)
        names = [variable.name for variable in (*variables, *dependent)]
        return list(inputs.values()), batched, names

    values, names = compiled.run(model, (task, lead), build, list(given_draws.values()), seed)
    return dict(zip(names, values, strict=True))


def _repeated(variable, at, lead):
    """Return a random variable with one draw for each draw of the variables it depends on."""
    import pytensor.tensor as pt
    from pymc.distributions.distribution import SymbolicRandomVariable
    from pymc.distributions.shape_utils import change_dist_size
    from pytensor.compile.rewriting import inline_ofg_node
    from pytensor.graph.replace import vectorize_graph
    from pytensor.graph.traversal import ancestors
    from pytensor.tensor.random.op import RandomVariable
    from pytensor.tensor.type_other import NoneTypeT

    node = variable.owner
    if not set(ancestors([variable])) & set(at):
        return change_dist_size(variable, lead, expand=True)
    if isinstance(node.op, SymbolicRandomVariable) and _draws_once(node.op):
        variable = inline_ofg_node(node)[node.outputs.index(variable)]
        node = variable.owner
    if not isinstance(node.op, RandomVariable):  # several variables, which would be dependent
        raise NotImplementedError
    batch = variable.ndim - node.op.ndim_supp
    padded = [
        pt.shape_padleft(parameter, batch - (parameter.type.ndim - core))
        for parameter, core in zip(node.op.dist_params(node), node.op.ndims_params, strict=True)
    ]
    if node.op.name in _OF_A_TOTAL:
        padded[0] = padded[0].astype("int64")
    size = node.op.size_param(node)
    # The inferred shape of the variable would be the shape of a single draw.
    batch_shape = variable.shape[:batch] if isinstance(size.type, NoneTypeT) else size
    shape = pt.concatenate([pt.constant(np.array(lead)), batch_shape])
    return node.op.make_node(node.inputs[0], shape, *vectorize_graph(padded, replace=at)).outputs[1]


def _draws_once(op):
    """Return True if a symbolic variable, such as a `pymc.CustomDist`, has a single random draw."""
    from pytensor.tensor.random.op import RNGConsumerOp

    return sum(isinstance(node.op, RNGConsumerOp) for node in op.fgraph.toposort()) == 1


def _one_by_one(sample, numbers, **keywords):
    """Run one of PyMC's forward samplers draw by draw, without log messages."""
    logger = logging.getLogger("pymc")
    level = logger.level
    logger.setLevel(logging.WARNING)
    try:
        if numbers < _MOST_AT_ONCE:
            with suppress(TypeError):
                return sample(**keywords, compile_kwargs={"mode": compiled.interpreted()})
        return sample(**keywords)
    finally:
        logger.setLevel(level)


def evaluate(
    model, task: str, expressions_of: Callable, at: dict[str, np.ndarray]
) -> dict[str, np.ndarray]:
    """
    Evaluate expressions at all draws in one call, each ``(chain, draw, ...)``.

    Parameters
    ----------
    model : pymc.Model
        Model.
    task : str
        Name of the evaluated expressions.
    expressions_of : callable
        From a model to its expressions by name, and to the variables in them by name.
    at : mapping of str to ndarray, shape (chain, draw, ...)
        Draws of the variables.
    """
    from pytensor.graph.replace import vectorize_graph

    def build(model):
        named, variables = expressions_of(model)
        outputs = list(named.values())
        inputs = _inputs({variables[name]: draws for name, draws in at.items()})
        batched = vectorize_graph(outputs, replace=inputs) if outputs else []
        # Expressions without free variables are returned without the axes of the draws.
        fixed = [new is old for new, old in zip(batched, outputs, strict=True)]
        return list(inputs.values()), batched, (list(named), fixed)

    values, (names, fixed) = compiled.run(model, (task,), build, list(at.values()))
    lead = next(iter(at.values())).shape[:2]
    return {
        name: np.broadcast_to(value, (*lead, *value.shape)) if constant else value
        for name, value, constant in zip(names, values, fixed, strict=True)
    }


def _observed(model):
    return model.observed_RVs


def _basic(model):
    return model.basic_RVs


def _inputs(at):
    import pytensor.tensor as pt

    return {
        variable: pt.tensor(variable.name, dtype=variable.dtype, shape=(None,) * draws.ndim)
        for variable, draws in at.items()
    }
