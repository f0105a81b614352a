r"""
Direct posterior of `bayescm.models.fixed_totals`: Dirichlet rows, prevalence.

The rows :math:`r_i` of the rates are independent, and :math:`\pi` are the shares of the actual
classes:

.. math:: r_i \mid n \sim \mathrm{Dirichlet}(a_i + n_i), \qquad \theta_{ij} = \pi_i r_{ij},

with the counts n and the prior pseudo-counts a of the cells. :math:`\pi` is known, or the share of
the positive class has a beta prior. The class totals are fixed by the design, so they do not inform
:math:`\pi`.

With two classes, recall and specificity are independent betas, as in `dirichlet_multinomial`. Only
the distribution of the prevalence differs.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from bayescm.distributions import closed_forms, dirichlet
from bayescm.distributions.beta import Beta, PointMass
from bayescm.distributions.preintegration import preintegrated
from bayescm.evidence.counts import with_shares
from bayescm.measures.measure import is_by_member
from bayescm.posteriors.base import (
    CountsPosterior,
    Posterior,
    as_labelled_counts,
    prior_of,
    shares_of,
)
from bayescm.posteriors.predictive import enumerated
from bayescm.validate import fail


def fixed_totals(
    counts: xr.DataArray | ArrayLike,
    *,
    concentration: Any = None,
    prevalence: Any = None,
) -> "FixedTotals":
    """
    Return the posterior of confusion matrices with class totals fixed by design.

    Use it for case-control and stratified test sets. The prevalence is known or has a prior.

    Parameters
    ----------
    counts : DataArray, dims (..., actual, predicted), or array_like, shape (..., C, C)
        Counts >= 0. In an array with two classes, index 1 is the positive class.
    concentration : float, array_like or DataArray, optional
        Prior pseudo-counts per cell, one number or (..., C, C). Default: ``2 / C**2``.
    prevalence : float, array_like, DataArray or tuple, optional
        Share of each actual class, of shape ``(..., C)`` and summing to 1. With two classes, also:

        - a number, or an array of the shape of the batch: the share of the positive class
        - a *tuple* (a, b): the prior Beta(a, b) of this share, for the whole batch

        Default: the coord ``prevalence`` or, without it, the shares in the sample.

    Returns
    -------
    FixedTotals

    Raises
    ------
    ValueError
        If the shares are not in (0, 1) or do not sum to 1, or if the beta prior is invalid.

    Examples
    --------
    >>> from bayescm.measures.catalogue import resolve
    >>> posterior = fixed_totals([[30, 20], [5, 45]], prevalence=0.01)
    >>> posterior.distribution(resolve("recall")).mean().round(4).item()
    0.8922
    """
    table = as_labelled_counts(counts)
    labels = table.indexes["actual"].tolist()
    posterior_concentration = dirichlet.pseudo_counts(table.values, prior_of(concentration, counts))
    prevalence = shares_of(prevalence, counts, table)
    if isinstance(prevalence, tuple):
        return FixedTotals(table, posterior_concentration, None, _prior(prevalence, len(labels)))
    return FixedTotals(table, posterior_concentration, _shares(table.values, prevalence), None)


def _prior(pair, classes):
    if classes != 2 or len(pair) != 2 or not all(0 < parameter < np.inf for parameter in pair):
        raise fail(
            "The prior of the prevalence must be two finite numbers > 0, for two classes",
            pair,
            "",
            "pass e.g. `prevalence=(2, 8)`",
        )
    return float(pair[0]), float(pair[1])


def _shares(cells, prevalence):
    classes = cells.shape[-1]
    if prevalence is None:
        totals = cells.sum(axis=-1)
        shares = totals / totals.sum(axis=-1, keepdims=True)
        todo = "pass `prevalence=`, or use `model='dirichlet_multinomial'`"
    else:
        shares = np.asarray(prevalence, float)
        if classes == 2 and shares.shape in ((), cells.shape[:-2]):
            shares = np.stack([1 - shares, shares], axis=-1)
        todo = "pass e.g. `prevalence=0.1`"
    right = shares.ndim and shares.shape[-1] == classes
    if not right or not (((shares > 0) & (shares < 1)).all() and np.allclose(shares.sum(-1), 1)):
        what = (
            "a class has no examples"
            if prevalence is None
            else "prevalence must lie between 0 and 1"
        )
        raise fail(f"{what}: {{}}", shares.tolist(), "proportions in (0, 1) that sum to 1", todo)
    return np.broadcast_to(shares, cells.shape[:-1])


@dataclass(frozen=True, eq=False)
class FixedTotals(CountsPosterior):
    """
    Posterior with independent rows ``Dirichlet(concentration[..., i, :])`` and a prevalence.

    Attributes
    ----------
    counts : DataArray, dims (..., actual, predicted)
    concentration : ndarray, shape (..., C, C)
        Prior pseudo-counts plus counts.
    shares : ndarray, shape (..., C), or None
        Share of each actual class. None if it has a prior.
    prior : tuple of two floats, or None
        Parameters of the beta distribution of the share of the positive class.
    """

    counts: xr.DataArray
    concentration: np.ndarray
    shares: Any
    prior: tuple[float, float] | None

    def isel_batch(self, index: np.ndarray) -> Posterior:
        """Return the posterior of some matrices of the flattened batch."""
        size = self.concentration.shape[-2:]
        cells, concentration = (
            tables.reshape(-1, *size)[index] for tables in (self.pooled, self.concentration)
        )
        shares = None if self.shares is None else self.shares.reshape(-1, size[0])[index]
        return FixedTotals(as_labelled_counts(cells), concentration, shares, self.prior)

    def point(self, measure: Callable, of: str = "parameter") -> np.ndarray:
        """Return the measure of the observed rates at the known prevalence or its prior mean."""
        if self.prior is None:
            return measure(with_shares(self.pooled, self.shares))
        mean = self.prior[0] / sum(self.prior)
        return measure(with_shares(self.pooled, np.array([1 - mean, mean])))

    def exact_distribution(self, measure: Callable, *, of: str = "parameter", n: Any = None) -> Any:
        """Return the distribution of a measure, shape (...), or None if it is sampled."""
        row = closed_forms.is_of_a_row(measure) and closed_forms.is_proper(
            measure, self.concentration
        )
        if of == "predictive" or not row:
            self._check_proper()
        if of == "predictive":
            sizes = self.batch.values if n is None else n
            return enumerated(measure, self.concentration, self._share(), sizes)
        if self.concentration.shape[-1] > 2:
            distribution = closed_forms.distribution_of_rows(measure, self.concentration)
        else:
            distribution = closed_forms.distribution_at_prevalence(
                measure, self.concentration, self._prevalence()
            )
        return self._preintegrated(measure) if distribution is None else distribution

    def _preintegrated(self, measure):
        """Return the distribution of a function of a few small tables, or None."""
        if is_by_member(measure):
            return None
        labels, size = self.classes_of(measure), self.concentration.shape[-1]
        rows = [self.concentration[..., row, :] for row in range(size)]

        def function(cells):
            if self.prior is None:
                return measure(cells.reshape(-1, size, size))
            return measure(cells[:, :size, None] * cells[:, size:].reshape(-1, size, size))

        if self.prior is not None:
            rows.insert(0, np.broadcast_to(self.prior[::-1], rows[0].shape))
        classes = None if labels is None else len(labels)
        return preintegrated(rows, function, measure.range, totals=self.shares, classes=classes)

    def _check_proper(self):
        dirichlet.check_proper(self.concentration, self.counts.indexes["actual"].tolist())

    def _prevalence(self):
        if self.prior is None:
            return PointMass(self.shares[..., 1])
        batch = np.ones(self.concentration.shape[:-2])
        return Beta(self.prior[0] * batch, self.prior[1] * batch)

    def _share(self):
        """Return the beta parameters of the share of positives, or a known share and NaN."""
        batch = np.ones(self.concentration.shape[:-2])
        if self.prior is None:
            return np.stack([self.shares[..., 1], np.nan * batch], axis=-1)
        return np.stack([self.prior[0] * batch, self.prior[1] * batch], axis=-1)

    def variables(self, size: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Return draws (size, ...) of the variables of the corresponding PyMC model."""
        self._check_proper()
        rates = dirichlet.draw(self.concentration, size, rng)
        if self.prior is None:
            return {"rates": rates, "theta": self.shares[..., None] * rates}
        positive = rng.beta(*self.prior, size)
        shares = np.stack([1 - positive, positive], -1)
        shares = shares.reshape(size, *[1] * (rates.ndim - 3), 2, 1)
        return {"prevalence": positive, "rates": rates, "theta": shares * rates}

    def log_density(self, variables: Mapping[str, ArrayLike]) -> np.ndarray:
        """Return the log posterior density of the rows at rates (..., C, C)."""
        return dirichlet.logpdf(np.asarray(variables["rates"]), self.concentration).sum(axis=-1)

    def log_marginal_likelihood(self) -> np.ndarray:
        """Return the log marginal likelihood of each matrix, given its class totals."""
        return dirichlet.log_marginal(self.pooled, self.concentration).sum(axis=-1)
