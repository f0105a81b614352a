"""The direct sibling of `bayescm.models.hierarchical_rows`: what the classes share, on grids.

Given the common accuracy and its spread the rows are conjugate, given the weight of the class
shares so are these; both are summed over a grid, and what comes out are independent draws.
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

_LOGITS = np.linspace(-8, 10, 145)
_EVEN = (np.arange(240) + 0.5) / 240
_NUMBERS = 2**17  # of all cells of a few draws: they stay in the processor's cache
_OF_ANSWERS = ("right", "wrong"), ("wrong", "right")  # forms


def hierarchical_rows(
    counts: xr.DataArray | ArrayLike,
    *,
    concentration: float = 0.5,
    spread: float = 1.0,
    errors: float = 1.0,
) -> "HierarchicalRows":
    """
    Return the posterior of matrices of many classes that share strength.

    Parameters
    ----------
    counts : DataArray, dims (..., actual, predicted), or array_like, shape (..., C, C)
        Counts of C >= 3 classes; a class may be absent.
    concentration : float, default 0.5
        Beta parameters, both, of the common accuracy; > 0.
    spread : float, default 1
        Scale of the half-normal prior of the spread of the classes' accuracies on the logit scale.
    errors : float, default 1
        Prior pseudo-counts, together, of where a row's errors go.

    Returns
    -------
    HierarchicalRows

    Raises
    ------
    ValueError
        If there are fewer than three classes, or a keyword is not > 0.

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
        raise fail("too few classes to pool", table.shape, "three or more", todo)
    given = {"concentration": concentration, "spread": spread, "errors": errors}
    for name, value in given.items():
        if not isinstance(value, (int, float, np.number)) or not 0 < value < np.inf:
            raise fail(f"{name} must be positive", value, "one number > 0", f"correct {name}")
    return HierarchicalRows(table, float(concentration), float(spread), float(errors))


