r"""
Direct posterior of `bayescm.models.partly_labelled`: Dirichlet distributions.

A stratum k is a combination of labels from the judge and the classifiers. It has N_k examples, and
n_kr of them are labelled with the true class r. Each of the R classes has the pseudo-count c_k. The
shares of the strata and the truth within each stratum are independent:

.. math::

    \pi \sim \mathrm{Dirichlet}(N_k + R c_k)_k, \qquad
    t_k \sim \mathrm{Dirichlet}(n_{kr} + c_k)_r, \qquad p_{kr} = \pi_k t_{kr}.

The table of a classifier is the sum of p over strata (`bayescm.posteriors.strata`). With two
classes, the truth is sampled by Latin hypercube sampling (`latin_hypercube_beta`).

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


def partly_labelled(
    evidence: xr.DataArray | xr.Dataset, *, concentration: float | None = None
) -> "PartlyLabelled":
    """
    Return the posterior for examples labelled by a judge, and partly by people.

    Use it if a judge has labelled all examples and people a part of them.

    Parameters
    ----------
    evidence : DataArray, dims (..., judge, actual, predicted), or Dataset
        Evidence from `bayescm.from_partly_labelled`.
    concentration : float, optional
        Prior pseudo-count of each cell, > 0. By default, the pseudo-counts of all strata in which
        the classifiers agree sum to three, or to two if there are at most as many strata as
        classes. The pseudo-counts of each other stratum sum to one.

    Returns
    -------
    PartlyLabelled

    Raises
    ------
    ValueError
        If the number of unlabelled examples is missing, or the concentration is not positive.

    Examples
    --------
    >>> import bayescm as bcm
    >>> human, judge = [1, 0, 1] + [None] * 7, [1, 0, 1, 1, 1, 0, 1, 1, 0, 1]
    >>> posterior = partly_labelled(bcm.from_partly_labelled(human, judge=judge))
    >>> posterior.sizes
    array([3., 7.])
    """
    if not has_strata(evidence):
        raise fail(
            "These counts have no unlabelled examples",
            ...,
            "",
            "build them with `from_partly_labelled(actual, predicted, judge)`",
        )
    counts, labelled, unlabelled, answers, verdicts = _strata(evidence)
    check_counts(unlabelled, fractional=True, name="a number of unlabelled examples")
    labelled = labelled[
        ..., : labelled.shape[-1] - abstains(counts)
    ]  # an abstention is never a true class
    agree = (answers == answers[0]).all(axis=0)
    strata, classes = labelled.shape[-2:]
    total = 2 if strata <= classes else 3
    weight = np.where(agree, total / max(1, agree.sum()), 1.0) / classes
    if concentration is not None:
        if np.ndim(concentration) != 0 or not 0 < concentration < np.inf:
            todo = "pass 0.25"
            raise fail("`concentration` must be a finite number > 0", concentration, "", todo)
        weight = np.full_like(weight, concentration)
    return PartlyLabelled(counts, labelled, unlabelled, answers, verdicts, weight[:, None])


def _strata(evidence):
    """Return canonical counts, and labelled, unlabelled, predictions and verdicts by stratum."""
    if is_outcomes(evidence):
        outcomes = as_outcomes(evidence)
        return tables_of(outcomes), *by_stratum(outcomes)
    counts = as_labelled_counts(evidence, "judge", abstention=True).transpose(..., "judge", *CELLS)
    lead, classes, judges = counts.shape[:-3], counts.shape[-1], counts.sizes["judge"]
    labelled = counts.values.swapaxes(-1, -2).reshape(*lead, -1, classes).astype(float)
    unlabelled = counts["unlabelled"].transpose(*counts.dims[:-3], "judge", "predicted").values
    answers = np.tile(np.arange(classes), judges)[None]
    verdicts = np.repeat(np.arange(judges), classes)
    return counts, labelled, unlabelled.reshape(*lead, -1).astype(float), answers, verdicts


_STEP = 1e-5  # step of a numerical derivative
_HYPERCUBE_DRAWS = 5_000


@dataclass(frozen=True, eq=False)
class PartlyLabelled(Strata):
    """
    Posterior of the strata (labels of the judge and the classifiers) and of the truth in each.

    Attributes
    ----------
    counts : DataArray, dims (..., judge, actual, predicted)
        Labelled examples. With several classifiers, the matrix of each.
    labelled : ndarray, shape (..., K, R)
        Labelled examples by stratum (labels of the judge and the classifiers) and true class.
    unlabelled : ndarray, shape (..., K)
        Number of unlabelled examples in each stratum.
    answers : ndarray of int, shape (J, K)
        Prediction of each classifier in each stratum.
    verdicts : ndarray of int, shape (K,)
        Label of the judge in each stratum, as an index along the dimension ``judge``.
    prior : ndarray, shape (K, 1)
        Pseudo-count of each cell of a stratum.
    """

    pooled_dims = ("judge",)
    estimands = {"parameter": "theta", "finite": "theta_finite", "predictive": "theta"}  # noqa: RUF012
    counts: xr.DataArray
    labelled: np.ndarray
    unlabelled: np.ndarray
    answers: np.ndarray
    verdicts: np.ndarray
    prior: np.ndarray

    @cached_property
    def batch(self) -> xr.DataArray:
        """The number of examples, labelled or not, of each member of the batch."""
        size = self.sizes.sum(-1)
        return self.template.to_dataarray(
            np.broadcast_to(self.append_classifier(size), self.template.shape)
        )

    @property
    def sizes(self) -> np.ndarray:
        """The number of examples of each stratum, (..., K)."""
        return self.labelled.sum(-1) + self.unlabelled

    def variables(self, size: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Return draws (size, ...) of the variables of the corresponding PyMC model."""
        share = dirichlet.draw(self._stratum_weights, size, rng)
        truth = dirichlet.draw(self.labelled + self.prior, size, rng)
        return {"share": share, "truth": truth, "theta": self.table(share[..., None] * truth)}

    def cells(self, of: str, size: int, rng: np.random.Generator) -> np.ndarray:
        """Return draws (size, ..., C, C) of cell probabilities, or counts for "finite"."""
        if of != "finite":
            return self.variables(size, rng)["theta"]
        truth = dirichlet.draw(self.labelled + self.prior, size, rng)
        numbers = np.broadcast_to(self.unlabelled.astype(int), truth.shape[:-1])
        return self.table(rng.multinomial(numbers, truth) + self.labelled)

    def draw(
        self,
        measures: Sequence[Callable],
        size: int,
        rng: np.random.Generator,
        *,
        of: str = "parameter",
        n: Any = None,
    ) -> list[np.ndarray]:
        """Sample measures jointly; raise an error if they need predictions that are missing."""
        if self.counts.coords.get("classified", "") == "nothing":
            cells = np.arange(1.0, 1 + self.counts.shape[-1] ** 2).reshape(self.counts.shape[-2:])
            for measure in measures:
                if not np.allclose(measure(cells), measure(cells[:, ::-1]), equal_nan=True):
                    raise fail(
                        "{} needs predictions, and the evidence has none",
                        measure.__name__,
                        "",
                        'use "prevalence", or pass `predicted= to from_partly_labelled`',
                    )
        return super().draw(measures, size, rng, of=of, n=n)

    def draw_parameter(
        self, measures: Sequence[Callable], size: int, rng: np.random.Generator
    ) -> list[np.ndarray]:
        """Sample measures jointly, with a Latin hypercube for two classes."""
        weights = self.labelled + self.prior
        if weights.shape[-1] > 2:
            return super().draw_parameter(measures, size, rng)
        positive = latin_hypercube_beta(weights[..., 1], weights[..., 0], size, rng)
        truth = np.stack([1 - positive, positive], axis=-1)
        cells = self.table(dirichlet.draw(self._stratum_weights, size, rng)[..., None] * truth)
        return [measure(cells) for measure in measures]

    def draws_by_default(self, of: str, *, joint: bool = False) -> int:
        """Return the default number of draws, which is small for a Latin hypercube."""
        hypercube = of == "parameter" and not joint and self.labelled.shape[-1] == 2
        return _HYPERCUBE_DRAWS if hypercube else super().draws_by_default(of, joint=joint)

    def strata(self, size: int, rng: np.random.Generator) -> np.ndarray:
        """Return draws (size, ..., K, R) of the probability of each stratum and class."""
        draws = self.variables(size, rng)
        return draws["share"][..., None] * draws["truth"]

    def point(self, measure: Callable, of: str = "parameter") -> np.ndarray:
        """Return the measure if each stratum has the class shares of its labelled examples."""
        self.resolve_estimand(of)
        labels = np.where(
            self.labelled.sum(-1, keepdims=True) > 0, self.labelled, self.labelled + self.prior
        )
        return measure(self.table(self.sizes[..., None] * labels / labels.sum(-1, keepdims=True)))

    def variance_by_stratum(
        self, measure: Callable, size: int, rng: np.random.Generator
    ) -> tuple[np.ndarray, float]:
        """
        Return the variance of a measure due to each stratum, and due to the shares of strata.

        Parameters
        ----------
        measure : callable
            Measure of cells. The variances of several values (classes, classifiers) are averaged.
        size : int
            Number of draws to average over.
        rng : Generator

        Returns
        -------
        variance : ndarray, shape (K,)
            Variance due to a stratum with one label. Divide it by the weight of the labels in the
            stratum.
        of_shares : float
            Variance that does not depend on the number of labels.
        """
        draws = self.variables(size, rng)
        share, truth = draws["share"], draws["truth"]
        cells = share[..., None] * truth
        base = measure(self.table(cells))

        def squared_slope(change):
            change_of_measure = measure(self.table(cells + _STEP * change)) - base
            return np.nanmean((change_of_measure / _STEP).reshape(size, -1) ** 2, axis=-1)

        within, between = np.zeros((2, cells.shape[-2]))
        for stratum, true_class in np.ndindex(cells.shape[-2:]):
            change = np.zeros_like(cells)
            change[:, stratum] = -cells[:, stratum]
            change[:, stratum, true_class] += share[:, stratum]
            within[stratum] += np.nanmean(truth[:, stratum, true_class] * squared_slope(change))
        for stratum in range(cells.shape[-2]):
            change = -cells
            change[:, stratum] += truth[:, stratum]
            between[stratum] = np.nanmean(share[:, stratum] * squared_slope(change))
        return within, float(between.sum() / (self._stratum_weights.sum() + 1))

    @property
    def _stratum_weights(self):
        return self.sizes + self.labelled.shape[-1] * self.prior[:, 0]

    def log_density(self, variables: Mapping[str, np.ndarray]) -> np.ndarray:
        """Return the log posterior density of share (..., K) and truth (..., K, R)."""
        share, truth = (np.asarray(variables[name]) for name in ("share", "truth"))
        inner = dirichlet.logpdf(truth, self.labelled + self.prior).sum(-1)
        return inner + dirichlet.logpdf(share, self._stratum_weights)

    def log_marginal_likelihood(self) -> np.ndarray:
        """Return the log marginal likelihood of the strata and of the truth in each."""
        inner = dirichlet.log_marginal(self.labelled, self.labelled + self.prior).sum(-1)
        return inner + dirichlet.log_marginal(self.sizes, self._stratum_weights)


