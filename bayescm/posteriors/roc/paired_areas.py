r"""
How the areas under the curves of classifiers that scored the same examples go together.

Each area keeps its own posterior distribution, that of `bayescm.posteriors.scores`; a Gaussian
copula ties them. Its correlation has two parts, after what an area's posterior variance is made of:

- as much of it as DeLong's variance is what the examples show. There the correlation is halfway
  between that of the placement values (DeLong's) and that of the ranks within the classes, which
  near separation is the steadier one, less the small-sample bias of a correlation;
- the rest is the doubt of what lies in the gaps and beyond the ends: how heavy tails are that
  nobody saw. That is much the same for classifiers of the same examples. An eighth of what sets
  them apart is taken to set apart this doubt, too; measured, not derived.

The common cells of `bayescm.posteriors.roc.slots` tie whole curves. For the difference of two areas
they are too noisy, since the gaps of two classifiers differ by chance.

References
----------
DeLong, E. R., DeLong, D. M. & Clarke-Pearson, D. L. (1988). Comparing the areas under two or more
correlated receiver operating characteristic curves. Biometrics 44, 837-845. doi:10.2307/2531595

Olkin, I. & Pratt, J. W. (1958). Unbiased estimation of certain correlation coefficients. Annals of
Mathematical Statistics 29, 201-211. doi:10.1214/aoms/1177706717
"""

import numpy as np
from scipy.special import ndtri

# Of what sets two classifiers apart, the part that also sets apart the doubt of their tails.
_APART = 1 / 8


def couple(
    areas: np.ndarray,
    matrix: np.ndarray,
    weights: np.ndarray,
    codes: np.ndarray,
    rng: np.random.Generator,
) -> np.ndarray:
    """
    Return draws of the areas in an order that makes them draws of the joint distribution.

    Parameters
    ----------
    areas : ndarray, shape (S, V)
        Draws of each area, in any order: each column is kept as a set.
    matrix : ndarray, shape (V, n)
        Scores.
    weights : ndarray, shape (n,)
    codes : ndarray of int, shape (n,)
        1 for a positive example, else 0.
    rng : numpy.random.Generator

    Returns
    -------
    ndarray, shape (S, V)
    """
    from scipy.stats.qmc import Halton  # slow to import, and only pairs need it

    root = _root(correlation(areas.var(axis=0), matrix, weights, codes))
    # Evenly spread points: the difference of two areas hangs on few of the draws.
    even = ndtri(Halton(areas.shape[1], rng=rng).random(len(areas)))
    normal = even @ root
    rank = np.argsort(np.argsort(normal, axis=0, kind="stable"), axis=0, kind="stable")
    return np.take_along_axis(np.sort(areas, axis=0), rank, axis=0)


def correlation(
    variance: np.ndarray, matrix: np.ndarray, weights: np.ndarray, codes: np.ndarray
) -> np.ndarray:
    """
    Return the correlation of the copula, shape (V, V).

    Parameters
    ----------
    variance : ndarray, shape (V,)
        Of the posterior of each area.
    matrix, weights, codes
        See `couple`.
    """
    sides = [codes == 0, codes == 1]
    _, covariance = placement_covariance(matrix, weights, sides)
    ranks = _rank_correlation(matrix, weights, sides)
    placed = _scaled(covariance)
    shown = _unbiased((np.where(np.isnan(placed), ranks, placed) + ranks) / 2, weights, sides)
    variance = np.maximum(variance, 1e-300)
    part = np.minimum(np.diag(covariance) / variance, 1)
    gaps = 1 - _APART * (1 - shown)
    return np.sqrt(np.outer(part, part)) * shown + np.sqrt(np.outer(1 - part, 1 - part)) * gaps


def placement_covariance(
    matrix: np.ndarray, weights: np.ndarray, sides: list[np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """
    Return the observed areas (V,) and DeLong's covariance of them (V, V), in O(n log n).

    A class of one example adds nothing to the covariance.

    Parameters
    ----------
    matrix : ndarray, shape (V, n)
    weights : ndarray, shape (n,)
        How many examples each stands for.
    sides : list of ndarray of bool, shape (n,)
        The negatives and the positives.
    """
    placed = [_placements(row, weights, sides) for row in matrix]
    areas = np.array([np.average(each[1], weights=weights[sides[1]]) for each in placed])
    covariance = np.zeros((len(matrix), len(matrix)))
    for index, side in enumerate(sides):
        total = weights[side].sum()
        if total > 1:
            parts = np.stack([each[index] for each in placed])
            covariance += _products(parts, weights[side]) / (total - 1) / total
    return areas, covariance


def _placements(scores, weights, sides):
    """Return the fraction of the other class that each example is ranked correctly against."""
    pairs = ((sides[0], sides[1], -1), (sides[1], sides[0], 1))
    return [_below(sign * scores, own, other, weights) for own, other, sign in pairs]


def _below(scores, own, other, weights):
    """Return the share of the others that score lower than each own example, ties by half."""
    order = np.argsort(scores[other], kind="stable")
    values, at = scores[other][order], scores[own]
    mass = np.concatenate([[0], np.cumsum(weights[other][order])])
    ends = [mass[np.searchsorted(values, at, side)] for side in ("left", "right")]
    return (ends[0] + ends[1]) / 2 / mass[-1]


def _products(parts, weight):
    """Return the weighted sums of products about the means, (V, V), of rows (V, m)."""
    parts = parts - np.average(parts, axis=1, weights=weight)[:, None]
    return (parts * weight) @ parts.T


def _scaled(covariance):
    """Return the correlation, NaN where there is no variance."""
    spread = np.sqrt(np.diag(covariance))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.clip(covariance / np.outer(spread, spread), -1, 1)


def _rank_correlation(matrix, weights, sides):
    """Return the rank correlation within a class, the mean of both where both have one."""
    found = [
        _scaled(_products(np.stack([_below(row, s, s, weights) for row in matrix]), weights[s]))
        for s in sides
    ]
    known = ~np.isnan(found)
    mean = np.nansum(found, axis=0) / np.maximum(known.sum(axis=0), 1)
    np.fill_diagonal(mean, 1.0)
    return mean


def _unbiased(found, weights, sides):
    """Return correlations without most of their small-sample bias."""
    totals = np.array([weights[side].sum() for side in sides])
    parts = 1 / totals / (1 / totals).sum()
    number = 1 / (parts**2 / totals).sum()  # of degrees of freedom, after Satterthwaite
    return found * (1 + (1 - found**2) / (2 * max(number - 4, 2)))


def _root(correlation):
    """Return the symmetric root of the nearest correlation; copies have equal columns."""
    values, vectors = np.linalg.eigh(correlation)
    values = np.where(values > 1e-12 * values[-1], values, 0.0)
    root = (vectors * np.sqrt(values)) @ vectors.T
    return root / np.linalg.norm(root, axis=0)
