"""
Direct posterior of `bayescm.models.pooled_folds`, from discounted counts.

The posterior is a Dirichlet distribution. Its counts are summed over the folds and multiplied by
the discount omega. All measures have the same distributions as for one confusion matrix. F1 on
blocked 3x2 folds with ``omega = 1/6`` (the average matrix) has the beta prime interval of Wang et
al. (2015).

References
----------
Wang, Y. & Li, J. (2016). Credible intervals for precision and recall based on a K-fold
cross-validated beta distribution. Neural Computation, 28(8), 1694-1722. doi:10.1162/NECO_a_00857

Wang, Y., Li, J., Li, Y., Wang, R. & Yang, X. (2015). Confidence interval for F1 measure of
algorithm performance based on blocked 3x2 cross-validation. IEEE Transactions on Knowledge and
Data Engineering, 27(3), 651-659. doi:10.1109/TKDE.2014.2359667
"""

from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike
from scipy import special

from bayescm.distributions import dirichlet
from bayescm.evidence.folds import FOLDS, design, stack
from bayescm.posteriors.base import as_labelled_counts, prior_of
from bayescm.posteriors.dirichlet_multinomial import DirichletMultinomial
from bayescm.validate import fail


def pooled_folds(
    counts: xr.DataArray | ArrayLike,
    *,
    concentration: Any = None,
    omega: float | None = None,
) -> "PooledFolds":
    """
    Return the posterior of cell probabilities that all folds share.

    Use it for a quick, conservative interval of any measure. Intervals of `hierarchical_folds` are
    better calibrated.

    Parameters
    ----------
    counts : DataArray, dims (..., [repeat,] fold, actual, predicted), or (..., M, C, C)
        Counts >= 0 of each fold of each repeat, which may be fractional. The scalar coord
        ``n_folds`` is the number K of folds of one cross-validation, if it differs from the length
        of ``fold``.
    concentration : float, array_like or DataArray, optional
        Prior pseudo-counts per cell, one number or (..., C, C). Default: ``2 / C**2``.
    omega : float, optional
        Discount in ``[1 / M, 1]``, for M matrices. Default: ``(K + 1) / (2 M)``, or 1 if this is
        larger.

    Returns
    -------
    PooledFolds

    Raises
    ------
    ValueError
        If there are fewer than two folds, or omega is out of range.

    Examples
    --------
    >>> from bayescm.measures.catalogue import resolve
    >>> cells = [[[6, 4], [4, 6]], [[5, 5], [5, 5]], [[7, 3], [3, 7]]]
    >>> pooled_folds(cells).distribution(resolve("recall")).eti(0.95).round(3)
    array([0.384, 0.789])
    """
    table = as_labelled_counts(counts, "fold")
    folds_design, folds = design(table), stack(table).values.astype(float)
    matrices = folds.shape[-3]
    if omega is None:
        omega = min(max((folds_design["n_folds"] + 1) / 2, 1), matrices) / matrices
    omega = _check_omega(omega, matrices)
    prior = prior_of(concentration, counts, FOLDS)
    posterior_concentration = dirichlet.pseudo_counts(omega * folds.sum(-3), prior)
    return PooledFolds(table, posterior_concentration, folds, omega)


def _check_omega(omega, matrices):
    lowest = 1 / matrices
    number = np.ndim(omega) == 0 and isinstance(omega, (Real, np.ndarray))
    if not number or not lowest * (1 - 1e-9) <= omega <= 1:
        raise fail(
            f"`omega` must be from 1/{matrices} = {lowest:.4g} (the average matrix) to 1 "
            "(plain pooling) for these folds",
            omega,
            "",
            "leave it out for the default",
        )
    return float(omega)


@dataclass(frozen=True, eq=False)
class PooledFolds(DirichletMultinomial):
    """
    Posterior ``Dirichlet(concentration)`` of the cells of each cross-validation.

    Attributes
    ----------
    counts : DataArray, dims (..., [repeat,] fold, actual, predicted)
    concentration : ndarray, shape (..., C, C)
        Prior pseudo-counts plus discounted counts.
    folds : ndarray, shape (..., M, C, C)
        Counts of each fold.
    omega : float
        Discount.
    """

    pooled_dims = FOLDS
    folds: np.ndarray
    omega: float

    def log_marginal_likelihood(self) -> np.ndarray:
        """Return the log of the discounted likelihood, integrated over the prior."""
        prior = self.concentration - self.omega * self.folds.sum(-3)
        ways = special.gammaln(self.folds.sum((-2, -1)) + 1).sum(-1)
        ways = ways - special.gammaln(self.folds + 1).sum((-3, -2, -1))
        return self.omega * ways + _log_beta(self.concentration) - _log_beta(prior)


def _log_beta(concentration):
    return special.gammaln(concentration).sum((-2, -1)) - special.gammaln(
        concentration.sum((-2, -1))
    )
