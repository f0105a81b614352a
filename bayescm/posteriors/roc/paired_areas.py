r"""
How the areas under the curves of classifiers that scored the same examples go together.

Each area keeps its own posterior distribution, that of `bayescm.posteriors.scores`; a Gaussian
copula ties them. Its correlation has two parts, after what an area's posterior variance is made of:

- as much of it as DeLong's variance is what the examples show. There the correlation is halfway
  between that of the placement values (DeLong's) and that of the ranks within the classes, which
  near separation is the steadier one, less the small-sample bias of a correlation;
- the rest is the doubt of what lies in the gaps and beyond the ends: how heavy tails are that
  nobody saw. That is much the same for classifiers of the same examples. An eighth of what sets
  them apart is taken to set apart this doubt, too; measured, not derived
  (docs/background/curves.md, "Differences between classifiers").

With rho the first correlation of two areas, and s_1 and s_2 the shares that DeLong's variance has
in their posterior variances, at most 1, the correlation of the copula is

    sqrt(s_1 s_2) rho + sqrt((1 - s_1) (1 - s_2)) (1 - (1 - rho) / 8).

The common cells of `bayescm.posteriors.roc.slots` tie whole curves. For the difference of two areas
they are too noisy, since the gaps of two classifiers differ by chance.

References
----------
DeLong, E. R., DeLong, D. M. & Clarke-Pearson, D. L. (1988). Comparing the areas under two or more
correlated receiver operating characteristic curves. Biometrics 44, 837-845. doi:10.2307/2531595

Olkin, I. & Pratt, J. W. (1958). Unbiased estimation of certain correlation coefficients. Annals of
Mathematical Statistics 29, 201-211. doi:10.1214/aoms/1177706717

Satterthwaite, F. E. (1946). An approximate distribution of estimates of variance components.
Biometrics Bulletin 2, 110-114. doi:10.2307/3002019
"""

import numpy as np

from bayescm.distributions.quasi_random import even_normal
from bayescm.inference.iman_conover import iman_conover

# The part of what sets two classifiers apart that also sets apart the doubt about their tails.
_TAIL_PART = 1 / 8


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
    root = _symmetric_root(correlation(areas.var(axis=0), matrix, weights, codes))
    # Evenly spread points: the difference of two areas hangs on few of the draws.
    joint = iman_conover(areas, even_normal(len(areas), areas.shape[1], rng) @ root)
    # The points are in the same order for other examples, such as those of another group.
    return rng.permutation(joint)


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
    by_class = [codes == 0, codes == 1]
    _, covariance = placement_covariance(matrix, weights, by_class)
    of_ranks = _rank_correlation(matrix, weights, by_class)
    of_placements = _to_correlation(covariance)
    of_placements = np.where(np.isnan(of_placements), of_ranks, of_placements)
    rho = _unbiased((of_placements + of_ranks) / 2, weights, by_class)
    share = np.minimum(np.diag(covariance) / np.maximum(variance, 1e-300), 1)
    of_tails = 1 - _TAIL_PART * (1 - rho)
    return (
        np.sqrt(np.outer(share, share)) * rho + np.sqrt(np.outer(1 - share, 1 - share)) * of_tails
    )


def placement_covariance(
    matrix: np.ndarray, weights: np.ndarray, by_class: list[np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """
    Return the observed areas (V,) and DeLong's covariance of them (V, V), in O(n log n).

    It is the sum over both classes of the covariance of the placement values of its examples over
    their number. A class of one example adds nothing.

    Parameters
    ----------
    matrix : ndarray, shape (V, n)
    weights : ndarray, shape (n,)
        How many examples each stands for.
    by_class : list of ndarray of bool, shape (n,)
        The negatives and the positives.
    """
    negative, positive = by_class
    # How well each negative and each positive is told from the other class, (V, m) each.
    placements = [
        np.stack([_placement_values(-row, negative, positive, weights) for row in matrix]),
        np.stack([_placement_values(row, positive, negative, weights) for row in matrix]),
    ]
    areas = np.array([np.average(row, weights=weights[positive]) for row in placements[1]])
    covariance = np.zeros((len(matrix), len(matrix)))
    for values, of_class in zip(placements, by_class, strict=True):
        total = weights[of_class].sum()
        if total > 1:
            covariance += _cross_products(values, weights[of_class]) / (total - 1) / total
    return areas, covariance


def _placement_values(scores, of_class, reference, weights):
    """Return the share of a reference class that scores lower than each example of a class.

    Ties count one half.
    """
    order = np.argsort(scores[reference], kind="stable")
    sorted_scores = scores[reference][order]
    cumulative = np.concatenate([[0], np.cumsum(weights[reference][order])])
    lower, not_higher = (
        cumulative[np.searchsorted(sorted_scores, scores[of_class], side)]
        for side in ("left", "right")
    )
    return (lower + not_higher) / 2 / cumulative[-1]


def _cross_products(values, weight):
    """Return the weighted sums of products about the means, (V, V), of rows (V, m)."""
    centered = values - np.average(values, axis=1, weights=weight)[:, None]
    return (centered * weight) @ centered.T


def _to_correlation(covariance):
    """Return the correlation, NaN where there is no variance."""
    sd = np.sqrt(np.diag(covariance))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.clip(covariance / np.outer(sd, sd), -1, 1)


def _rank_correlation(matrix, weights, by_class):
    """Return the rank correlation within a class, the mean of both where both have one."""
    correlations = []
    for of_class in by_class:
        ranks = [_placement_values(row, of_class, of_class, weights) for row in matrix]
        correlations.append(_to_correlation(_cross_products(np.stack(ranks), weights[of_class])))
    defined = ~np.isnan(correlations)
    mean = np.nansum(correlations, axis=0) / np.maximum(defined.sum(axis=0), 1)
    np.fill_diagonal(mean, 1.0)
    return mean


def _unbiased(r, weights, by_class):
    """
    Return correlations r without most of their small-sample bias.

    It is r (1 + (1 - r^2) / (2 (n - 4))), after Olkin and Pratt, with Satterthwaite's number n for
    the variance of an area, to which a class adds one over its size. Below n = 6 the correction
    stays as it is there.
    """
    totals = np.array([weights[of_class].sum() for of_class in by_class])
    shares = 1 / totals / (1 / totals).sum()
    n = 1 / (shares**2 / totals).sum()
    return r * (1 + (1 - r**2) / (2 * max(n - 4, 2)))


def _symmetric_root(correlation):
    """Return the symmetric root of the nearest correlation; copies have equal columns."""
    values, vectors = np.linalg.eigh(correlation)
    values = np.where(values > 1e-12 * values[-1], values, 0.0)  # else rounding
    root = (vectors * np.sqrt(values)) @ vectors.T
    return root / np.linalg.norm(root, axis=0)
