"""Bands around draws of a curve: pointwise, and simultaneous ones that contain the whole curve."""

import numpy as np
import xarray as xr

from bayescm.validate import check_prob, fail


def band(
    draws: xr.DataArray,
    *,
    prob: float = 0.95,
    simultaneous: bool = True,
    dim: str | None = None,
    lowest: xr.DataArray | None = None,
) -> xr.DataArray:
    """
    Return a band from draws of a curve, or of the difference between two curves.

    Parameters
    ----------
    draws : DataArray, dims (draw, ..., dim)
        As returned by `roc_draws`, or a difference between two of these.
    prob : float, default 0.95
        Probability that the band contains the whole curve or, if pointwise, any one point.
    simultaneous : bool, default True
        Whether the band is for the whole curve.
    dim : str, optional
        The dim along the curve; by default the last one.
    lowest : DataArray, optional
        The same draws at their lowest possible, for the lower bound of a simultaneous band.

    Returns
    -------
    DataArray, dims (..., dim, bound)

    Notes
    -----
    The simultaneous band is the hull of the deepest draws. A draw is as deep as its most extreme
    rank among all draws, and between draws that are equally deep the next most extreme ranks
    decide (the extreme rank length of global envelope tests).

    References
    ----------
    Myllymäki, M., Mrkvička, T., Grabarnik, P., Seijo, H. & Hahn, U. (2017). Global envelope tests
    for spatial processes. Journal of the Royal Statistical Society B 79, 381-404.
    doi:10.1111/rssb.12172

    Examples
    --------
    >>> import bayescm as bcm
    >>> evidence = bcm.from_scores([0, 0, 1, 1] * 9, range(36))
    >>> draws = bcm.curves.roc_draws(evidence, fpr=[0.25, 0.5], draws=500)
    >>> band(draws).dims
    ('fpr', 'bound')
    """
    check_prob(prob)
    dim = str(draws.dims[-1]) if dim is None else dim
    for each in ("draw", dim):
        if each not in draws.dims:
            raise fail(
                "the draws lack a dim",
                draws.dims,
                f"draw and {dim}",
                "name the dim of the curve with dim=",
            )
    ordered = draws.transpose("draw", ..., dim)
    shape = (ordered.sizes["draw"], -1, ordered.sizes[dim])
    flat = ordered.values.reshape(shape)
    low = flat if lowest is None else lowest.transpose(*ordered.dims).values.reshape(shape)
    ends = np.stack(
        [
            _deepest(flat[:, index], low[:, index], prob)
            if simultaneous
            else _pointwise(flat[:, index], prob)
            for index in range(flat.shape[1])
        ]
    )
    ends = ends.reshape(*ordered.shape[1:], 2)
    coords = {k: v for k, v in ordered.coords.items() if "draw" not in v.dims}
    coords |= {"bound": ["lower", "upper"]}
    return xr.DataArray(ends, coords, (*ordered.dims[1:], "bound"), draws.name)


def _pointwise(curves, prob):
    """Return equal-tailed intervals, (T, 2), of curves (S, T)."""
    return np.quantile(curves, [(1 - prob) / 2, (1 + prob) / 2], axis=0).T


def _deepest(curves, low, prob):
    """Return the hull, (T, 2), of the deepest of the curves (S, T), its lower side from ``low``."""
    size = len(curves)
    points = np.ascontiguousarray(curves.T)
    # Only the most extreme ranks decide: of draws in the order of each point, those on the edges.
    edge = min(size // 2, max(8, int(np.ceil((1 - prob) * size))))
    order = np.stack([_edge(points, edge), _edge(-points, edge)])
    values = np.take_along_axis(points[None], order, axis=2)
    draws, ranks = order[..., :edge], np.stack([_edge_ranks(each) for each in values])
    extreme = _extreme_ranks(draws.ravel(), ranks.ravel(), size)
    deepest_first = np.lexsort(extreme.T[::-1])[::-1]
    kept = deepest_first[: int(np.ceil(prob * size))]
    return np.stack([low[kept].min(axis=0), curves[kept].max(axis=0)], axis=1)


def _edge(points, edge):
    """Return which draws are lowest at each point, in order, and the one behind, (T, edge + 1)."""
    some = np.argpartition(points, edge, axis=1)[:, : edge + 1]
    return np.take_along_axis(some, np.take_along_axis(points, some, axis=1).argsort(axis=1), 1)


def _edge_ranks(values):
    """Return ranks from the edge, (T, edge); draws that are equal have the rank of the last one."""
    edge = values.shape[1] - 1
    last = np.where(values[:, 1:] != values[:, :-1], np.arange(edge), edge)
    return np.minimum.accumulate(last[:, ::-1], axis=1)[:, ::-1]


def _extreme_ranks(draw, rank, size, number=8):
    """Return each draw's most extreme ranks from either end, smallest first, (size, number)."""
    none = rank.max(initial=0) + 1
    draw, rank = np.divmod(np.sort(draw * none + rank), none)
    within = np.arange(len(draw)) - np.searchsorted(draw, np.arange(size))[draw]
    out = np.full((size, number), none)
    keep = within < number
    out[draw[keep], within[keep]] = rank[keep]
    return out
