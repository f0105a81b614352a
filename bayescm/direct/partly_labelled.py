"""
The direct sibling of `bayescm.models.partly_labelled`: Dirichlet strata, each with its truth.

References
----------
Tenenbein, A. (1970). A double sampling scheme for estimating from binomial data with
misclassifications. Journal of the American Statistical Association 65, 1350-1361.
doi:10.1080/01621459.1970.10481170
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import xarray as xr

from bayescm.direct.arguments import labelled
from bayescm.direct.base import Posterior
from bayescm.distributions import dirichlet
from bayescm.evidence.counts import CELLS
from bayescm.validate import check_counts, fail


@dataclass(frozen=True, eq=False)
class PartlyLabelled(Posterior):
    """
    The posterior of the strata of judge and prediction, and of the truth in each.

    Attributes
    ----------
    counts : DataArray, dims (..., judge, actual, predicted)
        The labelled examples.
    known : ndarray, shape (..., K, C)
        The same by stratum: the judge's answer and, within it, the prediction.
    others : ndarray, shape (..., K)
        How many further examples each stratum has.
    prior : float
        Pseudo-count of each cell.
    """

    uses = ("judge",)
    cell_prior = False
    estimands = {"parameter": "theta", "finite": "theta_finite", "predictive": "theta"}  # noqa: RUF012
    how = "draws"
    counts: xr.DataArray
    known: np.ndarray
    others: np.ndarray
    prior: float

    @cached_property
    def batch(self) -> xr.DataArray:
        """The number of examples, labelled or not, of every member of the batch."""
        return self.blank.copy(data=self.known.sum((-2, -1)) + self.others.sum(-1))

    @property
    def sizes(self) -> np.ndarray:
        """The number of examples of each stratum, (..., K)."""
        return self.known.sum(-1) + self.others

    def variables(self, size: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Return draws (size, ...) of the variables of the PyMC model of the same name."""
        classes = self.known.shape[-1]
        share = dirichlet.draw(self.sizes + classes * self.prior, size, rng)
        truth = dirichlet.draw(self.known + self.prior, size, rng)
        return {"share": share, "truth": truth, "theta": self._table(share[..., None] * truth)}

    def cells(self, of: str, size: int, rng: np.random.Generator) -> np.ndarray:
        """Return draws (size, ..., C, C): probabilities, or counts of the examples at hand."""
        drawn = self.variables(size, rng)
        if of != "finite":
            return drawn["theta"]
        many = np.broadcast_to(self.others.astype(int), drawn["share"].shape)
        return self._table(rng.multinomial(many, drawn["truth"]) + self.known)

    def _table(self, cells):
        """Return (..., C, C), rows = actual, from (..., K, C)."""
        classes = cells.shape[-1]
        apart = cells.reshape(*cells.shape[:-2], -1, classes, classes)
        return apart.sum(-3).swapaxes(-1, -2)

    def point(self, measure: Callable, of: str = "parameter") -> np.ndarray:
        """Return the measure where each stratum is as its labelled examples are."""
        self.check_of(of)
        known = np.where(self.known.sum(-1, keepdims=True) > 0, self.known, self.known + self.prior)
        return measure(self._table(self.sizes[..., None] * known / known.sum(-1, keepdims=True)))

    def log_density(self, variables: Mapping[str, np.ndarray]) -> np.ndarray:
        """Return the log posterior density of share (..., K) and truth (..., K, C)."""
        share, truth = (np.asarray(variables[name]) for name in ("share", "truth"))
        classes = self.known.shape[-1]
        inner = dirichlet.logpdf(truth, self.known + self.prior).sum(-1)
        return inner + dirichlet.logpdf(share, self.sizes + classes * self.prior)

    def log_marginal(self) -> np.ndarray:
        """Return the log marginal likelihood of the strata and of the truth in each."""
        classes = self.known.shape[-1]
        inner = dirichlet.log_marginal(self.known, self.known + self.prior).sum(-1)
        return inner + dirichlet.log_marginal(self.sizes, self.sizes + classes * self.prior)


def partly_labelled(counts: xr.DataArray, *, concentration: float | None = None) -> PartlyLabelled:
    """
    Return the posterior of a few labelled examples and many that only a judge has seen.

    Parameters
    ----------
    counts : DataArray, dims (..., judge, actual, predicted)
        From `bayescm.from_partly_labelled`.
    concentration : float, optional
        Prior pseudo-count of each cell, > 0; by default ``2 / (J * C**2)`` for J answers of the
        judge and C classes.

    Returns
    -------
    PartlyLabelled

    Raises
    ------
    ValueError
        If nothing says how many examples are unlabelled, or the concentration is not positive.

    Examples
    --------
    >>> import bayescm as bcm
    >>> human, judge = [1, 0, 1] + [None] * 7, [1, 0, 1, 1, 1, 0, 1, 1, 0, 1]
    >>> posterior = partly_labelled(bcm.from_partly_labelled(human, judge=judge))
    >>> posterior.sizes
    array([3., 7.])
    """
    table = labelled(counts, "judge")
    if "unlabelled" not in table.coords or "judge" not in table.dims:
        todo = "make them with from_partly_labelled(actual, predicted, judge)"
        raise fail("these counts have no unlabelled examples", table.sizes, "unlabelled", todo)
    table = table.transpose(..., "judge", *CELLS)
    classes, batch = table.shape[-1], table.dims[:-3]
    others = table["unlabelled"].transpose(*batch, "judge", "predicted").values.astype(float)
    check_counts(others, fractional=True, name="a number of unlabelled examples")
    prior = 2 / (table.sizes["judge"] * classes**2) if concentration is None else concentration
    if not np.ndim(prior) == 0 or not 0 < prior < np.inf:
        raise fail("concentration must be positive", prior, "a number > 0", "pass 0.25")
    lead = table.shape[:-3]
    known = table.values.swapaxes(-1, -2).reshape(*lead, -1, classes).astype(float)
    return PartlyLabelled(table, known, others.reshape(*lead, -1), float(prior))
