r"""
The direct posterior of `bayescm.models.importance_weighted`: a Dirichlet posterior, reweighted.

The cell probabilities p of the weighted sample have a Dirichlet posterior: prior pseudo-counts plus
effective counts. The cell probabilities of the population are proportional to p times
:math:`\bar w_{ij}`, the mean weight of the examples in the cell,

.. math:: \theta_{ij} = \frac{p_{ij} \bar w_{ij}}{\sum_{kl} p_{kl} \bar w_{kl}}.

Distributions of measures are estimated from draws.

References
----------
Rubin, D. B. (1981). The Bayesian bootstrap. Annals of Statistics 9, 130-134.
doi:10.1214/aos/1176345338
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from bayescm.distributions import dirichlet
from bayescm.evidence.counts import abstains
from bayescm.posteriors.base import CountsPosterior, as_labelled_counts, prior_of
from bayescm.posteriors.dirichlet_multinomial import possible, squared
from bayescm.validate import check_counts, fail


def importance_weighted(counts: xr.DataArray, *, concentration: Any = None) -> "ImportanceWeighted":
    """
    Return the posterior of the cell probabilities from examples with importance weights.

    Parameters
    ----------
    counts : DataArray, dims (..., actual, predicted)
        From `bayescm.from_predictions` with ``weights_are="importance"``.
    concentration : float, array_like or DataArray, optional
        Prior pseudo-counts of the cells of the sample. By default ``2 / C**2`` for C classes.

    Returns
    -------
    ImportanceWeighted

    Raises
    ------
    ValueError
        If the counts do not come from importance weights, or the posterior is improper.

    Examples
    --------
    >>> import bayescm as bcm
    >>> counts = bcm.from_predictions(
    ...     [1, 1, 1, 0, 0], [1, 1, 0, 0, 1], weights=[2, 2, 2, 0.5, 0.5], weights_are="importance"
    ... )
    >>> importance_weighted(counts).mean_weights.round(2)
    array([[0.28, 0.28],
           [1.12, 1.12]])
    """
    cells = as_labelled_counts(counts, abstention=True)
    if "effective" not in cells.coords:
        raise fail(
            "These counts have no importance weights",
            ...,
            "",
            'build them with `from_predictions`(..., `weights=...`, `weights_are="importance"`)',
        )
    effective = cells["effective"].broadcast_like(cells).transpose(*cells.dims).values.astype(float)
    check_counts(effective, fractional=True, name="an effective count")
    labels = cells.indexes["actual"].tolist()
    silent = abstains(cells)
    posterior_concentration = dirichlet.pseudo_counts(
        effective, prior_of(concentration, counts), abstains=silent
    )
    dirichlet.check_proper(posterior_concentration, labels, abstains=silent)
    return ImportanceWeighted(cells, effective, posterior_concentration)


@dataclass(frozen=True, eq=False)
class ImportanceWeighted(CountsPosterior):
    """
    Posterior of the cell probabilities of the weighted sample and of the population.

    Attributes
    ----------
    counts : DataArray, dims (..., actual, predicted)
        Sum of the weights in each cell.
    effective : ndarray, shape (..., C, C)
        Effective number of examples in each cell.
    concentration : ndarray, shape (..., C, C)
        Prior pseudo-counts plus effective counts.
    """

    knows_weights = True
    how = "draws"
    counts: xr.DataArray
    effective: np.ndarray
    concentration: np.ndarray

    def variables(self, size: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Return draws (size, ...) of the variables of the PyMC model of the same name."""
        cells = dirichlet.draw(possible(self.concentration, self.counts), size, rng)
        theta = squared(cells, self.counts) * self.mean_weights
        return {"theta_cell": cells, "theta": theta / theta.sum((-2, -1), keepdims=True)}

    @property
    def mean_weights(self) -> np.ndarray:
        """Relative mean weight of each cell. An empty cell has the mean of its row or matrix."""
        counts, effective = self.counts.values.astype(float), self.effective
        means = counts.sum((-2, -1), keepdims=True) / effective.sum((-2, -1), keepdims=True)
        means = np.broadcast_to(means, counts.shape).copy()
        for sums in (
            [array.sum(-1, keepdims=True) for array in (counts, effective)],
            (counts, effective),
        ):
            total, number = (np.broadcast_to(array, counts.shape) for array in sums)
            np.divide(total, number, out=means, where=number > 0)
        return means

    def log_density(self, variables: Mapping[str, ArrayLike]) -> np.ndarray:
        """Return the log posterior density at theta_cell (..., cells)."""
        theta = np.asarray(variables["theta_cell"])
        return dirichlet.logpdf(theta, possible(self.concentration, self.counts))

    def log_marginal_likelihood(self) -> np.ndarray:
        """Return the log marginal likelihood of the effective counts of each matrix."""
        cells = (possible(matrix, self.counts) for matrix in (self.effective, self.concentration))
        return dirichlet.log_marginal(*cells)
