"""Main effects of several attributes: one for each level, or a slope and a curve of numbers."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr

from bayescm.validate import fail, suggest

_KNOTS, _FEWEST = 6, 5


def check_smooth(counts: xr.DataArray, smooth: Any) -> tuple[str, ...]:
    """Return the names of smooth attributes, or raise where one cannot be."""
    if not isinstance(smooth, (str, Sequence, set, frozenset)):
        todo = 'pass e.g. smooth="age"'
        raise fail("smooth must be names of attributes", smooth, "names", todo, TypeError)
    names = (smooth,) if isinstance(smooth, str) else tuple(smooth)
    attributes = list(counts.dims[:-2])
    for name in names:
        if name not in attributes:
            todo = suggest(str(name), attributes)
            raise fail("smooth is of an attribute", name, attributes, todo)
        levels = counts[name].values if name in counts.coords else np.array(["?"])
        if levels.dtype.kind not in "iuf" or not np.isfinite(levels).all():
            todo = "give numbers as labels, or leave smooth out"
            raise fail(f"the labels of {name} are not numbers", levels[0], "numbers", todo)
        seen = len(np.unique(levels[_examples(counts, name) > 0]))
        if seen < _FEWEST:
            todo = "leave smooth out: few values are levels"
            raise fail(f"too few values of {name} for a curve", seen, f"{_FEWEST} or more", todo)
    return names


def terms_of(counts: xr.DataArray, smooth: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Return the term of every column, (L,), and the columns (G, L) in every cell."""
    owner, blocks, first = [], [], 0
    for dim, place in zip(counts.dims, np.indices(counts.shape[:-2]), strict=False):
        if dim in smooth:
            basis = curve_of(counts[dim].values.astype(float), _examples(counts, dim))
            own = np.minimum(np.arange(basis.shape[1]), 1)
        else:
            basis = np.eye(counts.sizes[dim])
            own = np.zeros(len(basis), int)
        owner.append(first + own)
        blocks.append(basis[place.ravel()])
        first += own[-1] + 1
    return np.concatenate(owner), np.concatenate(blocks, axis=1)


def curve_of(levels: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """
    Return the columns of a slope and of a curve, (levels, 1 + K), which goes on as a line.

    Parameters
    ----------
    levels : ndarray, shape (levels,)
    seen : ndarray, shape (levels,)
        Examples of each; levels without any do not move the knots.

    Examples
    --------
    >>> curve_of(np.arange(7.0), np.ones(7)).shape
    (7, 6)
    """
    share = seen / seen.sum()
    middle = share @ levels
    z = (levels - middle) / np.sqrt(share @ (levels - middle) ** 2)
    known = np.unique(z[seen > 0])
    knots = np.quantile(known, np.linspace(0, 1, 1 + min(_KNOTS, len(known) - 2)))
    squares = np.maximum(z[:, None] - knots, 0) ** 2 / 2
    curve = squares[:, :-1] - squares[:, 1:]
    # What a level and a slope say is not the curve's.
    line = np.stack([np.ones_like(z), z], axis=1)
    curve = curve - line @ (line.T @ (share[:, None] * curve))
    return np.concatenate([z[:, None], curve / np.sqrt(share @ (curve**2).sum(1))], axis=1)


def _examples(counts, dim):
    """Return how many examples every level of an attribute has."""
    axes = tuple(place for place, each in enumerate(counts.dims) if each != dim)
    return counts.values.sum(axes).astype(float)
