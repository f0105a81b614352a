r"""
The direct posterior of `bayescm.models.transferred_errors`: error rates from another population.

A stratum k is a combination of labels from judge and classifier. An example of class c is in
stratum k with probability :math:`\theta_{ck}`, whether it is labelled or not. The prevalence
:math:`\pi_c` of the classes may differ between labelled and unlabelled examples. With labelled
counts L, unlabelled counts u and the pseudo-count a,

.. math::

    p(\pi, \theta) \propto \prod_{c, k} \theta_{ck}^{L_{ck} + a - 1} \,
    \prod_k \Bigl(\sum_c \pi_c \theta_{ck}\Bigr)^{u_k}.

With two classes, draws are exact (`Allocations`). With more classes, Gibbs sampling is used
(`bayescm.inference.gibbs.latent_class`). If unlabelled counts are fractional, or if two classes
have too many unlabelled examples for a convolution, importance sampling around the mode is used
(`bayescm.inference.importance`). Point estimates use the maximum-likelihood prevalence at the
labelled error rates, computed by EM (`bayescm.inference.em.mixture_weights`).

References
----------
Rogan, W. J., Gladen, B. (1978). Estimating prevalence from the results of a screening test.
American Journal of Epidemiology 107, 71-76. doi:10.1093/oxfordjournals.aje.a112510
"""

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import xarray as xr
from scipy.special import gammaln, log_softmax, softmax, xlogy

from bayescm.evidence.counts import CELLS, is_outcomes
from bayescm.evidence.partly_labelled import has_strata
from bayescm.inference import em, gibbs
from bayescm.inference.importance import Weighted, explore
from bayescm.posteriors.base import as_labelled_counts
from bayescm.posteriors.strata import Strata
from bayescm.validate import check_counts, fail

# Largest number of unlabelled examples for which a convolution is used, because its cost is
# quadratic.
_LARGEST = 10_000
_FEW_EFFECTIVE = 300.0  # a warning is issued if importance sampling has fewer effective draws
_BOUND = 15.0  # limit of the absolute logits in the search for the mode
# Settings of Gibbs sampling.
_CHAINS = 400
# Number of burn-in sweeps per unit of the ratio of unlabelled to labelled examples.
_BURN_PER_RATIO = 20
_LEAST_BURN = 100
_MOST_BURN = 2000
_THIN = 10  # sweeps per draw
# Autocorrelation above which a warning is issued. It is five standard errors with 400 chains.
_CORRELATED = 0.25
_PSEUDO_COUNT = 1e-6  # pseudo-examples of each class in the EM algorithm for the prevalence
_STEPS = 500  # number of EM steps


