"""
The direct sibling of `bayescm.models.dirichlet_multinomial`: a Dirichlet posterior of the cells.

With two classes it is three independent betas (prevalence, recall, specificity), and so is each
class against the rest of many: one-class measures have a distribution in closed form or by
quadrature for any number of classes.

References
----------
Caelen, O. (2017). A Bayesian interpretation of the confusion matrix. Annals of Mathematics and
Artificial Intelligence, 81, 429-450. doi:10.1007/s10472-017-9564-8
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from bayescm.direct.base import Posterior, labelled, prior_of
from bayescm.direct.predictive import enumerated
from bayescm.distributions import dirichlet, lookup
from bayescm.measures.kernel import one_vs_rest


@dataclass(frozen=True, eq=False)
class DirichletMultinomial(Posterior):
    """
    The posterior, ``Dirichlet(weights)`` over the cells of each matrix of a batch.

    Attributes
    ----------
    counts : DataArray, dims (..., actual, predicted)
    weights : ndarray, shape (..., C, C)
        Prior pseudo-counts plus counts.
    """

    counts: xr.DataArray
    weights: np.ndarray

    def part(self, index: np.ndarray) -> Posterior:
        """Return some matrices of the flat batch."""
        size = self.weights.shape[-2:]
        counts = labelled(self.pooled.reshape(-1, *size)[index])
        return DirichletMultinomial(counts, self.weights.reshape(-1, *size)[index])

    def distribution(self, measure: Callable, *, of: str = "parameter", n: Any = None) -> Any:
        """Return the distribution of a measure, shape (...) or (..., C), or None."""
        if of == "predictive":
            share = self.weights.sum(axis=-1)[..., ::-1]
            return enumerated(measure, self.weights, share, self.batch.values if n is None else n)
        many = self.weights.shape[-1] > 2
        apart = many and getattr(measure, "one_class", False)
        return lookup.distribution(measure, one_vs_rest(self.weights) if apart else self.weights)

    def variables(self, size: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Return draws (size, ...) of the variables of the PyMC model of the same name."""
        theta = dirichlet.draw(self.weights, size, rng, axes=2)
        return {"theta_cell": theta.reshape(*theta.shape[:-2], -1), "theta": theta}

    def log_density(self, variables: Mapping[str, ArrayLike]) -> np.ndarray:
        """Return the log posterior density at theta_cell (..., C**2)."""
        theta = np.asarray(variables["theta_cell"])
        return dirichlet.logpdf(theta, self.weights.reshape(*self.weights.shape[:-2], -1))

    def log_marginal(self) -> np.ndarray:
        """Return the log marginal likelihood of each matrix."""
        return dirichlet.log_marginal(self.pooled, self.weights, axes=2)


def dirichlet_multinomial(
    counts: xr.DataArray | ArrayLike, *, concentration: Any = None
) -> DirichletMultinomial:
    """
    Return the posterior of the cell probabilities of confusion matrices.

    Parameters
    ----------
    counts : DataArray, dims (..., actual, predicted), or array_like, shape (..., C, C)
        Counts >= 0, fractional ones too. Of an array with two classes index 1 is the positive one.
    concentration : float, array_like or DataArray, optional
        Prior pseudo-counts per cell, one number or (..., C, C); ``2 / C**2`` by default. 0 is
        allowed where no cell is empty.

    Returns
    -------
    DirichletMultinomial

    Raises
    ------
    ValueError
        If the posterior is improper; the message names the cell.

    Examples
    --------
    >>> from bayescm.measures import resolve
    >>> posterior = dirichlet_multinomial([[30, 35], [15, 65]], concentration=0.5)
    >>> posterior.distribution(resolve("f1")).eti(0.95).round(4)
    array([0.641 , 0.7884])
    """
    cells = labelled(counts)
    prior = prior_of(concentration, counts)
    labels = cells.indexes["actual"].tolist()
    return DirichletMultinomial(cells, dirichlet.pseudo_counts(cells.values, prior, labels))
