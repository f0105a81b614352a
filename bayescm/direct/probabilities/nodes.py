"""A few places that stand for many forecasts: Gauss's quadrature between knots."""

import numpy as np

_NODES = 4  # of forecasts between two knots


def nodes(odds: np.ndarray, total: np.ndarray, knots: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """
    Return places and weights by which sums over forecasts are sums over few of them.

    Between two knots the log odds of the truth are a straight line in those of the forecast. A
    smooth function of them, summed over many forecasts there, is summed over the four nodes of
    Gauss's quadrature of these very forecasts, which is exact for polynomials up to degree 7.
    Four forecasts or fewer stand for themselves.

    Parameters
    ----------
    odds, total : ndarray, shape (n,)
        Different log odds in rising order, and the weight of each.
    knots : ndarray, shape (k,)
        From the lowest to the highest log odds.

    Returns
    -------
    places, weights : ndarray, shape (m,), m <= 4 (k - 1)

    Examples
    --------
    >>> places, weights = nodes(np.arange(10.0), np.ones(10), np.array([0, 4.5, 9]))
    >>> len(places), float((weights @ places**4).round(6))
    (8, 15333.0)
    """
    odds, total = odds[total > 0], total[total > 0]
    cuts = np.searchsorted(odds, knots[1:-1])
    parts = zip(np.split(odds, cuts), np.split(total, cuts), strict=True)
    found = [_gauss(*part) if len(part[0]) > _NODES else part for part in parts]
    places, weights = map(np.concatenate, zip(*found, strict=True))
    return places, weights


def _gauss(odds, total):
    """Return the nodes and weights of Gauss's quadrature of a discrete measure (Lanczos)."""
    middle, half = (odds[-1] + odds[0]) / 2, (odds[-1] - odds[0]) / 2
    scaled, known = (odds - middle) / half, np.zeros((_NODES, len(odds)))
    along, off = np.zeros(_NODES), np.zeros(_NODES)
    row = np.sqrt(total / total.sum())
    for step in range(_NODES):
        known[step] = row
        along[step] = row @ (scaled * row)
        row = scaled * row
        for _ in range(2):  # twice is enough for orthogonal rows
            row = row - known.T @ (known @ row)
        off[step] = np.sqrt(row @ row)
        if off[step] < 1e-9:  # forecasts so near each other that fewer nodes are exact
            along, off = along[: step + 1], off[: step + 1]
            break
        row = row / off[step]
    jacobi = np.diag(along) + np.diag(off[:-1], 1) + np.diag(off[:-1], -1)
    values, vectors = np.linalg.eigh(jacobi)
    return middle + half * values, total.sum() * vectors[0] ** 2