# Evenly spread draws of independent betas, so that few draws suffice.

_NODES = np.linspace(-5.5, 5.5, 111)  # on the normal scale, on which the logit of a share is smooth


def latin_hypercube_beta(
    a: np.ndarray, b: np.ndarray, size: int, rng: np.random.Generator
) -> np.ndarray:
    """
    Sample betas (size, ...) by Latin hypercube sampling.

    Each beta has one draw in each of ``size`` intervals of equal probability. The Monte Carlo error
    of sums and other smooth functions is much smaller than with independent draws.

    References
    ----------
    McKay, M. D., Beckman, R. J., Conover, W. J. (1979). A comparison of three methods for selecting
    values of input variables in the analysis of output from a computer code. Technometrics 21,
    239-245. doi:10.2307/1268522
    """
    index, weight = _interpolation(size)
    mass = ndtr(-np.abs(_NODES))
    low = _NODES < 0
    # The upper tail of Beta(a, b) is the lower tail of Beta(b, a).
    first = np.where(low, a[..., None], b[..., None])
    second = np.where(low, b[..., None], a[..., None])
    shares = np.clip(betaincinv(first, second, mass), 1e-300, 1 - 1e-16)
    log_odds_at_nodes = np.where(low, 1, -1) * logit(shares)
    log_odds = (
        log_odds_at_nodes[..., index] * (1 - weight) + log_odds_at_nodes[..., index + 1] * weight
    )
    return np.moveaxis(rng.permuted(expit(log_odds), axis=-1), -1, 0)


@lru_cache(maxsize=8)
def _interpolation(size):
    """Return the node below the midpoint of each interval, and the relative distance to it."""
    middle = np.clip(ndtri((np.arange(size) + 0.5) / size), _NODES[0], _NODES[-1])
    at = np.clip(np.searchsorted(_NODES, middle) - 1, 0, len(_NODES) - 2)
    return at, (middle - _NODES[at]) / (_NODES[1] - _NODES[0])
