"""
The direct sibling of `bayescm.models.partly_labelled`: Dirichlet strata, each with its truth.

References
----------
Tenenbein, A. (1970). A double sampling scheme for estimating from binomial data with
misclassifications. Journal of the American Statistical Association 65, 1350-1361.
doi:10.1080/01621459.1970.10481170
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import xarray as xr
from scipy.special import betaincinv, expit, logit, ndtr, ndtri

from bayescm.distributions import dirichlet
from bayescm.evidence.counts import CELLS, abstains, is_outcomes
from bayescm.evidence.outcomes import as_outcomes, tables_of
from bayescm.evidence.partly_labelled import by_stratum, has_strata
from bayescm.posteriors.base import as_labelled_counts
from bayescm.posteriors.strata import Strata
from bayescm.validate import check_counts, fail

# Draws of independent betas that are evenly spread, so that a few do for many.

_NODES = np.linspace(-5.5, 5.5, 111)  # on the normal scale, where the logit of a share is smooth


def latin_hypercube_beta(
    a: np.ndarray, b: np.ndarray, size: int, rng: np.random.Generator
) -> np.ndarray:
    """
    Draw betas (size, ...), each one with a draw in every one of ``size`` equally probable parts.

    Latin hypercube sampling: sums and other smooth functions of them have a much smaller Monte
    Carlo error than with independent draws.

    References
    ----------
    McKay, M. D., Beckman, R. J., Conover, W. J. (1979). A comparison of three methods for selecting
    values of input variables in the analysis of output from a computer code. Technometrics 21,
    239-245. doi:10.2307/1268522
    """
    at, part = _places(size)
    mass = ndtr(-np.abs(_NODES))
    low = _NODES < 0
    first, second = (np.where(low, *each) for each in _both_tails(a[..., None], b[..., None]))
    shares = np.clip(betaincinv(first, second, mass), 1e-300, 1 - 1e-16)
    odds = np.where(low, 1, -1) * logit(shares)
    drawn = odds[..., at] * (1 - part) + odds[..., at + 1] * part
    return np.moveaxis(rng.permuted(expit(drawn), axis=-1), -1, 0)


def _both_tails(a, b):
    return (a, b), (b, a)


@lru_cache(maxsize=8)
def _places(size):
    """Return the node below the middle of each part, and how far it is to the next."""
    middle = np.clip(ndtri((np.arange(size) + 0.5) / size), _NODES[0], _NODES[-1])
    at = np.clip(np.searchsorted(_NODES, middle) - 1, 0, len(_NODES) - 2)
    return at, (middle - _NODES[at]) / (_NODES[1] - _NODES[0])


# The posterior of the strata.

_STEP = 1e-5  # of a numerical derivative
_HYPERCUBE_DRAWS = 5_000


@dataclass(frozen=True, eq=False)
class PartlyLabelled(Strata):
    """
    The posterior of the strata of judge and predictions, and of the truth in each.

    Attributes
    ----------
    counts : DataArray, dims (..., judge, actual, predicted)
        The labelled examples; of several classifiers the matrix of each.
    known : ndarray, shape (..., K, R)
        The same by stratum, what the judge and the classifiers said, and true class.
    others : ndarray, shape (..., K)
        How many further examples each stratum has.
    answers : ndarray of int, shape (J, K)
        What every classifier said in the stratum.
    judged : ndarray of int, shape (K,)
        What the judge said: a place in the dim ``judge``.
    prior : ndarray, shape (K, 1)
        Pseudo-count of each cell of a stratum.
    """

    pooled_dims = ("judge",)
    estimands = {"parameter": "theta", "finite": "theta_finite", "predictive": "theta"}  # noqa: RUF012
    counts: xr.DataArray
    known: np.ndarray
    others: np.ndarray
    answers: np.ndarray
    judged: np.ndarray
    prior: np.ndarray

    @cached_property
    def batch(self) -> xr.DataArray:
        """The number of examples, labelled or not, of every member of the batch."""
        size = self.sizes.sum(-1)
        return self.template.to_dataarray(
            np.broadcast_to(self.append_classifier(size), self.template.shape)
        )

    @property
    def sizes(self) -> np.ndarray:
        """The number of examples of each stratum, (..., K)."""
        return self.known.sum(-1) + self.others

    def variables(self, size: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Return draws (size, ...) of the variables of the PyMC model of the same name."""
        share = dirichlet.draw(self._share, size, rng)
        truth = dirichlet.draw(self.known + self.prior, size, rng)
        return {"share": share, "truth": truth, "theta": self.table(share[..., None] * truth)}

    def cells(self, of: str, size: int, rng: np.random.Generator) -> np.ndarray:
        """Return draws (size, ..., C, C): probabilities, or counts of the examples at hand."""
        if of != "finite":
            return self.variables(size, rng)["theta"]
        truth = dirichlet.draw(self.known + self.prior, size, rng)
        many = np.broadcast_to(self.others.astype(int), truth.shape[:-1])
        return self.table(rng.multinomial(many, truth) + self.known)

    def draw(
        self,
        measures: Sequence[Callable],
        size: int,
        rng: np.random.Generator,
        *,
        of: str = "parameter",
        n: Any = None,
    ) -> list[np.ndarray]:
        """Draw several measures jointly, or raise where there is no classifier."""
        if self.counts.coords.get("classified", "") == "nothing":
            cells = np.arange(1.0, 1 + self.counts.shape[-1] ** 2).reshape(self.counts.shape[-2:])
            for each in measures:
                if not np.allclose(each(cells), each(cells[:, ::-1]), equal_nan=True):
                    todo = 'ask for "prevalence", or pass predicted= to from_partly_labelled'
                    allowed = "a measure of the true classes alone"
                    raise fail("nothing was classified", each.__name__, allowed, todo)
        return super().draw(measures, size, rng, of=of, n=n)

    def draw_parameter(
        self, measures: Sequence[Callable], size: int, rng: np.random.Generator
    ) -> list[np.ndarray]:
        """Draw the parameter of several measures jointly, of two classes by evenly spread draws."""
        weights = self.known + self.prior
        if weights.shape[-1] > 2:
            return super().draw_parameter(measures, size, rng)
        positive = latin_hypercube_beta(weights[..., 1], weights[..., 0], size, rng)
        truth = np.stack([1 - positive, positive], axis=-1)
        cells = self.table(dirichlet.draw(self._share, size, rng)[..., None] * truth)
        return [measure(cells) for measure in measures]

    def draws_by_default(self, of: str, *, joint: bool = False) -> int:
        """Return how many draws are made: of two classes they are evenly spread, and few do."""
        even = of == "parameter" and not joint and self.known.shape[-1] == 2
        return _HYPERCUBE_DRAWS if even else super().draws_by_default(of, joint=joint)

    def strata(self, size: int, rng: np.random.Generator) -> np.ndarray:
        """Return draws (size, ..., K, R) of the probability of every stratum and true class."""
        drawn = self.variables(size, rng)
        return drawn["share"][..., None] * drawn["truth"]

    def point(self, measure: Callable, of: str = "parameter") -> np.ndarray:
        """Return the measure where each stratum is as its labelled examples are."""
        self.resolve_estimand(of)
        known = np.where(self.known.sum(-1, keepdims=True) > 0, self.known, self.known + self.prior)
        return measure(self.table(self.sizes[..., None] * known / known.sum(-1, keepdims=True)))

    def tellings(
        self, measure: Callable, size: int, rng: np.random.Generator
    ) -> tuple[np.ndarray, float]:
        """
        Return the variance of a measure that is due to each stratum, and to the shares of these.

        Parameters
        ----------
        measure : callable
            Of cells; of several values (classes, classifiers) the variances are averaged.
        size : int
            The number of draws to average over.
        rng : Generator

        Returns
        -------
        variance : ndarray, shape (K,)
            How much one example of the stratum tells: to be divided by the weight of the labels.
        of_shares : float
            The variance that no label takes away.
        """
        drawn = self.variables(size, rng)
        share, truth = drawn["share"], drawn["truth"]
        cells = share[..., None] * truth
        base = measure(self.table(cells))

        def told(change):
            moved = measure(self.table(cells + _STEP * change)) - base
            return np.nanmean((moved / _STEP).reshape(size, -1) ** 2, axis=-1)

        inside, between = np.zeros((2, cells.shape[-2]))
        for stratum, true_class in np.ndindex(cells.shape[-2:]):
            change = np.zeros_like(cells)
            change[:, stratum] = -cells[:, stratum]
            change[:, stratum, true_class] += share[:, stratum]
            inside[stratum] += np.nanmean(truth[:, stratum, true_class] * told(change))
        for stratum in range(cells.shape[-2]):
            change = -cells
            change[:, stratum] += truth[:, stratum]
            between[stratum] = np.nanmean(share[:, stratum] * told(change))
        return inside, float(between.sum() / (self._share.sum() + 1))

    @property
    def _share(self):
        return self.sizes + self.known.shape[-1] * self.prior[:, 0]

    def log_density(self, variables: Mapping[str, np.ndarray]) -> np.ndarray:
        """Return the log posterior density of share (..., K) and truth (..., K, R)."""
        share, truth = (np.asarray(variables[name]) for name in ("share", "truth"))
        inner = dirichlet.logpdf(truth, self.known + self.prior).sum(-1)
        return inner + dirichlet.logpdf(share, self._share)

    def log_marginal_likelihood(self) -> np.ndarray:
        """Return the log marginal likelihood of the strata and of the truth in each."""
        inner = dirichlet.log_marginal(self.known, self.known + self.prior).sum(-1)
        return inner + dirichlet.log_marginal(self.sizes, self._share)


