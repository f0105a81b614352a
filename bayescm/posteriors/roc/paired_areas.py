r"""
The joint distribution of the areas under the curves of classifiers on the same examples.

The marginal distributions are the posteriors of `bayescm.posteriors.scores`. A Gaussian copula
joins them. The posterior variance of an area has two parts, with different correlations:

- The first part is DeLong's variance, the sampling variance of the observed examples. Its
  correlation rho is the average of DeLong's correlation of placement values and the rank
  correlation within the classes, corrected for small-sample bias. Near separation, the rank
  correlation is more stable.
- The second part is uncertainty about scores in the gaps and beyond the ends, such as unobserved
  heavy tails. It is similar for classifiers on the same examples, and has the correlation
  1 - (1 - rho) / 8. The factor 1/8 was found by simulation, not derived
  (docs/background/curve-differences.md).

Let s_1 and s_2 be the ratios of DeLong's variance to the posterior variance of two areas, at most
1. The correlation of the copula is

    sqrt(s_1 s_2) rho + sqrt((1 - s_1) (1 - s_2)) (1 - (1 - rho) / 8).

The common cells of `bayescm.posteriors.roc.slots` give joint draws of whole curves. They are too
noisy for the difference of two areas, because the gaps of two classifiers differ by chance.

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

# If the observed variation has the correlation rho, the uncertainty about the tails has the
# correlation 1 - _TAIL_PART * (1 - rho).
_TAIL_PART = 1 / 8


def couple(
    areas: np.ndarray,
    matrix: np.ndarray,
    weights: np.ndarray,
    codes: np.ndarray,
    rng: np.random.Generator,
) -> np.ndarray:
    """
    Reorder draws of the areas so that they follow the joint distribution.

    Parameters
    ----------
    areas : ndarray, shape (S, V)
        Draws of each area, in any order.
    matrix : ndarray, shape (V, n)
        Scores of each classifier.
    weights : ndarray, shape (n,)
        Number of examples that each column of ``matrix`` represents.
    codes : ndarray of int, shape (n,)
        1 for a positive example, else 0.
    rng : numpy.random.Generator

    Returns
    -------
    ndarray, shape (S, V)
        Each column is a permutation of the column in ``areas``.
    """
    root = _symmetric_root(correlation(areas.var(axis=0), matrix, weights, codes))
    # The points are quasi-random, because the difference between areas depends on few of the draws.
    joint = iman_conover(areas, even_normal(len(areas), areas.shape[1], rng) @ root)
    # The points have the same order for every set of examples. The permutation makes the draws for
    # different groups or folds independent.
    return rng.permutation(joint)


def correlation(
    variance: np.ndarray, matrix: np.ndarray, weights: np.ndarray, codes: np.ndarray
) -> np.ndarray:
    """
    Return the correlation of the copula, shape (V, V).

    Parameters
    ----------
    variance : ndarray, shape (V,)
        Posterior variance of each area.
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
    Return the observed areas (V,) and their covariance by DeLong's method (V, V), in O(n log n).

    It is the sum, over both classes, of the covariance of the placement values divided by the
    number of examples. A class with at most one example contributes 0.

    Parameters
    ----------
    matrix : ndarray, shape (V, n)
        Scores of each classifier.
    weights : ndarray, shape (n,)
        Number of examples that each column represents.
    by_class : list of ndarray of bool, shape (n,)
        Masks of the negatives and of the positives.
    """
    negative, positive = by_class
    # Placement values of the negatives and of the positives, (V, m) each.
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
    """Return the placement values: the share of the reference class below each example's score.

    Ties count as one half.
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
    """Return the weighted sums of centred cross products, (V, V), of the rows (V, m)."""
    centered = values - np.average(values, axis=1, weights=weight)[:, None]
    return (centered * weight) @ centered.T


def _to_correlation(covariance):
    """Return the correlation matrix, with NaN for a variance of 0."""
    sd = np.sqrt(np.diag(covariance))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.clip(covariance / np.outer(sd, sd), -1, 1)


def _rank_correlation(matrix, weights, by_class):
    """Return the mean over classes of the rank correlation within a class, if it is defined."""
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
    Return correlations r, corrected for most of their small-sample bias.

    The corrected value is r (1 + (1 - r^2) / (2 (n - 4))), after Olkin and Pratt. n is
    Satterthwaite's effective number of examples for the variance of an area, to which each class
    contributes one over its size. Values of n below 6 are replaced by 6.
    """
    totals = np.array([weights[of_class].sum() for of_class in by_class])
    shares = 1 / totals / (1 / totals).sum()
    n = 1 / (shares**2 / totals).sum()
    return r * (1 + (1 - r**2) / (2 * max(n - 4, 2)))


def _symmetric_root(correlation):
    """Return the symmetric root of the nearest correlation matrix.

    Identical classifiers have equal columns.
    """
    values, vectors = np.linalg.eigh(correlation)
    values = np.where(values > 1e-12 * values[-1], values, 0.0)  # remove rounding errors
    root = (vectors * np.sqrt(values)) @ vectors.T
    return root / np.linalg.norm(root, axis=0)
