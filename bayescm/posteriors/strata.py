r"""
Strata of examples, by the answers of classifiers or a judge, and each classifier's table of them.

With :math:`p_{kr}` the probability of stratum k and the true class r, classifier j, which answers
:math:`a_{jk}` in stratum k, has the table

.. math:: \theta^{(j)}_{rc} = \sum_k p_{kr} \, [a_{jk} = c].
"""

from collections.abc import Callable
from functools import cached_property

import numpy as np
import xarray as xr

from bayescm.posteriors.base import CountsPosterior


class Strata(CountsPosterior):
    """
    A posterior of how common each stratum is, and of the truth in each.

    A subclass has ``answers`` and `strata`, beside ``counts``.

    Attributes
    ----------
    counts : DataArray, dims (..., actual, predicted)
        Of several classifiers the matrix of each.
    answers : ndarray of int, shape (J, K)
        The answer of every classifier in each of K strata.
    """

    pairs = ("classifier",)
    cell_prior = False
    how = "draws"
    counts: xr.DataArray
    answers: np.ndarray

    @cached_property
    def _has_classifiers(self):
        return "classifier" in self.counts.dims

    def strata(self, size: int, rng: np.random.Generator) -> np.ndarray:
        """Return draws (size, ..., K, C) of the probability of every stratum and true class."""
        raise NotImplementedError

    def next_tables(self, size: int, rng: np.random.Generator, n: np.ndarray) -> np.ndarray:
        """Draw the matrices (size, ..., C, C) of the next n examples, which classifiers share."""
        if not self._has_classifiers:
            return super().next_tables(size, rng, n)
        cells = self.strata(size, rng)
        flat = cells.reshape(*cells.shape[:-2], -1)
        n = n if n.ndim == 0 else n[..., 0]
        return self.table(rng.multinomial(n, flat).reshape(cells.shape).astype(float))

    def values_in_evidence(self, measure: Callable) -> np.ndarray:
        """Return a measure where each stratum is as its labelled examples are."""
        return self.point(measure)

    def append_classifier(self, values: np.ndarray) -> np.ndarray:
        """Append an axis of the classifiers to values of all, where the evidence has one."""
        return values[..., None] if self._has_classifiers else values

    def table(self, cells: np.ndarray) -> np.ndarray:
        """Return (..., [J], C, C), rows = actual, from strata (..., K, R)."""
        classes, true_classes = self.counts.shape[-1], cells.shape[-1]
        indicator = self.answers[:, None] == np.arange(classes)[:, None]  # (J, C, K)
        flat = cells.swapaxes(-1, -2).astype(float) @ indicator.reshape(-1, indicator.shape[-1]).T
        table = flat.reshape(*flat.shape[:-1], -1, classes).swapaxes(-3, -2)
        if true_classes < classes:  # nothing truly is an abstention
            table = np.pad(
                table, [(0, 0)] * (table.ndim - 2) + [(0, classes - true_classes), (0, 0)]
            )
        return table if self._has_classifiers else table[..., 0, :, :]
