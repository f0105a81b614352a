r"""
Resampling of a pilot to test sets of another size, with uncertain proportions of its units.

The proportions of the pilot's units in the population have the posterior of the Bayesian bootstrap
(Rubin 1981), where :math:`w_i` is the number of units of kind :math:`i` in the pilot:

.. math:: \pi \sim \mathrm{Dirichlet}(w_1, \ldots, w_m), \qquad
          x \mid \pi \sim \mathrm{Multinomial}(n, \pi).

A unit that is not in the pilot cannot occur in a test set.

References
----------
Rubin, D. B. (1981). The Bayesian bootstrap. The Annals of Statistics 9, 130-134.
doi:10.1214/aos/1176345338
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import xarray as xr

from bayescm.validate import fail

# Variables that divide the units of a pilot into parts, or weight them.
_PARTS = ("fold", "repeat", "half", "group", "weight")


def draw_numbers(weights: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    """
    Return the number of occurrences of each pilot unit in a test set of size n.

    The result has the shape of the weights.

    Examples
    --------
    >>> draw_numbers(np.array([3.0, 0.0, 5.0]), 100, np.random.default_rng(1)).tolist()
    [41, 0, 59]
    """
    gamma = rng.standard_gamma(weights.astype(float)).ravel()
    return rng.multinomial(n, gamma / gamma.sum()).reshape(weights.shape)


def resample_rows(dim: str) -> Callable[..., xr.Dataset]:
    """Return a function (evidence, n, rng) that resamples n units along a dimension."""

    def resample(evidence: xr.Dataset, n: int, rng: np.random.Generator) -> xr.Dataset:
        parts = [name for name in evidence.coords if evidence[name].dims == (dim,) and name != dim]
        check_no_parts([*parts, *(name for name in _PARTS if name in evidence.variables)])
        size = evidence.sizes[dim]
        drawn = evidence.isel(
            {dim: np.repeat(np.arange(size), draw_numbers(np.ones(size), n, rng))}
        )
        return drawn.assign_coords({dim: np.arange(n)}) if dim in evidence.coords else drawn

    return resample


def resample_counts(dim: str) -> Callable[..., xr.Dataset]:
    """Return a function (evidence, n, rng) that resamples the counts along a dimension."""

    def resample(evidence: xr.Dataset, n: int, rng: np.random.Generator) -> xr.Dataset:
        leading = [name for name in evidence["counts"].dims if name != dim]
        check_no_parts([*leading, *(name for name in _PARTS if name in evidence.variables)])
        numbers = draw_numbers(evidence["counts"].values, n, rng)
        of_units = [name for name in evidence.coords if "example" in evidence[name].dims]
        drawn = evidence.drop_vars(of_units).assign(counts=(dim, numbers))
        return drawn.isel({dim: numbers > 0})

    return resample


def check_no_parts(parts: list[Any]) -> None:
    """Raise an error if a pilot has groups, folds, slices or weights."""
    if parts:
        names = ", ".join(dict.fromkeys(map(str, parts)))
        raise fail(
            "A plan needs a pilot that is one sample, but this one has {}",
            names,
            "",
            "select one part, or leave the parts out",
        )
