"""Draws of measures, and what is known beyond them."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import xarray as xr

# Numbers held at once, and cells of one draw up to which many draws are cheap.
_CHUNK, _SMALL = 2e6, 256


def no_distribution(*_):
    """Know no distribution."""
    return None


@dataclass(frozen=True, eq=False)
class Drawn:
    """
    Draws of measures, and what is known beyond them.

    Attributes
    ----------
    values : Dataset
        A variable per measure, dims ``(draw, ..., [class])``; NaN where undefined.
    kernels : list of callables
    paired : bool
        Whether the draws along the dim compared belong together, being of the same examples.
    distribution : callable
        From (kernel, place) to the exact distribution of one member, or None; a place maps the dims
        of the values, but draw, to indices.
    difference : callable
        From (kernel, place of the first, place of the second) to the exact distribution of the
        difference of two members that belong together, or None.
    """

    values: xr.Dataset
    kernels: list
    paired: bool
    distribution: Callable = no_distribution
    difference: Callable = no_distribution


def in_chunks(drawer, found, draws, rng, template):
    """Draw all measures at once, some draws at a time; label the draws."""
    cells = template.size
    size = draws or (50_000 if cells <= _SMALL else 10_000)
    step = max(1, int(_CHUNK / cells))
    parts = [drawer(found, min(step, size - start), rng) for start in range(0, size, step)]
    arrays = [np.concatenate(each) for each in zip(*parts, strict=True)]
    dims = template.dims[:-2]
    coords = {k: v for k, v in template.coords.items() if not {"actual", "predicted"} & set(v.dims)}
    variables = {}
    for kernel, array in zip(found, arrays, strict=True):
        by_class = ["class"] if array.ndim > 1 + len(dims) else []
        if by_class:
            coords["class"] = template["actual"].values
        variables[kernel.__name__] = (("draw", *dims, *by_class), array)
    return xr.Dataset(variables, coords=coords)


def class_last(values: xr.Dataset) -> xr.Dataset:
    """Return the values with the dim class, where there is one, last."""
    return values.transpose(..., "class") if "class" in values.dims else values
