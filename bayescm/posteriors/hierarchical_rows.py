r"""
Direct posterior of `bayescm.models.hierarchical_rows`: sums over grids.

Row i has :math:`h_i` hits among :math:`n_i` examples. The accuracies of the classes are
:math:`a_i \sim \mathrm{Beta}(w m, w (1 - m))`. Their mean is m, and :math:`w = 4 / \tau^2` for the
spread :math:`\tau`. The class shares are :math:`\pi \sim \mathrm{Dirichlet}(v, \dots, v)`. Given m,
:math:`\tau` and v, the model is conjugate. Integrating out the accuracies and shares gives

.. math::

    p(m, \tau \mid h) &\propto p(m, \tau) \prod_i
        \frac{B(h_i + w m, \; n_i - h_i + w (1 - m))}{B(w m, \; w (1 - m))}, \\
    p(v \mid n) &\propto p(v) \, \frac{\Gamma(C v)}{\Gamma(C v + \sum_i n_i)}
        \prod_i \frac{\Gamma(v + n_i)}{\Gamma(v)}.

The factors are the marginal likelihoods of beta-binomial and Dirichlet-multinomial distributions.
Both densities are summed over grids. Draws are independent. Each one selects a cell of the grid, a
uniform point within it, and the rows from their conjugate posterior.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike
from scipy.special import betaln, expit, gammaln, log_expit

from bayescm.distributions import dirichlet
from bayescm.posteriors.base import CountsPosterior, as_labelled_counts
from bayescm.validate import fail

_LOGIT_GRID = np.linspace(-8, 10, 145)  # grid of the logit of the mean accuracy
_UNIFORM_GRID = (np.arange(240) + 0.5) / 240  # grid of v / (1 + v)
_BLOCK = 2**17  # number of cells in a block of draws, so that they stay in the processor's cache
# Forms of measures that depend only on the numbers of correct and wrong predictions.
_OF_ANSWERS = ("right", "wrong"), ("wrong", "right")


def hierarchical_rows(
    counts: xr.DataArray | ArrayLike,
    *,
    concentration: float = 0.5,
    spread: float = 1.0,
    errors: float = 1.0,
) -> "HierarchicalRows":
    """
    Return the posterior of matrices whose class accuracies are partially pooled.

    Use it for macro averages of three or more classes with few examples each.

    Parameters
    ----------
    counts : DataArray, dims (..., actual, predicted), or array_like, shape (..., C, C)
        Counts of C >= 3 classes. A class may be absent.
    concentration : float, default 0.5
        Both parameters of the beta prior for the mean accuracy, > 0.
    spread : float, default 1
        Scale of the half-normal prior for the spread of the accuracies, on the logit scale.
    errors : float, default 1
        Total of the prior pseudo-counts of the errors in a row.

    Returns
    -------
    HierarchicalRows

    Raises
    ------
    ValueError
        If there are fewer than three classes, or an argument is not a finite number > 0.

    Examples
    --------
    >>> from bayescm.measures.catalogue import resolve
    >>> posterior = hierarchical_rows([[4, 1, 0], [0, 5, 1], [1, 0, 3]])
    >>> (drawn,) = posterior.draw([resolve("f1_macro")], 4000, np.random.default_rng(0))
    >>> bool(0.7 < drawn.mean() < 0.85)
    True
    """
    table = as_labelled_counts(counts)
    if table.sizes["actual"] < 3:
        todo = "use dirichlet_multinomial for two classes"
        raise fail(
            "hierarchical_rows needs three or more classes; the counts have the shape {}",
            table.shape,
            "",
            todo,
        )
    scales = {"concentration": concentration, "spread": spread, "errors": errors}
    for name, value in scales.items():
        if not isinstance(value, (int, float, np.number)) or not 0 < value < np.inf:
            raise fail(f"{name} must be one finite number > 0", value, "", f"leave `{name}` out")
    return HierarchicalRows(table, float(concentration), float(spread), float(errors))


@dataclass(frozen=True, eq=False)
class HierarchicalRows(CountsPosterior):
    """
    Posterior of one or more matrices whose class accuracies are partially pooled.

    Attributes
    ----------
    counts : DataArray, dims (..., actual, predicted)
    concentration : float
        Both parameters of the beta prior for the mean accuracy.
    spread : float
        Scale of the half-normal prior for the spread of the accuracies, on the logit scale.
    errors : float
        Total of the prior pseudo-counts of the errors in a row.
    """

    cell_prior = False
    sampling_method = "quadrature"
    counts: xr.DataArray
    concentration: float
    spread: float
    errors: float

    def variables(self, size: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Return draws (size, ...) of the variables of the corresponding PyMC model."""
        drawn = [matrix.draws(size, rng) for matrix in self._matrices]
        return {name: self._as_batch([draws[name] for draws in drawn]) for name in drawn[0]}

    def _as_batch(self, parts):
        """Return draws (size, ..., *shape) of the batch from draws (size, *shape) per matrix."""
        draws = parts[0][:, None] if len(parts) == 1 else np.stack(parts, axis=1)
        return draws.reshape(len(draws), *self.batch.shape, *draws.shape[2:])

    def draw_parameter(
        self, measures: Sequence[Callable], size: int, rng: np.random.Generator
    ) -> list[np.ndarray]:
        """Sample the parameter of measures jointly, in blocks that fit into the cache."""
        rates = [matrix.rates(size, rng) for matrix in self._matrices]
        if all(getattr(measure, "form", None) in _OF_ANSWERS for measure in measures):
            # The distribution of the errors does not affect these measures.
            parts = [(draws["accuracy"][..., 0] * draws["shares"]).sum(-1) for draws in rates]
            accuracy = self._as_batch(parts)
            error, zero = 1 - accuracy, np.zeros_like(accuracy)
            cells = np.stack([accuracy, error, zero, zero], -1).reshape(*accuracy.shape, 2, 2)
            return [measure(cells) for measure in measures]
        block, values = max(1, _BLOCK // self.counts.size), []
        for start in range(0, size, block):
            parts = []
            for matrix, draws in zip(self._matrices, rates, strict=True):
                rates_of_block = {name: draw[start : start + block] for name, draw in draws.items()}
                parts.append(matrix.completed(rates_of_block, rng)["theta"])
            theta = self._as_batch(parts)
            values.append([measure(theta) for measure in measures])
        return [np.concatenate(blocks) for blocks in zip(*values, strict=True)]

    @cached_property
    def _matrices(self):
        flat = self.pooled.astype(float).reshape(-1, *self.pooled.shape[-2:])
        return [
            _MatrixPosterior(cells, self.concentration, self.spread, self.errors) for cells in flat
        ]


class _MatrixPosterior:
    """Posterior of one matrix."""

    def __init__(self, cells, concentration, spread, errors):
        self.cells, self.errors, self.classes = cells, errors, len(cells)
        self.totals, self.right = cells.sum(1), np.diag(cells)
        self._rows(concentration, spread)
        self._shares()

    def _rows(self, concentration, spread):
        """Compute the posterior of the mean accuracy and the spread of accuracies on a grid."""
        logs = np.log(spread) + np.linspace(np.log(0.02), np.log(5), 60)
        logit, log_spread = (axis.ravel() for axis in np.meshgrid(_LOGIT_GRID, logs, indexing="ij"))
        weight = 4 / np.exp(2 * log_spread)
        hits, misses = weight * expit(logit), weight * expit(-logit)
        heights = concentration * (log_expit(logit) + log_expit(-logit))
        heights += log_spread - np.exp(2 * (log_spread - np.log(spread))) / 2
        for right, total in zip(self.right, self.totals, strict=True):
            heights += betaln(right + hits, total - right + misses) - betaln(hits, misses)
        self.grid, self.mass = (logit, log_spread), _normalise(heights)
        self.steps = (_LOGIT_GRID[1] - _LOGIT_GRID[0], logs[1] - logs[0])

    def _shares(self):
        """Compute the posterior of the weight v on a grid, with v / (1 + v) uniform."""
        weight = _UNIFORM_GRID / (1 - _UNIFORM_GRID)
        heights = gammaln(self.classes * weight) - gammaln(
            self.classes * weight + self.totals.sum()
        )
        heights += (gammaln(weight[:, None] + self.totals) - gammaln(weight)[:, None]).sum(1)
        self.even = _normalise(heights)

    def draws(self, size, rng):
        variables = self.completed(self.rates(size, rng), rng)
        return variables | {"accuracy": variables["accuracy"][..., 0]}

    def completed(self, rates, rng):
        """Sample the distribution of the errors, and return all variables."""
        mistakes = self._draw_mistakes(len(rates["shares"]), rng)
        theta = self._theta(rates["shares"], rates["accuracy"], mistakes)
        return rates | {"mistakes": mistakes, "theta": theta}

    def rates(self, size, rng):
        """Sample all variables but the errors. Accuracies (size, C, 2) include complements."""
        cell = rng.choice(len(self.mass), size, p=self.mass)
        # Sample uniformly within the cell, so that draws do not lie on the grid.
        logit, log_spread = (
            axis[cell] + step * (rng.random(size) - 0.5)
            for axis, step in zip(self.grid, self.steps, strict=True)
        )
        common, spread = expit(logit), np.exp(log_spread)
        weight = 4 / spread**2
        hits = self.right + (weight * common)[:, None]
        misses = (self.totals - self.right) + (weight * expit(-logit))[:, None]
        even = _UNIFORM_GRID[rng.choice(len(_UNIFORM_GRID), size, p=self.even)]
        even = even + (rng.random(size) - 0.5) / len(_UNIFORM_GRID)
        return {
            "common": common,
            "spread": spread,
            "accuracy": dirichlet.draw(np.stack([hits, misses], axis=-1), 1, rng)[0],
            "evenness": even,
            "shares": dirichlet.draw(self.totals + (even / (1 - even))[:, None], 1, rng)[0],
        }

    def _draw_mistakes(self, size, rng):
        draw = dirichlet.draw_sparse if self.errors >= 1 else dirichlet.draw
        return draw(self._mistakes, size, rng)

    @cached_property
    def _mistakes(self):
        """Dirichlet parameters of the errors of each row, shape (C, C - 1)."""
        off_diagonal = ~np.eye(self.classes, dtype=bool)
        errors = self.cells[off_diagonal].reshape(self.classes, self.classes - 1)
        return errors + self.errors / (self.classes - 1)

    def _theta(self, shares, accuracy, mistakes):
        size, classes = len(shares), self.classes
        theta = np.empty((size, classes, classes))
        flat = theta.reshape(size, -1)
        # In row-major order, there are C cells between two cells of the diagonal.
        errors = flat[:, 1:].reshape(size, classes - 1, classes + 1)[..., :-1]
        probabilities = mistakes * (accuracy[..., 1:] * shares[..., None])
        errors[...] = probabilities.reshape(size, classes - 1, classes)
        flat[:, :: classes + 1] = accuracy[..., 0] * shares
        return theta


def _normalise(heights):
    mass = np.exp(heights - heights.max())
    return mass / mass.sum()
