"""What is worked out of a model, compiled once and used again on new data of the same shapes."""

import threading
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from bayescm.fitting.recent import Recent

_lock = threading.RLock()


class Computation(NamedTuple):
    """Expressions of a model, what they depend on, and the sizes of its data."""

    graph: list
    inputs: list
    sizes: list


class _CompiledModel(NamedTuple):
    model: Any
    functions: dict


class _Function(NamedTuple):
    call: Callable
    data: list
    generators: list
    names: Any


def run(
    model: Any, task: tuple, build: Callable, values: Sequence[np.ndarray], seed: int | None = None
) -> tuple[list[np.ndarray], Any]:
    """
    Work out expressions of a model, by a function that an earlier such model has left if it can.

    Parameters
    ----------
    model : pymc.Model
        One that differs from an earlier one only in the values of its ``pm.Data`` compiles nothing.
    task : tuple
        What is worked out, and everything but the model that its graph depends on.
    build : callable
        From a model to the inputs, the outputs and the names of these.
    values : sequence of ndarray
        Of the inputs.
    seed : int, optional
        Of the random variables among the outputs.

    Returns
    -------
    list of ndarray
        The outputs.
    object
        The names that `build` gave.
    """
    from pymc.pytensorf import reseed_rngs

    with _lock:
        entry = _entry(model, tuple(variable.get_value().shape for variable in model.data_vars))
        function = entry.functions.get(task)
        if function is None:
            function = entry.functions[task] = _compiled(entry.model, *build(entry.model))
        for variable in function.data:
            variable.set_value(model[variable.name].get_value())
        if seed is not None:
            reseed_rngs(function.generators, seed)
        return function.call(*values), function.names


def computation(model: Any, graph: list, inputs: list) -> Computation:
    """Return what a graph of a model works out of inputs, and of the model's ``pm.Data``."""
    from pytensor.compile.sharedvalue import SharedVariable

    lengths = [
        variable for variable in model.dim_lengths.values() if isinstance(variable, SharedVariable)
    ]
    sizes = [variable.get_value().shape for variable in model.data_vars]
    sizes += [int(variable.get_value()) for variable in lengths]
    return Computation(graph, [*inputs, *model.data_vars, *lengths], sizes)


def same(cached: Computation, new: Computation) -> bool:
    """Say whether two models are one computation but for the values of their ``pm.Data``.

    Compares whole graphs, constants included: a function that writes the counts into the model as
    constants is compiled afresh, and so is one whose prior is a closure over another number.
    """
    from pytensor.graph.basic import equal_computations

    names = [
        [(variable.name, variable.type) for variable in (*side.graph, *side.inputs)]
        for side in (cached, new)
    ]
    if names[0] != names[1] or cached.sizes != new.sizes:
        return False
    return equal_computations(cached.graph, new.graph, cached.inputs, new.inputs)


# Building the graphs of a model takes far longer than evaluating them.
_models: Recent[Computation, _CompiledModel] = Recent(same)


@lru_cache(maxsize=1)  # callers look up the same model several times in succession
def _entry(model, sizes):
    """Return the kept model of the same computation with data of these sizes, or a new entry."""
    from pymc.pytensorf import find_rng_nodes

    observed = [model.rvs_to_values[variable] for variable in model.observed_RVs]
    graph = [*model.basic_RVs, *model.deterministics, *observed]
    new = computation(model, graph, find_rng_nodes(graph))
    entry = _models.find(new)
    if entry is None:
        entry = _CompiledModel(model, {})
        _models.keep(new, entry)
    return entry


def _compiled(model, inputs, outputs, output_names):
    import pytensor
    from pymc.pytensorf import find_rng_nodes
    from pytensor.compile.sharedvalue import SharedVariable
    from pytensor.graph.traversal import ancestors

    names = {variable.name for variable in model.data_vars}
    shared = [variable for variable in ancestors(outputs) if isinstance(variable, SharedVariable)]
    # By their names: those of copies of the model too.
    data = [variable for variable in shared if variable.name in names]
    generators = find_rng_nodes(outputs)
    call = pytensor.function(inputs, outputs, mode=interpreted(), on_unused_input="ignore")
    return _Function(call, data, generators, output_names)


def interpreted():
    """Return PyTensor's mode for tiny graphs: interpreted, which spares seconds of compilation."""
    from pytensor.compile.mode import Mode

    return Mode("py", None)  # type: ignore[arg-type]
