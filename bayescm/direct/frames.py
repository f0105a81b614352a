"""
Labels around numbers: the dims and coords of a batch.

To build a labelled array takes longer than the numbers of a single matrix; so there is none until
the numbers are known, and one with a few plain labels is built once and copied.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import numpy as np
import xarray as xr

_FEW, _PLAIN = 100, "biufU"  # labels, and their kinds

type Ends = tuple[tuple[str, tuple[str, ...]], ...]


@dataclass(frozen=True, eq=False)
class Frame:
    """
    The dims and coords of an answer, before there are numbers.

    Attributes
    ----------
    coords : mapping of str to Variable
    dims : tuple of str
    shape : tuple of int
    name : str, optional
    attrs : dict
    """

    coords: Mapping[Any, xr.Variable] = field(default_factory=dict)
    dims: tuple = ()
    shape: tuple[int, ...] = ()
    name: Any = None
    attrs: dict = field(default_factory=dict)

    @property
    def ndim(self) -> int:
        """The number of dims."""
        return len(self.dims)

    @property
    def size(self) -> int:
        """The number of members."""
        return int(np.prod(self.shape))

    @property
    def sizes(self) -> dict:
        """The number of members along each dim."""
        return dict(zip(self.dims, self.shape, strict=True))

    def then(self, dim: str, labels: Any) -> "Frame":
        """Return the frame with a dim more at the end."""
        labels = np.asarray(labels)
        return self._with(dim, labels, (*self.dims, dim), (*self.shape, len(labels)))

    def under(self, dim: str, labels: Any) -> "Frame":
        """Return the frame with a dim more in front."""
        labels = np.asarray(labels)
        return self._with(dim, labels, (dim, *self.dims), (len(labels), *self.shape))

    def _with(self, dim, labels, dims, shape):
        coords = {**self.coords, dim: xr.Variable(dim, labels)}
        return replace(self, coords=coords, dims=dims, shape=shape)

    def filled(
        self, values: Any = np.nan, ends: Ends = (), attrs: dict | None = None
    ) -> xr.DataArray:
        """
        Return labelled values.

        Parameters
        ----------
        values : ndarray, shape (..., [ends]), or float
        ends : tuple of pairs of a name and labels
            Dims that follow those of the frame.
        attrs : dict, optional
            Instead of those of the frame.
        """
        if np.ndim(values) == 0:
            values = np.full(self.shape, values)
        known = self._known()
        if known is None:
            further = {name: list(labels) for name, labels in ends}
            dims = (*self.dims, *further)
            found = xr.DataArray(values, dims=dims, coords={**self.coords, **further})
        else:
            found = _empty(known, self.dims, self.shape, ends).copy(deep=False, data=values)
        found.name = self.name
        if attrs or self.attrs:
            found.attrs = attrs or self.attrs
        return found

    def _known(self):
        """Return the coords as what may be compared: scalars and a few plain labels; else None."""
        known = []
        for name, each in self.coords.items():
            if each.ndim == 0:
                value = each.values.item()
            elif each.dims == (name,) and each.size <= _FEW and each.dtype.kind in _PLAIN:
                value = tuple(each.values.tolist())
            else:
                return None
            if each.attrs:
                return None
            known.append((name, each.dtype.str, value))
        return tuple(known)


@lru_cache(maxsize=64)
def _empty(known, dims, shape, ends):
    """Return NaN with these labels; 1 and True are told apart by their types."""
    coords = {name: np.asarray(value, dtype) for name, dtype, value in known}
    coords |= {name: list(labels) for name, labels in ends}
    values = np.full((*shape, *(len(labels) for _, labels in ends)), np.nan)
    return xr.DataArray(values, dims=[*dims, *(name for name, _ in ends)], coords=coords)
