r"""
The direct posterior of `bayescm.models.dirichlet_multinomial`: a Dirichlet posterior of the cells.

.. math:: \theta \mid n \sim \mathrm{Dirichlet}(a + n),

with the counts n and the prior pseudo-counts a of the cells. With two classes it is three
independent betas (prevalence, recall, specificity), and so is each class against the rest of many:
one-class measures have a distribution in closed form or by quadrature for any number of classes
(`bayescm.distributions.closed_forms`); other functions of few cells are integrated along lines
(`bayescm.distributions.preintegration`), numbers of many classes have their moments
(`bayescm.distributions.moments`), and what is left is drawn. Where a label is an abstention its row
is empty by definition, and the Dirichlet distribution is of the other cells.

References
----------
Caelen, O. (2017). A Bayesian interpretation of the confusion matrix. Annals of Mathematics and
Artificial Intelligence, 81, 429-450. doi:10.1007/s10472-017-9564-8
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from bayescm.distributions import closed_forms, dirichlet
from bayescm.distributions.batches import LazyDraws
from bayescm.distributions.moments import MomentsOrDraws
from bayescm.distributions.preintegration import preintegrated
from bayescm.evidence.counts import abstains
from bayescm.measures.measure import (
    from_class_totals,
    including,
    is_by_member,
    of_members,
    one_vs_rest,
)
from bayescm.posteriors.base import DRAWS, CountsPosterior, Posterior, as_labelled_counts, prior_of
from bayescm.posteriors.predictive import enumerated

_COARSE = 1e-3  # the coarsest accuracy that may be asked for
_MANY_CLASSES = 30  # from here on most cells of a draw are almost 0, with the default prior
_TAIL = 2.7 / DRAWS**0.5  # the Monte Carlo error of a bound of 95 %, in standard deviations


def dirichlet_multinomial(
    counts: xr.DataArray | ArrayLike, *, concentration: Any = None
) -> "DirichletMultinomial":
    """
    Return the posterior of the cell probabilities of confusion matrices.

    Parameters
    ----------
    counts : DataArray, dims (..., actual, predicted), or array_like, shape (..., C, C)
        Counts >= 0, fractional ones too. Of an array with two classes index 1 is the positive one.
    concentration : float, array_like or DataArray, optional
        Prior pseudo-counts per cell, one number or (..., C, C); ``2 / C**2`` by default, for C
        classes. 0 is allowed; measures that depend on an empty cell are then refused.

    Returns
    -------
    DirichletMultinomial

    Raises
    ------
    ValueError
        If a concentration is negative; when asked for a measure whose distribution is improper, the
        message names the cell.

    Examples
    --------
    >>> from bayescm.measures import resolve
    >>> posterior = dirichlet_multinomial([[30, 35], [15, 65]], concentration=0.5)
    >>> posterior.distribution(resolve("f1")).eti(0.95).round(4)
    array([0.641 , 0.7884])
    """
    cells = as_labelled_counts(counts, abstention=True)
    prior = prior_of(concentration, counts)
    weights = dirichlet.pseudo_counts(cells.values, prior, abstains=abstains(cells))
    return DirichletMultinomial(cells, weights)


@dataclass(frozen=True, eq=False)
class DirichletMultinomial(CountsPosterior):
    """
    The posterior, ``Dirichlet(weights)`` over the cells of each matrix of a batch.

    Attributes
    ----------
    counts : DataArray, dims (..., actual, predicted)
    weights : ndarray, shape (..., C, C)
        Prior pseudo-counts plus counts; 0 in the row of an abstention, the last one.
    """

    counts: xr.DataArray
    weights: np.ndarray

    def shrinks_by(self, of: str) -> str:
        """Return why the posterior may be away from a point estimate, as half a sentence."""
        prior = (self.weights - self.pooled).sum(axis=(-2, -1)).max()
        examples = float(np.min(self.batch.values))
        return f"the prior is worth {prior:.3g} examples, compared with {examples:.4g} tested ones"

    def isel_batch(self, index: np.ndarray) -> Posterior:
        """Return some matrices of the flat batch."""
        size = self.weights.shape[-2:]
        counts = as_labelled_counts(self.pooled.reshape(-1, *size)[index])
        if abstains(self.counts):
            counts = counts.assign_coords(abstain=size[-1] - 1)
        return DirichletMultinomial(counts, self.weights.reshape(-1, *size)[index])

    def exact_distribution(self, measure: Any, *, of: str = "parameter", n: Any = None) -> Any:
        """
        Return the distribution of a measure, shape (...) or (..., C), or None if it is drawn.

        The first of these that applies:

        1. `closed_forms`: measures of two classes, of one class against the rest, and of right
           against wrong. They are beta variables, F1, or functions of a few independent shares,
           which `quadrature` integrates with errors as small as requested.
        2. `preintegration`: any other function of at most 27 cells, for at most 8 numbers, if
           lines know the bounds to 1e-3 of the length of the interval.
        3. `moments`: averages over classes and the Matthews correlation, for any number of classes
           and tables, if the error of the moments is less than the error of draws.

        The predictive distribution of two classes is enumerated (`predictive`).
        """
        weights, reduced = self.weights, measure
        if measure.collapse is not None:
            reduce, reduced = measure.collapse
            weights, reduced = reduce(weights), including(reduced, measure.included)
        if of == "predictive" and abstains(self.counts):
            return None
        if weights.shape[-1] > 2 and reduced.one_class:
            weights = one_vs_rest(weights)
        if of == "predictive" or not (
            self.weights.all() or closed_forms.is_proper(reduced, weights)
        ):
            self.check_proper()
        if of == "predictive":
            share = self.weights.sum(axis=-1)[..., ::-1]
            return enumerated(reduced, self.weights, share, self.batch.values if n is None else n)
        distribution = closed_forms.distribution(reduced, weights)
        if distribution is None:
            distribution = self._preintegrated(measure)
        return self._by_moments(measure, reduced, weights) if distribution is None else distribution

    def _preintegrated(self, measure):
        """Return the distribution of a function of a few tables of few cells, or None."""
        if is_by_member(measure):
            return None
        counts, labels = self.counts, self.classes_of(measure)

        def function(cells):
            return measure(squared(cells, counts))

        classes = None if labels is None else len(labels)
        return preintegrated([self.parameters], function, measure.range, classes=classes)

    def _by_moments(self, measure, reduced, weights):
        """Return the distribution of a number of many classes by moments, or None."""
        moments = closed_forms.by_moments(reduced, weights)
        if moments is None:
            return None
        distribution = MomentsOrDraws(
            moments,
            lambda k: LazyDraws(self.isel_batch(k), of_members(measure, k), DRAWS, 0),
            _TAIL,
        )
        # The measures of a single table are better drawn together than each by itself.
        usable = distribution.with_tolerance(_COARSE) if self.batch.ndim else distribution
        return distribution if usable.good.any() else None

    def draw_parameter(
        self, measures: Sequence[Callable], size: int, rng: np.random.Generator
    ) -> list[np.ndarray]:
        """Draw measures jointly; those of many classes from the totals of the classes alone."""
        if not need_class_totals_only(measures, self.weights, self.counts):
            return super().draw_parameter(measures, size, rng)
        self.check_proper()
        totals = dirichlet.draw_class_totals(self.weights, size, rng)
        return [totals.measured(measure) for measure in measures]

    def check_proper(self) -> None:
        """Raise where the posterior is improper: a cell has neither counts nor prior."""
        dirichlet.check_proper(
            self.weights, self.counts.indexes["actual"].tolist(), abstains=abstains(self.counts)
        )

    @property
    def parameters(self) -> np.ndarray:
        """The Dirichlet parameters of the cells that may occur, (..., cells)."""
        return possible(self.weights, self.counts)

    def variables(self, size: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Return draws (size, ...) of the variables of the PyMC model of the same name."""
        self.check_proper()
        theta = dirichlet.draw(self.parameters, size, rng)
        return {"theta_cell": theta, "theta": squared(theta, self.counts)}

    def log_density(self, variables: Mapping[str, ArrayLike]) -> np.ndarray:
        """Return the log posterior density at theta_cell (..., cells)."""
        return dirichlet.logpdf(np.asarray(variables["theta_cell"]), self.parameters)

    def log_marginal_likelihood(self) -> np.ndarray:
        """Return the log marginal likelihood of each matrix."""
        return dirichlet.log_marginal(possible(self.pooled, self.counts), self.parameters)


