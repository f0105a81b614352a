r"""
The base class of posteriors of strata: combinations of labels from a judge and classifiers.

Let :math:`p_{kr}` be the probability of stratum k and true class r, and :math:`a_{jk}` the
prediction of classifier j in stratum k. The confusion matrix of classifier j is

.. math:: \theta^{(j)}_{rc} = \sum_k p_{kr} \, [a_{jk} = c].
"""

from collections.abc import Callable
from functools import cached_property

import numpy as np
import xarray as xr

from bayescm.posteriors.base import CountsPosterior


class Strata(CountsPosterior):
    """
    Base class of posteriors of the probability of each stratum and of the true class in it.

    A subclass defines ``counts``, ``answers`` and `strata`.

    Attributes
    ----------
    counts : DataArray, dims (..., actual, predicted)
        Confusion matrix, or one for each classifier.
    answers : ndarray of int, shape (J, K)
        Prediction of each classifier in each of K strata.
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
        """Return draws (size, ..., K, C) of the probabilities of strata and true classes."""
        raise NotImplementedError

    def next_tables(self, size: int, rng: np.random.Generator, n: np.ndarray) -> np.ndarray:
        """Return draws of the matrices (size, ..., C, C) of n new examples.

        The classifiers share the examples.
        """
        if not self._has_classifiers:
            return super().next_tables(size, rng, n)
        cells = self.strata(size, rng)
        flat = cells.reshape(*cells.shape[:-2], -1)
        n = n if n.ndim == 0 else n[..., 0]
        return self.table(rng.multinomial(n, flat).reshape(cells.shape).astype(float))

    def values_in_evidence(self, measure: Callable) -> np.ndarray:
        """Return a measure, with the classes in each stratum as in its labelled examples."""
        return self.point(measure)

    def append_classifier(self, values: np.ndarray) -> np.ndarray:
        """Append an axis for the classifiers, if the evidence has this dimension."""
        return values[..., None] if self._has_classifiers else values

    def table(self, cells: np.ndarray) -> np.ndarray:
        """Return the matrices (..., [J], C, C), rows = actual, of the strata (..., K, R)."""
        classes, true_classes = self.counts.shape[-1], cells.shape[-1]
        indicator = self.answers[:, None] == np.arange(classes)[:, None]  # (J, C, K)
        flat = cells.swapaxes(-1, -2).astype(float) @ indicator.reshape(-1, indicator.shape[-1]).T
        table = flat.reshape(*flat.shape[:-1], -1, classes).swapaxes(-3, -2)
        if true_classes < classes:  # no true class is an abstention
            table = np.pad(
                table, [(0, 0)] * (table.ndim - 2) + [(0, classes - true_classes), (0, 0)]
            )
        return table if self._has_classifiers else table[..., 0, :, :]
