r"""
Direct posterior of `bayescm.models.dirichlet_multinomial`: Dirichlet cells.

.. math:: \theta \mid n \sim \mathrm{Dirichlet}(a + n),

with the counts n and the prior pseudo-counts a of the cells. With two classes, the posterior
consists of independent beta distributions of prevalence, recall and specificity. With more classes,
the same is true of each class against the rest. A measure's distribution is computed in one of four
ways:

- Measures of one class have a closed form, or are integrated by quadrature
  (`bayescm.distributions.closed_forms`).
- Other functions of few cells are integrated along lines (`bayescm.distributions.preintegration`).
- Distributions of functions of many classes are matched by moments
  (`bayescm.distributions.moments`).
- All other measures are sampled.

If a label is an abstention, its row is empty by definition, and the Dirichlet distribution covers
the other cells.

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

_COARSE = 1e-3  # coarsest accuracy that can be requested
# With this many classes or more, most cells of a draw are almost 0 under the default prior.
_MANY_CLASSES = 30
_TAIL = 2.7 / DRAWS**0.5  # standard error of an end of a 95% interval, in standard deviations


def dirichlet_multinomial(
    counts: xr.DataArray | ArrayLike, *, concentration: Any = None
) -> "DirichletMultinomial":
    """
    Return the posterior of the cell probabilities of confusion matrices.

    Use it for test sets of independent examples. Each matrix of a batch has a separate posterior.

    Parameters
    ----------
    counts : DataArray, dims (..., actual, predicted), or array_like, shape (..., C, C)
        Counts >= 0, which may be fractional. In an array with two classes, index 1 is the positive
        class.
    concentration : float, array_like or DataArray, optional
        Prior pseudo-counts per cell, one number or (..., C, C). Default: ``2 / C**2`` for C
        classes. If it is 0, measures that depend on an empty cell are rejected.

    Returns
    -------
    DirichletMultinomial

    Raises
    ------
    ValueError
        If a concentration is negative. The methods of the posterior also raise it if the
        distribution of a requested measure is improper. The message then names the cell.

    Examples
    --------
    >>> from bayescm.measures import resolve
    >>> posterior = dirichlet_multinomial([[30, 35], [15, 65]], concentration=0.5)
    >>> posterior.distribution(resolve("f1")).eti(0.95).round(4)
    array([0.641 , 0.7884])
    """
    cells = as_labelled_counts(counts, abstention=True)
    prior = prior_of(concentration, counts)
    posterior_concentration = dirichlet.pseudo_counts(cells.values, prior, abstains=abstains(cells))
    return DirichletMultinomial(cells, posterior_concentration)


@dataclass(frozen=True, eq=False)
class DirichletMultinomial(CountsPosterior):
    """
    Posterior ``Dirichlet(concentration)`` of the cells of each matrix of a batch.

    Attributes
    ----------
    counts : DataArray, dims (..., actual, predicted)
    concentration : ndarray, shape (..., C, C)
        Prior pseudo-counts plus counts. The row of an abstention, which is the last, is 0.
    """

    counts: xr.DataArray
    concentration: np.ndarray

    def shrinks_by(self, of: str) -> str:
        """Return why the posterior may differ from a point estimate, as part of a sentence."""
        prior = (self.concentration - self.pooled).sum(axis=(-2, -1)).max()
        examples = float(np.min(self.batch.values))
        return f"the prior is worth {prior:.3g} examples, compared with {examples:.4g} tested ones"

    def isel_batch(self, index: np.ndarray) -> Posterior:
        """Return the posterior of some matrices of the flattened batch."""
        size = self.concentration.shape[-2:]
        counts = as_labelled_counts(self.pooled.reshape(-1, *size)[index])
        if abstains(self.counts):
            counts = counts.assign_coords(abstain=size[-1] - 1)
        return DirichletMultinomial(counts, self.concentration.reshape(-1, *size)[index])

    def exact_distribution(self, measure: Any, *, of: str = "parameter", n: Any = None) -> Any:
        """
        Return the distribution of a measure, or None if it is sampled.

        The shape is (...) or (..., C). The first applicable method is used:

        1. `closed_forms`: measures of two classes, of one class against the rest, and of correct
           against wrong predictions. These are beta variables, F1, or functions of a few
           independent shares. `quadrature` integrates the functions with errors as small as
           requested.
        2. `preintegration`: any other function of at most 27 cells, with at most 8 values. The
           interval ends must be accurate to 1e-3 of the length of the interval.
        3. `moments`: averages over classes and the Matthews correlation, for any number of classes
           and tables. The error from the moments must be less than the Monte Carlo error.

        The predictive distribution of two classes is enumerated (`predictive`).
        """
        concentration, reduced = self.concentration, measure
        if measure.collapse is not None:
            reduce, reduced = measure.collapse
            concentration, reduced = reduce(concentration), including(reduced, measure.included)
        if of == "predictive" and abstains(self.counts):
            return None
        if concentration.shape[-1] > 2 and reduced.one_class:
            concentration = one_vs_rest(concentration)
        if of == "predictive" or not (
            self.concentration.all() or closed_forms.is_proper(reduced, concentration)
        ):
            self.check_proper()
        if of == "predictive":
            share = self.concentration.sum(axis=-1)[..., ::-1]
            return enumerated(
                reduced, self.concentration, share, self.batch.values if n is None else n
            )
        distribution = closed_forms.distribution(reduced, concentration)
        if distribution is None:
            distribution = self._preintegrated(measure)
        return (
            self._by_moments(measure, reduced, concentration)
            if distribution is None
            else distribution
        )

    def _preintegrated(self, measure):
        """Return the distribution of a function of a few small tables, or None."""
        if is_by_member(measure):
            return None
        counts, labels = self.counts, self.classes_of(measure)

        def function(cells):
            return measure(squared(cells, counts))

        classes = None if labels is None else len(labels)
        return preintegrated([self.parameters], function, measure.range, classes=classes)

    def _by_moments(self, measure, reduced, concentration):
        """Return the distribution of a function of many classes from its moments, or None."""
        moments = closed_forms.by_moments(reduced, concentration)
        if moments is None:
            return None
        distribution = MomentsOrDraws(
            moments,
            lambda k: LazyDraws(self.isel_batch(k), of_members(measure, k), DRAWS, 0),
            _TAIL,
        )
        # A single table without accurate moments is sampled, so that all measures share its draws.
        usable = distribution.with_tolerance(_COARSE) if self.batch.ndim else distribution
        return distribution if usable.good.any() else None

    def draw_parameter(
        self, measures: Sequence[Callable], size: int, rng: np.random.Generator
    ) -> list[np.ndarray]:
        """Sample measures jointly, from class totals alone if there are many classes."""
        if not need_class_totals_only(measures, self.concentration, self.counts):
            return super().draw_parameter(measures, size, rng)
        self.check_proper()
        totals = dirichlet.draw_class_totals(self.concentration, size, rng)
        return [totals.measured(measure) for measure in measures]

    def check_proper(self) -> None:
        """Raise an error if the posterior is improper because an empty cell has no prior."""
        dirichlet.check_proper(
            self.concentration,
            self.counts.indexes["actual"].tolist(),
            abstains=abstains(self.counts),
        )

    @property
    def parameters(self) -> np.ndarray:
        """The Dirichlet parameters of the possible cells, (..., cells)."""
        return possible(self.concentration, self.counts)

    def variables(self, size: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Return draws (size, ...) of the variables of the corresponding PyMC model."""
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
    measures: Sequence[Callable], concentration: np.ndarray, counts: xr.DataArray
) -> bool:
    """
    Return True if class totals suffice to sample measures of many classes.

    Parameters
    ----------
    measures : sequence of Measure
    concentration : ndarray, shape (..., C, C)
        Prior pseudo-counts plus counts.
    counts : DataArray, dims (..., actual, predicted)
    """
    if concentration.shape[-1] < _MANY_CLASSES or abstains(counts):
        return False
    # The true negatives are computed by subtraction, which is inaccurate if few examples remain.
    diagonal = np.einsum("...ii->...i", concentration)
    in_class = concentration.sum(-1) + concentration.sum(-2) - diagonal
    negatives = concentration.sum((-2, -1))[..., None] - in_class
    return bool((negatives >= 1).all()) and all(map(from_class_totals, measures))


def possible(cells: np.ndarray, counts: xr.DataArray) -> np.ndarray:
    """Return the possible cells, flattened, without the row of an abstention."""
    rows = cells.shape[-1] - abstains(counts)
    return cells[..., :rows, :].reshape(*cells.shape[:-2], -1)


def squared(flat: np.ndarray, counts: xr.DataArray) -> np.ndarray:
    """Return the cells (..., C, C), given the possible cells along one axis."""
    size = counts.shape[-1]
    if not abstains(counts):
        return flat.reshape(*flat.shape[:-1], size, size)
    cells = np.zeros((*flat.shape[:-1], size, size))
    cells[..., :-1, :] = flat.reshape(*flat.shape[:-1], size - 1, size)
    return cells
