"""Compiled computations of PyMC models, which are reused for new data of the same shape."""

import threading
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from bayescm.fitting.recent import Recent

_lock = threading.RLock()


class Computation(NamedTuple):
    """Graph of a model's expressions, its inputs, and the sizes of its data."""

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
    Evaluate expressions of a model, reusing a compiled function of an earlier model if possible.

    Parameters
    ----------
    model : pymc.Model
        Model. If it differs from an earlier one only in the values of ``pm.Data``, nothing is
        compiled.
    task : tuple
        Identifier of the expressions. It includes everything that they depend on, except the model.
    build : callable
        From a model to inputs, outputs, and names of the outputs.
    values : sequence of ndarray
        Values of the inputs.
    seed : int, optional
        Seed of the random variables among the outputs.

    Returns
    -------
    list of ndarray
        Values of the outputs.
    object
        Names returned by `build`.
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
    """Return the computation of a graph from inputs and from the model's ``pm.Data``."""
    from pytensor.compile.sharedvalue import SharedVariable

    lengths = [
        variable for variable in model.dim_lengths.values() if isinstance(variable, SharedVariable)
    ]
    sizes = [variable.get_value().shape for variable in model.data_vars]
    sizes += [int(variable.get_value()) for variable in lengths]
    return Computation(graph, [*inputs, *model.data_vars, *lengths], sizes)


def same(cached: Computation, new: Computation) -> bool:
    """Check whether two computations are equal, except for the values of ``pm.Data``.

    The whole graphs are compared, including constants. A function that writes counts into the model
    as constants is therefore recompiled, and so is a prior that is a closure over another number.
    """
    from pytensor.graph.basic import equal_computations

    names = [
        [(variable.name, variable.type) for variable in (*side.graph, *side.inputs)]
        for side in (cached, new)
    ]
    if names[0] != names[1] or cached.sizes != new.sizes:
        return False
    return equal_computations(cached.graph, new.graph, cached.inputs, new.inputs)


# Cache of models, because building their graphs takes far longer than evaluating them.
_models: Recent[Computation, _CompiledModel] = Recent(same)


@lru_cache(maxsize=1)  # callers often look up the same model repeatedly
def _entry(model, sizes):
    """Return the cached model with the same computation and data sizes, or a new entry."""
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
    # Match by name, because the variables may belong to a copy of the model.
    data = [variable for variable in shared if variable.name in names]
    generators = find_rng_nodes(outputs)
    call = pytensor.function(inputs, outputs, mode=interpreted(), on_unused_input="ignore")
    return _Function(call, data, generators, output_names)


def interpreted():
    """Return PyTensor's interpreted mode, which avoids seconds of compilation for tiny graphs."""
    from pytensor.compile.mode import Mode

    return Mode("py", None)  # type: ignore[arg-type]