def transferred_errors(
    evidence: xr.DataArray, *, concentration: float | None = None
) -> "TransferredErrors":
    """
    Return the posterior of unlabelled examples, with error rates from labelled ones.

    Use it if labelled and unlabelled examples come from populations with different prevalences, but
    with the same error rates of judge and classifier.

    Parameters
    ----------
    evidence : DataArray, dims (..., judge, actual, predicted)
        From `bayescm.from_partly_labelled` with ``transfer="errors"``.
    concentration : float, optional
        Prior pseudo-count of each stratum in each class, > 0. By default 1 / K for K strata.

    Returns
    -------
    TransferredErrors

    Raises
    ------
    ValueError
        If there are no unlabelled examples, a class has no labelled example, there are several
        classifiers, or the concentration is not positive.

    Examples
    --------
    >>> import bayescm as bcm
    >>> counts = bcm.evidence.from_partly_labelled_counts([[90, 10], [20, 80]], [150, 50])
    >>> posterior = transferred_errors(counts)
    >>> posterior.point(bcm.measures.prevalence).round(2).item()  # (.25 + .9 - 1) / (.8 + .9 - 1)
    0.21
    """
    if is_outcomes(evidence):
        raise fail(
            "transferred_errors supports only one classifier", ..., "", "select one classifier"
        )
    if not has_strata(evidence):
        raise fail(
            "These counts have no unlabelled examples",
            ...,
            "",
            'build them with `from_partly_labelled`(..., `transfer="errors"`)',
        )
    counts = as_labelled_counts(evidence, "judge").transpose(..., "judge", *CELLS)
    lead, classes = counts.shape[:-3], counts.shape[-1]
    by_class = counts.transpose(..., "actual", "judge", "predicted").values.astype(float)
    by_class = by_class.reshape(*lead, classes, -1)
    unlabelled = counts["unlabelled"].transpose(*counts.dims[:-3], "judge", "predicted").values
    unlabelled = unlabelled.reshape(*lead, -1)
    unlabelled = check_counts(unlabelled, fractional=True, name="a number of examples")
    for index, label in enumerate(counts["actual"].values.tolist()):
        if not by_class.sum(-1)[..., index].all():
            raise fail(
                "No example of class {} is labelled, so its errors are unknown",
                label,
                "",
                "label some of its examples, or use `model='partly_labelled'` if the labels are "
                "from the same population",
            )
    if not unlabelled.sum(-1).all():
        raise fail(
            "Every example is labelled", ..., "", "pass the labelled examples to `from_predictions`"
        )
    prior = 1 / by_class.shape[-1] if concentration is None else concentration
    if np.ndim(prior) != 0 or not 0 < prior < np.inf:
        raise fail("`concentration` must be a finite number > 0", concentration, "", "pass 0.5")
    answers = np.tile(np.arange(classes), counts.sizes["judge"])[None]
    return TransferredErrors(counts, by_class, unlabelled.astype(float), answers, float(prior))


