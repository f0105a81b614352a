"""
The exact sibling of `bayescm.models.dirichlet_multinomial`: a Dirichlet posterior of the cells.

With two classes it is three independent betas (prevalence, recall, specificity), and so is each
class against the rest of many: one-class measures have a distribution in closed form or by
quadrature for any number of classes.

References
----------
Caelen, O. (2017). A Bayesian interpretation of the confusion matrix. Annals of Mathematics and
Artificial Intelligence, 81, 429-450. doi:10.1007/s10472-017-9564-8
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from bayescm.distributions import dirichlet
from bayescm.distributions import lookup as table
from bayescm.measures.catalogue import one_vs_rest


@dataclass(frozen=True, eq=False)
class DirichletMultinomial:
    """
    The posterior, ``Dirichlet(weights)`` over the cells of each matrix of a batch.

    Attributes
    ----------
    cells : ndarray, shape (..., C, C)
        The counts.
    weights : ndarray, shape (..., C, C)
        Prior pseudo-counts plus counts.
    """

    cells: np.ndarray
    weights: np.ndarray

    def take(self, index: np.ndarray) -> "DirichletMultinomial":
        """Return some matrices of the batch, taken as flat."""
        size = self.weights.shape[-2:]
        return DirichletMultinomial(
            self.cells.reshape(-1, *size)[index], self.weights.reshape(-1, *size)[index]
        )

    def distribution(self, kernel: Callable):
        """Return the exact distribution of a measure, shape (...) or (..., C), or None."""
        many = self.weights.shape[-1] > 2
        one_class = getattr(kernel, "one_class", False)
        return table.distribution(
            kernel, one_vs_rest(self.weights) if many and one_class else self.weights
        )

    def measure(self, kernels: Sequence[Callable], size: int, rng) -> list[np.ndarray]:
        """Return draws (size, ..., [C]) of the measures, all from the same matrices."""
        theta = dirichlet.draw(self.weights, size, rng, axes=2)
        return [kernel(theta) for kernel in kernels]

    def draws(self, size: int, rng) -> dict[str, np.ndarray]:
        """Return draws (size, ...) of the variables of the PyMC model of the same name."""
        theta = dirichlet.draw(self.weights, size, rng, axes=2)
        return {"theta_cell": theta.reshape(*theta.shape[:-2], -1), "theta": theta}

    def logpdf(self, theta: ArrayLike) -> np.ndarray:
        """Return the log posterior density at theta (..., C, C)."""
        return dirichlet.logpdf(np.asarray(theta), self.weights, axes=2)

    def log_marginal(self) -> np.ndarray:
        """Return the log marginal likelihood of each matrix."""
        return dirichlet.log_marginal(self.cells, self.weights, axes=2)


def dirichlet_multinomial(
    cells: ArrayLike, *, concentration: ArrayLike | None = None
) -> DirichletMultinomial:
    """
    Return the posterior of the cell probabilities of confusion matrices.

    Parameters
    ----------
    cells : array_like, shape (..., C, C)
        Counts >= 0, fractional ones too; index 1 of two classes is the positive one.
    concentration : array_like, optional
        Prior pseudo-counts per cell, one number or (..., C, C); ``2 / C**2`` by default. 0 is
        allowed where no cell is empty.

    Returns
    -------
    DirichletMultinomial

    Raises
    ------
    ValueError
        Where the posterior is improper; the message names the cell.

    Examples
    --------
    >>> from bayescm.measures.catalogue import resolve
    >>> posterior = dirichlet_multinomial([[30, 35], [15, 65]], concentration=0.5)
    >>> posterior.distribution(resolve("f1")).eti(0.95).round(4)
    array([0.641 , 0.7884])
    """
    cells = np.asarray(cells, float)
    return DirichletMultinomial(cells, dirichlet.pseudo_counts(cells, concentration))
