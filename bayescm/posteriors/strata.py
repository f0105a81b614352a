"""Strata of examples, by what classifiers or a judge said, and each classifier's table of them."""

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
        What every classifier said in each of K strata.
    """

    pairs = ("classifier",)
    cell_prior = False
    how = "draws"
    counts: xr.DataArray
    answers: np.ndarray

    @cached_property
    def _several(self):
        return "classifier" in self.counts.dims

    def strata(self, size: int, rng: np.random.Generator) -> np.ndarray:
        """Return draws (size, ..., K, C) of the probability of every stratum and true class."""
        raise NotImplementedError

    def next_tables(self, size: int, rng: np.random.Generator, n: np.ndarray) -> np.ndarray:
        """Draw the matrices (size, ..., C, C) of the next n examples, which classifiers share."""
        if not self._several:
            return super().next_tables(size, rng, n)
        cells = self.strata(size, rng)
        flat = cells.reshape(*cells.shape[:-2], -1)
        n = n if n.ndim == 0 else n[..., 0]
        return self.table(rng.multinomial(n, flat).reshape(cells.shape).astype(float))

    def each(self, values: np.ndarray) -> np.ndarray:
        """Give what is of all classifiers an axis for them, where the evidence has one."""
        return values[..., None] if self._several else values

    def table(self, cells: np.ndarray) -> np.ndarray:
        """Return (..., [J], C, C), rows = actual, from strata (..., K, R)."""
        classes, real = self.counts.shape[-1], cells.shape[-1]
        said = self.answers[:, None] == np.arange(classes)[:, None]  # (J, C, K)
        flat = cells.swapaxes(-1, -2).astype(float) @ said.reshape(-1, said.shape[-1]).T
        table = flat.reshape(*flat.shape[:-1], -1, classes).swapaxes(-3, -2)
        if real < classes:  # nothing truly is an abstention
            table = np.pad(table, [(0, 0)] * (table.ndim - 2) + [(0, classes - real), (0, 0)])
        return table if self._several else table[..., 0, :, :]