@dataclass(frozen=True, eq=False)
class TransferredErrors(Strata):
    """
    Posterior of the error rates, and of the true classes of unlabelled examples.

    Attributes
    ----------
    counts : DataArray, dims (..., judge, actual, predicted)
        Counts of the labelled examples.
    labelled : ndarray, shape (..., C, K)
        The same counts by true class and stratum. A stratum is a combination of labels from judge
        and classifier.
    unlabelled : ndarray, shape (..., K)
        Counts of the unlabelled examples by stratum.
    answers : ndarray of int, shape (1, K)
        Prediction of the classifier in each stratum.
    prior : float
        Pseudo-count of each stratum in each class.
    """

    pooled_dims = ("judge",)
    estimands = {"parameter": "theta", "finite": "theta_finite", "predictive": "theta"}  # noqa: RUF012
    counts: xr.DataArray
    labelled: np.ndarray
    unlabelled: np.ndarray
    answers: np.ndarray
    prior: float

    @cached_property
    def batch(self) -> xr.DataArray:
        """Number of unlabelled examples of each member of the batch."""
        return self.template.to_dataarray(
            np.broadcast_to(self.unlabelled.sum(-1), self.template.shape)
        )

    @cached_property
    def sampling_method(self) -> str:  # type: ignore[override]
        """Sampling method: ``"conjugate"`` (exact), ``"gibbs"`` or ``"importance"``."""
        if (self.unlabelled != np.floor(self.unlabelled)).any():
            return "importance"
        if self.labelled.shape[-2] > 2:
            return "gibbs"
        return "conjugate" if self.unlabelled.sum(-1).max() <= _LARGEST else "importance"

    @property
    def how(self) -> str:  # type: ignore[override]
        """Description of the sampling method."""
        names = {"gibbs": "Gibbs sampling", "importance": "importance sampling"}
        by = names.get(self.sampling_method)
        return f"draws by {by}" if by else "draws"

    @property
    def draw_clusters(self) -> int:  # type: ignore[override]
        """Number of Gibbs chains, or 1 for independent draws."""
        return _CHAINS if self.sampling_method == "gibbs" else 1

    @property
    def effective_draws(self) -> float:  # type: ignore[override]
        """Effective sample size of importance sampling, else infinite."""
        if self.sampling_method != "importance":
            return np.inf
        return min(sample.effective for sample in self._points)

    def variables(self, size: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Return draws (size, ...) of the variables of the PyMC model of the same name."""
        lead, shape = self.labelled.shape[:-2], self.labelled.shape[-2:]
        if self.sampling_method == "conjugate":
            drawn = [sampler.draw(size, rng) for sampler in self._allocations]
        elif self.sampling_method == "gibbs":
            drawn = self._draw_gibbs(size, rng)
        else:
            unfolded = [self._unfold(sampler.draw(size, rng)) for sampler in self._points]
            drawn = [(softmax(shares, -1), softmax(rates, -1)) for shares, rates in unfolded]
        prevalence, rates = (np.stack(parts, axis=1) for parts in zip(*drawn, strict=True))
        prevalence = prevalence.reshape(size, *lead, shape[0])
        rates = rates.reshape(size, *lead, *shape)
        cells = (prevalence[..., None] * rates).swapaxes(-1, -2)
        return {"prevalence": prevalence, "rates": rates, "theta": self.table(cells)}

    @cached_property
    def _tables(self):
        """Labelled and unlabelled counts of each member of the flat batch."""
        labelled = self.labelled.reshape(-1, *self.labelled.shape[-2:])
        unlabelled = self.unlabelled.reshape(-1, self.unlabelled.shape[-1])
        return list(zip(labelled, unlabelled, strict=True))

    @cached_property
    def _allocations(self):
        return [
            Allocations(labelled + self.prior, unlabelled.astype(int))
            for labelled, unlabelled in self._tables
        ]

    def _draw_gibbs(self, size, rng):
        """Return draws of prevalence and rates of each member of the flat batch."""
        warned = self._warn_of_unlabelled_strata()
        drawn = []
        for labelled, unlabelled in self._tables:
            prior = labelled + self.prior
            prevalence, rates, correlation = draw_gibbs(prior, unlabelled.astype(int), size, rng)
            drawn.append((prevalence, rates))
            if correlation > _CORRELATED and not warned:
                warnings.warn(
                    "The Gibbs chains have not converged because the labels say little about the "
                    "judge's errors. Label more examples, or use fit(evidence, method='nuts').",
                    stacklevel=2,
                )
        return drawn

    def _warn_of_unlabelled_strata(self):
        """Warn about strata without labelled examples; return True if there are any."""
        blank = any(
            ((labelled.sum(0) == 0) & (unlabelled > 0)).any()
            for labelled, unlabelled in self._tables
        )
        if blank:
            warnings.warn(
                "Some combinations of judge label and prediction occur only among unlabelled "
                "examples. Their classes are not identified, and the sampler may find only one "
                "of several solutions. Label some examples of each combination.",
                stacklevel=3,
            )
        return blank

    @cached_property
    def _points(self) -> list[Weighted]:
        """Importance samples of each member of the flat batch, as logits."""
        self._warn_of_unlabelled_strata()
        points = [self._importance_sample(*tables) for tables in self._tables]
        least = min(sample.effective for sample in points)
        if least < _FEW_EFFECTIVE:
            warnings.warn(
                f"The importance sample is worth only {least:.0f} independent draws, because "
                "the labels say little about the judge's errors. Label more examples, or use "
                "fit(evidence, method='nuts').",
                stacklevel=2,
            )
        return points

    def _importance_sample(self, labelled, unlabelled):
        classes, strata = labelled.shape
        weights = labelled + self.prior

        def log_density(points):
            prevalence, rates = self._unfold(points)
            shares, logs = log_softmax(prevalence, -1), log_softmax(rates, -1)
            stratum = np.log((np.exp(shares)[..., None] * np.exp(logs)).sum(-2) + 1e-300)
            return shares.sum(-1) + (weights * logs).sum((-2, -1)) + stratum @ unlabelled

        rates = weights / weights.sum(-1, keepdims=True)
        start = [
            np.log(shares / shares[..., -1:])[..., :-1].ravel()
            for shares in (most_likely_prevalence(rates, unlabelled), rates)
        ]
        bounds = [(-_BOUND, _BOUND)] * (classes - 1 + classes * (strata - 1))
        return explore(log_density, np.concatenate(start), bounds)

    def _unfold(self, points):
        """Return logits (S, C) of classes and (S, C, K) of strata. The last logit of each is 0."""
        classes, strata = self.labelled.shape[-2:]
        prevalence = np.pad(points[:, : classes - 1], [(0, 0), (0, 1)])
        rates = points[:, classes - 1 :].reshape(len(points), classes, strata - 1)
        return prevalence, np.pad(rates, [(0, 0), (0, 0), (0, 1)])

    def strata(self, size: int, rng: np.random.Generator) -> np.ndarray:
        """Return draws (size, ..., K, C) of the probabilities of strata and true classes."""
        drawn = self.variables(size, rng)
        return (drawn["prevalence"][..., None] * drawn["rates"]).swapaxes(-1, -2)

    def cells(self, of: str, size: int, rng: np.random.Generator) -> np.ndarray:
        """Return draws (size, ..., C, C) of probabilities, or of counts if ``of="finite"``."""
        cells = self.strata(size, rng)
        if of != "finite":
            return self.table(cells)
        truth = cells / cells.sum(-1, keepdims=True)
        number = np.broadcast_to(self.unlabelled.astype(int), truth.shape[:-1])
        return self.table(rng.multinomial(number, truth))

    def point(self, measure: Callable, of: str = "parameter") -> np.ndarray:
        """Return the measure at the maximum-likelihood prevalence, given the labelled rates."""
        self.resolve_estimand(of)
        weights = self.labelled + self.prior
        rates = weights / weights.sum(-1, keepdims=True)
        prevalence = most_likely_prevalence(rates, self.unlabelled)
        return measure(self.table((prevalence[..., None] * rates).swapaxes(-1, -2)))

    def log_density(self, variables: Mapping[str, np.ndarray]) -> np.ndarray:
        """Return the log posterior density of prevalence and rates, up to a constant."""
        prevalence, rates = (np.asarray(variables[name]) for name in ("prevalence", "rates"))
        stratum = (prevalence[..., None] * rates).sum(-2)
        inner = xlogy(self.labelled + self.prior - 1, rates).sum((-2, -1))
        return inner + xlogy(self.unlabelled, stratum).sum(-1)


def most_likely_prevalence(rates: np.ndarray, unlabelled: np.ndarray) -> np.ndarray:
    """Return the maximum-likelihood prevalence (..., C), given the rates (..., C, K), by EM."""
    return em.mixture_weights(rates.swapaxes(-1, -2), unlabelled, _PSEUDO_COUNT, steps=_STEPS)


def draw_gibbs(
    weights: np.ndarray, unlabelled: np.ndarray, size: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, float]:
    """
    Return Gibbs draws of prevalence (size, C) and rates (size, C, K), and the autocorrelation.

    The strata are treated as the labels of a single rater. The labelled examples give the prior of
    its error rates. Each chain starts from a draw of the rates from this prior, and from a random
    prevalence.

    Parameters
    ----------
    weights : ndarray, shape (C, K)
        Labelled counts by class and stratum, plus pseudo-counts.
    unlabelled : ndarray of int, shape (K,)
        Unlabelled counts by stratum.
    size : int
        Number of draws.
    rng : numpy.random.Generator
    """
    burn = _BURN_PER_RATIO * unlabelled.sum() / weights.sum()
    burn = int(np.clip(burn, _LEAST_BURN, _MOST_BURN))
    votes = np.eye(len(unlabelled))[None]
    prevalence, rates, correlation = gibbs.latent_class(
        votes, unlabelled, weights, size, rng, burn=burn, chains=_CHAINS, thin=_THIN
    )
    return prevalence[:, 0], rates[:, 0], correlation


# Exact draws for two classes. Given the number of unlabelled examples of the second class in each
# stratum, prevalence and error rates have Dirichlet posteriors. The joint distribution of these
# numbers is a product over the strata, multiplied by a factor of their sum. The distribution of the
# sum is therefore computed by convolution, and the numbers are sampled backwards from it.
# If a stratum has no labelled examples, its examples may belong to either class. The posterior then
# has two modes, and importance sampling around one of them would miss the other.


@dataclass(frozen=True, eq=False)
class Allocations:
    r"""
    Distribution of the number of unlabelled examples of the second class in each stratum.

    Let z_k be the number of the u_k unlabelled examples in stratum k that belong to the second of
    two classes, and w the weights. Then

    .. math::

        p(z) \propto h\Bigl(\sum_k z_k\Bigr) \prod_k f_k(z_k), \qquad
        f_k(z) = \frac{\Gamma(w_{1k} + z) \, \Gamma(w_{0k} + u_k - z)}{z! \, (u_k - z)!}.

    Attributes
    ----------
    weights : ndarray, shape (2, K)
        Labelled counts by class and stratum, plus prior pseudo-counts.
    unlabelled : ndarray of int, shape (K,)
        Unlabelled counts by stratum.
    """

    weights: np.ndarray
    unlabelled: np.ndarray

    def draw(self, size: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Return draws of the prevalence (size, 2) and of the rates by class (size, 2, K)."""
        second = self._draw_second(size, rng)
        counts = np.stack([self.unlabelled - second, second], axis=1)
        shares = rng.standard_gamma(1.0 + counts.sum(-1))
        rates = np.maximum(rng.standard_gamma(self.weights + counts), 1e-300)
        return shares / shares.sum(-1, keepdims=True), rates / rates.sum(-1, keepdims=True)

    def _draw_second(self, size, rng):
        """Return draws of the numbers of the second class in each stratum, (size, K)."""
        factors, (products, mass) = self._log_factors, self._convolved
        left = rng.choice(len(mass), size, p=mass / mass.sum())
        second = np.zeros((size, len(factors)), int)
        for stratum in range(len(factors) - 1, 0, -1):
            for total in np.unique(left):
                rows = left == total
                lowest = max(0, total - len(products[stratum - 1]) + 1)
                number = np.arange(lowest, min(total, len(factors[stratum]) - 1) + 1)
                logs = factors[stratum][number] + products[stratum - 1][total - number]
                probability = _exp_scaled(logs)
                probability /= probability.sum()
                second[rows, stratum] = rng.choice(number, rows.sum(), p=probability)
            left = left - second[:, stratum]
        second[:, 0] = left
        return second

    @cached_property
    def _convolved(self):
        """Logs of the convolutions up to each stratum, and the distribution of the sum."""
        products = [self._log_factors[0]]
        for factor in self._log_factors[1:]:
            products.append(_convolve(products[-1], factor))
        return products, _exp_scaled(products[-1] + self._log_factor_of_sum)

    @cached_property
    def _log_factors(self):
        """Logs of f(0), f(1), ..., f(u) for each stratum."""
        factors = []
        for first, second, number in zip(*self.weights, self.unlabelled, strict=True):
            z = np.arange(number + 1)
            ways = -gammaln(z + 1) - gammaln(number - z + 1)
            factors.append(ways + gammaln(second + z) + gammaln(first + number - z))
        return factors

    @cached_property
    def _log_factor_of_sum(self):
        """Logs of h(0), h(1), ..."""
        total = self.unlabelled.sum()
        z = np.arange(total + 1)
        first, second = self.weights.sum(-1)
        ways = gammaln(1 + z) + gammaln(1 + total - z)
        return ways - gammaln(second + z) - gammaln(first + total - z)


def _convolve(first, second):
    """Return the convolution on the log scale, which avoids overflow."""
    long, short = (first, second) if len(first) >= len(second) else (second, first)
    logs = np.full(len(first) + len(second) - 1, -np.inf)
    for start, factor in enumerate(short):
        window = logs[start : start + len(long)]
        np.logaddexp(window, long + factor, out=window)
    return logs


def _exp_scaled(logs):
    return np.exp(logs - logs.max())