def partly_labelled(
    evidence: xr.DataArray | xr.Dataset, *, concentration: float | None = None
) -> PartlyLabelled:
    """
    Return the posterior of a few labelled examples and many that only a judge has seen.

    Parameters
    ----------
    evidence : DataArray, dims (..., judge, actual, predicted), or Dataset
        From `bayescm.from_partly_labelled`.
    concentration : float, optional
        Prior pseudo-count of each cell, > 0. By default the strata in which the classifiers agree
        have three examples in all (two, where there are no more strata than classes), and those in
        which they differ one each.

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
    if not has_strata(evidence):
        todo = "make them with from_partly_labelled(actual, predicted, judge)"
        raise fail("these counts have no unlabelled examples", ..., "unlabelled", todo)
    counts, known, others, answers, judged = _strata(evidence)
    check_counts(others, fractional=True, name="a number of unlabelled examples")
    known = known[..., : known.shape[-1] - abstains(counts)]  # nothing truly is an abstention
    agree = (answers == answers[0]).all(axis=0)
    strata, classes = known.shape[-2:]
    whole = 2 if strata <= classes else 3
    weight = np.where(agree, whole / max(1, agree.sum()), 1.0) / classes
    if concentration is not None:
        if np.ndim(concentration) != 0 or not 0 < concentration < np.inf:
            todo = "pass 0.25"
            raise fail("concentration must be positive", concentration, "a number > 0", todo)
        weight = np.full_like(weight, concentration)
    return PartlyLabelled(counts, known, others, answers, judged, weight[:, None])


def _strata(evidence):
    """Return canonical counts, and by stratum the labelled, the others and what was said."""
    if is_outcomes(evidence):
        outcomes = as_outcomes(evidence)
        return tables_of(outcomes), *by_stratum(outcomes)
    counts = as_labelled_counts(evidence, "judge", abstention=True).transpose(..., "judge", *CELLS)
    lead, classes, judges = counts.shape[:-3], counts.shape[-1], counts.sizes["judge"]
    known = counts.values.swapaxes(-1, -2).reshape(*lead, -1, classes).astype(float)
    others = counts["unlabelled"].transpose(*counts.dims[:-3], "judge", "predicted").values
    answers = np.tile(np.arange(classes), judges)[None]
    judged = np.repeat(np.arange(judges), classes)
    return counts, known, others.reshape(*lead, -1).astype(float), answers, judged