def need_class_totals_only(
    measures: Sequence[Callable], weights: np.ndarray, counts: xr.DataArray
) -> bool:
    """
    Return whether measures of tables of many classes can be drawn from the totals of the classes.

    Parameters
    ----------
    measures : sequence of Measure
    weights : ndarray, shape (..., C, C)
        Prior pseudo-counts plus counts.
    counts : DataArray, dims (..., actual, predicted)
    """
    if weights.shape[-1] < _MANY_CLASSES or abstains(counts):
        return False
    # The true negatives are found by subtraction, which must leave them digits.
    diagonal = np.einsum("...ii->...i", weights)
    in_class = weights.sum(-1) + weights.sum(-2) - diagonal
    negatives = weights.sum((-2, -1))[..., None] - in_class
    return bool((negatives >= 1).all()) and all(map(from_class_totals, measures))


def possible(cells: np.ndarray, counts: xr.DataArray) -> np.ndarray:
    """Return the cells (..., C, C) that may occur in a row: all but those of an abstention."""
    rows = cells.shape[-1] - abstains(counts)
    return cells[..., :rows, :].reshape(*cells.shape[:-2], -1)


def squared(flat: np.ndarray, counts: xr.DataArray) -> np.ndarray:
    """Return the cells (..., C, C) from those that may occur."""
    size = counts.shape[-1]
    if not abstains(counts):
        return flat.reshape(*flat.shape[:-1], size, size)
    cells = np.zeros((*flat.shape[:-1], size, size))
    cells[..., :-1, :] = flat.reshape(*flat.shape[:-1], size - 1, size)
    return cells