@dataclass(frozen=True, eq=False)
class HierarchicalRows(CountsPosterior):
    """
    The posterior of one matrix, or of a batch, whose classes share strength.

    Attributes
    ----------
    counts : DataArray, dims (..., actual, predicted)
    concentration : float
        Prior pseudo-counts of the common accuracy, right and wrong.
    spread : float
        Scale of the half-normal prior of the spread of the accuracies, on the logit scale.
    errors : float
        Prior pseudo-counts of a row's errors, together.
    """

    cell_prior = False
    sampling_method = "quadrature"
    counts: xr.DataArray
    concentration: float
    spread: float
    errors: float

    def variables(self, size: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Return draws (size, ...) of the variables of the PyMC model of the same name."""
        parts = [each.draws(size, rng) for each in self._each]
        return {name: self._joined([part[name] for part in parts]) for name in parts[0]}

    def _joined(self, parts):
        """Return draws (size, ..., *own) of the batch from those of each matrix, (size, *own)."""
        every = parts[0][:, None] if len(parts) == 1 else np.stack(parts, axis=1)
        return every.reshape(len(every), *self.batch.shape, *every.shape[2:])

    def draw_parameter(
        self, measures: Sequence[Callable], size: int, rng: np.random.Generator
    ) -> list[np.ndarray]:
        """Draw the parameter of measures jointly, a few draws at a time: they stay in the cache."""
        found = [each.rates(size, rng) for each in self._each]
        if all(getattr(each, "form", None) in _OF_ANSWERS for each in measures):
            # Where the errors go does not matter.
            parts = [(each["accuracy"][..., 0] * each["shares"]).sum(-1) for each in found]
            right = self._joined(parts)
            cells = np.stack([right, 1 - right, np.zeros_like(right), np.zeros_like(right)], -1)
            return [measure(cells.reshape(*right.shape, 2, 2)) for measure in measures]
        few, values = max(1, _NUMBERS // self.counts.size), []
        for start in range(0, size, few):
            matrices = []
            for one, rates in zip(self._each, found, strict=True):
                some = {name: each[start : start + few] for name, each in rates.items()}
                matrices.append(one.completed(some, rng)["theta"])
            theta = self._joined(matrices)
            values.append([measure(theta) for measure in measures])
        return [np.concatenate(each) for each in zip(*values, strict=True)]

    @cached_property
    def _each(self):
        flat = self.pooled.astype(float).reshape(-1, *self.pooled.shape[-2:])
        return [_One(each, self.concentration, self.spread, self.errors) for each in flat]


class _One:
    """The posterior of one matrix."""

    def __init__(self, cells, concentration, spread, errors):
        self.cells, self.errors, self.classes = cells, errors, len(cells)
        self.totals, self.right = cells.sum(1), np.diag(cells)
        self._rows(concentration, spread)
        self._shares()

    def _rows(self, concentration, spread):
        """Weigh a grid over the common accuracy and the spread of the classes' own."""
        logs = np.log(spread) + np.linspace(np.log(0.02), np.log(5), 60)
        logit, log_spread = (each.ravel() for each in np.meshgrid(_LOGITS, logs, indexing="ij"))
        weight = 4 / np.exp(2 * log_spread)
        hits, misses = weight * expit(logit), weight * expit(-logit)
        heights = concentration * (log_expit(logit) + log_expit(-logit))
        heights += log_spread - np.exp(2 * (log_spread - np.log(spread))) / 2
        for right, total in zip(self.right, self.totals, strict=True):
            heights += betaln(right + hits, total - right + misses) - betaln(hits, misses)
        self.grid, self.mass = (logit, log_spread), _normalised(heights)
        self.steps = (_LOGITS[1] - _LOGITS[0], logs[1] - logs[0])

    def _shares(self):
        """Weigh a grid over the prior weight of each class, w / (1 + w) uniform."""
        weight = _EVEN / (1 - _EVEN)
        heights = gammaln(self.classes * weight) - gammaln(
            self.classes * weight + self.totals.sum()
        )
        heights += (gammaln(weight[:, None] + self.totals) - gammaln(weight)[:, None]).sum(1)
        self.even = _normalised(heights)

    def draws(self, size, rng):
        found = self.completed(self.rates(size, rng), rng)
        return found | {"accuracy": found["accuracy"][..., 0]}

    def completed(self, rates, rng):
        """Draw where errors go, and what comes of it."""
        mistakes = self._draw_mistakes(len(rates["shares"]), rng)
        theta = self._theta(rates["shares"], rates["accuracy"], mistakes)
        return rates | {"mistakes": mistakes, "theta": theta}

    def rates(self, size, rng):
        """Draw everything but where errors go; accuracies (size, C, 2) with their complements."""
        place = rng.choice(len(self.mass), size, p=self.mass)
        # Uniform within its cell: a draw must not sit on the grid.
        logit, log_spread = (
            each[place] + step * (rng.random(size) - 0.5)
            for each, step in zip(self.grid, self.steps, strict=True)
        )
        common, spread = expit(logit), np.exp(log_spread)
        weight = 4 / spread**2
        right = self.right + (weight * common)[:, None]
        wrong = (self.totals - self.right) + (weight * expit(-logit))[:, None]
        even = _EVEN[rng.choice(len(_EVEN), size, p=self.even)]
        even = even + (rng.random(size) - 0.5) / len(_EVEN)
        return {
            "common": common,
            "spread": spread,
            "accuracy": dirichlet.draw(np.stack([right, wrong], axis=-1), 1, rng)[0],
            "evenness": even,
            "shares": dirichlet.draw(self.totals + (even / (1 - even))[:, None], 1, rng)[0],
        }

    def _draw_mistakes(self, size, rng):
        drawn = dirichlet.draw_sparse if self.errors >= 1 else dirichlet.draw
        return drawn(self._mistakes, size, rng)

    @cached_property
    def _mistakes(self):
        """Dirichlet parameters of where each row's errors go, shape (C, C - 1)."""
        off = ~np.eye(self.classes, dtype=bool)
        seen = self.cells[off].reshape(self.classes, self.classes - 1)
        return seen + self.errors / (self.classes - 1)

    def _theta(self, shares, accuracy, mistakes):
        size, classes = len(shares), self.classes
        theta = np.empty((size, classes, classes))
        flat = theta.reshape(size, -1)
        # Row by row, what is between two cells of the diagonal are as many as there are classes.
        between = flat[:, 1:].reshape(size, classes - 1, classes + 1)[..., :-1]
        wrong = mistakes * (accuracy[..., 1:] * shares[..., None])
        between[...] = wrong.reshape(size, classes - 1, classes)
        flat[:, :: classes + 1] = accuracy[..., 0] * shares
        return theta


def _normalised(heights):
    mass = np.exp(heights - heights.max())
    return mass / mass.sum()
