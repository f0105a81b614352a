"""Quantile of the largest absolute value of correlated normal variables."""

import numpy as np
from scipy.optimize import brentq
from scipy.special import chdtr, ndtr, ndtri

from bayescm.distributions.quasi_random import even_normal
from bayescm.validate import check_prob, fail


def max_abs_z(correlation: np.ndarray, *, prob: float = 0.95, points: int = 2**15) -> float:
    r"""
    Return the quantile of max abs(Z_k) for jointly normal Z.

    The quantile q satisfies P(max abs(Z_k) <= q) = prob, if all Z_k have mean 0 and variance 1.

    Parameters
    ----------
    correlation : ndarray, shape (d, d)
        Correlation matrix. It may be singular if measures are functionally dependent.
    prob : float, default 0.95
        Probability that all d variables are within q, in (0, 1).
    points : int, default 2**15
        Number of directions, a power of two. Used if q cannot be integrated more accurately.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        If the matrix is not a correlation matrix.

    Notes
    -----
    Independent or equicorrelated variables, and up to four variables with a regular matrix, are
    integrated with an error of about 1e-9. Otherwise, the direction of Z is integrated with a fixed
    Sobol sequence and its length exactly. The error of q is then about 1e-4, and 5e-5 with 2**18
    points. Directions do not require an inverse, so singular matrices need no special treatment.

    References
    ----------
    Genz, A. (1992). Numerical computation of multivariate normal probabilities. Journal of
    Computational and Graphical Statistics 1, 141-149. doi:10.1080/10618600.1992.10477010

    Examples
    --------
    >>> round(max_abs_z(np.eye(2)), 6)
    2.236477
    """
    prob = check_prob(prob)
    correlation = _drop_copies(_check_correlation(correlation))
    single = float(ndtri((1 + prob) / 2))
    if len(correlation) <= 1:
        return single
    covers = _coverage(correlation, points)
    # q is between the quantiles of a single variable and of independent variables (Sidak).
    widest = float(ndtri((1 + prob ** (1 / len(correlation))) / 2))
    return float(brentq(lambda q: covers(q) - prob, single - 0.01, widest + 0.01, xtol=1e-12))


def _check_correlation(correlation):
    correlation = np.atleast_2d(np.asarray(correlation, float))
    square = correlation.ndim == 2 and correlation.shape[0] == correlation.shape[1]
    if (
        not square
        or not np.allclose(np.diag(correlation), 1)
        or not np.allclose(correlation, correlation.T)
    ):
        raise fail(
            "A correlation matrix must be symmetric, with ones on the diagonal",
            correlation,
            "",
            "divide a covariance matrix by the standard deviations",
        )
    return correlation


def _drop_copies(correlation):
    """Remove variables that equal another variable or its negative."""
    keep: list[int] = []
    for row in range(len(correlation)):
        if not any(abs(correlation[row, other]) > 1 - 1e-10 for other in keep):
            keep.append(row)
    return correlation[np.ix_(keep, keep)]


def _coverage(correlation, points):
    size = len(correlation)
    common = correlation[0, 1]
    if common >= 0 and np.allclose(correlation, common + (1 - common) * np.eye(size), atol=1e-12):
        return lambda q: _equicorrelated(q, common, size)
    smallest = np.linalg.eigvalsh(correlation)[0]
    if size <= 4 and smallest > 2e-3:
        return _Conditioned(correlation)
    return _Directions(correlation, points)


def _equicorrelated(q, common, size):
    """Compute P(all abs(Z_k) <= q) by integrating over the common factor."""
    nodes, weights = _normal_rule(200)
    low = ndtr((-q - np.sqrt(common) * nodes) / np.sqrt(1 - common))
    high = ndtr((q - np.sqrt(common) * nodes) / np.sqrt(1 - common))
    return weights @ (high - low) ** size


class _Conditioned:
    """P(all abs(Z_k) <= q), by conditioning each variable on the preceding ones (Genz)."""

    def __init__(self, correlation):
        self.factor = np.linalg.cholesky(correlation)
        size = len(correlation)
        nodes, weights = _graded_rule(96 if size < 4 else 48)
        grids = np.meshgrid(*[nodes] * (size - 1), indexing="ij")
        self.uniform = np.stack([grid.ravel() for grid in grids])
        products = np.meshgrid(*[weights] * (size - 1), indexing="ij")
        self.weights = np.prod(np.stack([grid.ravel() for grid in products]), axis=0)

    def __call__(self, q):
        scores: list[np.ndarray] = []
        total = self.weights
        for row, factors in enumerate(self.factor):
            mean = sum((f * z for f, z in zip(factors, scores, strict=False)), 0.0)
            low, high = ndtr((-q - mean) / factors[row]), ndtr((q - mean) / factors[row])
            total = total * (high - low)
            if row < len(self.uniform):
                scores.append(ndtri(low + self.uniform[row] * (high - low)))
        return total.sum()


class _Directions:
    """P(all abs(Z_k) <= q): the distribution function of the length, averaged over directions."""

    def __init__(self, correlation, points):
        values, vectors = np.linalg.eigh(correlation)
        keep = values > 1e-10 * values[-1]
        factor = vectors[:, keep] * np.sqrt(values[keep])
        self.rank = factor.shape[1]
        if self.rank == 2:
            angle = np.pi * (np.arange(points) + 0.5) / points
            normal = np.stack([np.cos(angle), np.sin(angle)], axis=1)
        else:
            normal = even_normal(points, self.rank, np.random.default_rng(0))
            normal /= np.linalg.norm(normal, axis=1, keepdims=True)
        self.reach = np.abs(normal @ factor.T).max(axis=1)

    def __call__(self, q):
        return chdtr(self.rank, (q / self.reach) ** 2).mean()


def _graded_rule(number):
    """Return a Gauss rule on (0, 1), refined at the ends, where near-duplicates vary rapidly."""
    nodes, weights = np.polynomial.legendre.leggauss(number)
    v = (nodes + 1) / 2
    return v**3 * (10 - 15 * v + 6 * v**2), 15 * weights * v**2 * (1 - v) ** 2


def _normal_rule(number):
    nodes = np.linspace(-9, 9, number)
    weights = np.exp(-(nodes**2) / 2)
    return nodes, weights / weights.sum()
