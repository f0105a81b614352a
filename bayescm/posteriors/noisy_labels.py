r"""
Direct posterior of `bayescm.models.noisy_labels`: raters without ground truth.

An example has the true class c with probability :math:`\pi_c` in its population. Rater r gives it
the label j with probability :math:`\theta_{rcj}` (Dawid and Skene 1979). The true classes are
summed out. Given the votes :math:`v_{ir}`, the posterior is

.. math:: p(\pi, \theta) \propto p(\theta) \prod_i \sum_c \pi_c \prod_r \theta_{r c v_{ir}}.

- With two classes, the parameters are two rates per rater and the prevalence. They are sampled by
  importance sampling with a mixture proposal (`bayescm.inference.importance`).
- With more classes, there are too many parameters for importance sampling. They are sampled by
  Gibbs sampling (`bayescm.inference.gibbs.latent_class`).

The mode comes from the EM algorithm (`bayescm.inference.em.latent_class`).

With two classes, the errors of raters may be correlated: an example is hard or easy for all raters.
Rater r is correct if :math:`\sqrt{\rho} \, h_i + \sqrt{1 - \rho} \, e_{ir} <
\Phi^{-1}(\theta_{rcc})` with h and e standard normal. h is integrated out by Gauss-Hermite
quadrature.

References
----------
Dawid, A. P., Skene, A. M. (1979). Maximum likelihood estimation of observer error-rates using the
EM algorithm. Applied Statistics 28, 20-28. doi:10.2307/2346806
"""

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import xarray as xr
from numpy.polynomial.hermite_e import hermegauss
from scipy.special import expit, log_expit, log_ndtr, logsumexp, ndtri, softmax, xlogy

from bayescm.evidence.counts import CELLS
from bayescm.evidence.raters import FEW_GOLD, as_ratings
from bayescm.inference import em, gibbs
from bayescm.inference.importance import Weighted, explore
from bayescm.posteriors.base import CountsPosterior
from bayescm.validate import fail

# Effective number of draws below which importance sampling causes a warning. For example, suppose
# that three raters label 400 examples, each correctly with probability 0.6. With 700 to 1,000
# effective draws, medians differ between runs by three times their estimated error.
_FEW_EFFECTIVE = 1000.0
_BOUND = 12.0  # bound of the logits in the search for the mode
# Numbers of points in the last round of importance sampling and in a round that adapts the
# proposal, and the number of components of the proposal. With a thousand points, the ends of
# intervals are wrong by a fifth of a standard deviation. Several components are needed if the
# raters hardly identify the classes. In that case, a rate is estimated precisely if its class is
# common, and is almost undetermined if its class is rare. For 21 examples labelled by such raters,
# the lower limit of the prevalence is 0.137. One component gives 0.070, with an effective number of
# 2,000 draws. With sixteen components, the effective number is 10,000.
_POINTS = 16_000
_PILOT = 2000
_COMPONENTS = 16
_AT_ONCE = 400_000  # largest number of points times patterns at once
_EXCLUDED = -1e9  # log density of excluded points; it is finite for the search for the mode
# Settings of Gibbs sampling.
_CHAINS = 400
_BURN = 100  # discarded sweeps at the start of a chain
_THIN = 4  # sweeps per draw
# Correlation between draws of the same chain above which a warning is issued. With 400 chains, it
# is five standard errors.
_CORRELATED = 0.25
_LEARNED = (1.0, 9.0)  # Beta prior for the dependence, if the ratings identify it
_NODES = 15  # number of quadrature nodes for the difficulty of an example
_LEAST_RATE = 1e-12  # smallest distance of a rate from 0 and 1
# A warning is issued if two modes have different rates but similar log densities.
_APART = 0.05  # smallest difference between the rates
_CLOSE = 4.0  # largest difference between the log densities; both modes then have some weight


def noisy_labels(
    evidence: xr.Dataset,
    *,
    concentration: float | None = None,
    dependence: float | tuple[float, float] | None = None,
) -> "NoisyLabels":
    """
    Return the posterior of the rates of several raters without a ground truth.

    Use it to evaluate people, judges and classifiers against each other. All of them are treated as
    raters.

    Parameters
    ----------
    evidence : Dataset
        Ratings from `bayescm.from_raters`.
    concentration : float, optional
        Prior pseudo-count of each wrong label, > 0. The pseudo-count of the correct label is larger
        by 1. Default: ``1 / (C - 1)``, so that the pseudo-counts of all wrong labels sum to 1.
    dependence : float or tuple of two floats, optional
        For two classes, the correlation of two raters' errors on the normal scale, in [0, 1). It is
        positive if examples are hard or easy for all raters. A number is fixed, and ``(a, b)`` is a
        Beta(a, b) prior. Default: Beta(1, 9) if most examples have at least four raters or any
        example has a gold label, because the data then identify the dependence. Otherwise 0.

    Returns
    -------
    NoisyLabels

    Raises
    ------
    ValueError
        If the concentration is not a finite number > 0. If the dependence is out of range, or is
        not 0 for more than two classes.

    Examples
    --------
    >>> import bayescm as bcm
    >>> rng = np.random.default_rng(1)
    >>> truth = rng.random(300) < 0.4
    >>> names = ("ann", "bob", "eve", "llm")
    >>> said = {name: np.where(rng.random(300) < 0.85, truth, ~truth) for name in names}
    >>> low, high = bcm.interval(bcm.from_raters(said), "recall").sel(classifier="llm").values
    >>> bool(low < 0.85 < high)
    True
    """
    ratings = as_ratings(evidence)
    prior = 1 / (ratings.sizes["actual"] - 1) if concentration is None else concentration
    if np.ndim(prior) != 0 or not 0 < prior < np.inf:
        raise fail("`concentration` must be a finite number > 0", prior, "", "pass 1")
    if dependence is None:
        dependence = _LEARNED if Votes.of(ratings).show_dependence else 0.0
    dependence = check_dependence(dependence, ratings.sizes["actual"])
    return NoisyLabels(ratings, float(prior), dependence)


def check_dependence(dependence: Any, classes: int) -> Any:
    """Return the dependence, or raise an error if it is invalid."""
    pair = isinstance(dependence, tuple)
    valid = (
        len(dependence) == 2 and min(dependence) > 0
        if pair
        else np.ndim(dependence) == 0 and 0 <= dependence < 1
    )
    if not valid:
        raise fail(
            "`dependence` must be at least 0 and below 1, or a Beta distribution",
            dependence,
            "",
            "pass e.g. 0.2, or (1, 4) to estimate it",
        )
    if classes > 2 and dependence != 0:
        todo = "use one class against the rest, or leave it out"
        raise fail("`dependence` between raters needs two classes", classes, "", todo)
    return tuple(map(float, dependence)) if pair else float(dependence)


@dataclass(frozen=True, eq=False)
class NoisyLabels(CountsPosterior):
    """
    Posterior of the rates of raters, with the true classes summed out.

    Attributes
    ----------
    ratings : Dataset
        Ratings from `bayescm.from_raters`.
    prior : float
        Pseudo-count of a wrong label.
    dependence : float or tuple of two floats
        Correlation of two raters' errors on the normal scale, or its Beta prior.
    """

    takes = "ratings"
    pairs = ("classifier",)
    cell_prior = False
    ratings: xr.Dataset
    prior: float
    dependence: float | tuple[float, float] = 0.0

    @cached_property
    def votes(self) -> "Votes":
        """The ratings as arrays."""
        return Votes.of(self.ratings)

    @property
    def how(self) -> str:  # type: ignore[override]
        """Description of the method, with the effective number of independent draws."""
        points = (
            f"importance sampling ({self.effective_draws:,.0f} effective)" if self._binary else ""
        )
        return f"draws by {points or 'Gibbs sampling'}"

    @property
    def effective_draws(self) -> float:  # type: ignore[override]
        """The effective number of independent draws of importance sampling."""
        return self.points.effective if self._binary else np.inf

    @property
    def draw_clusters(self) -> int:  # type: ignore[override]
        """The number of chains of Gibbs sampling, or 1 for importance sampling."""
        return 1 if self._binary else _CHAINS

    @property
    def sampling_method(self) -> str:  # type: ignore[override]
        """Name of the method: "importance" for two classes, else "gibbs"."""
        return "importance" if self._binary else "gibbs"

    @property
    def _binary(self):
        return self.ratings.sizes["actual"] == 2

    @cached_property
    def counts(self) -> xr.DataArray:  # type: ignore[override]
        """Each rater's expected confusion matrix, (classifier, actual, predicted)."""
        prevalence, rates = self.plug_in
        truth = self.votes.truth(prevalence[None], rates[None])[0]
        cells = np.einsum("n,na,rnp->rap", self.votes.weight, truth, self.votes.votes)
        coords = {dim: self.ratings[dim].values for dim in ("classifier", *CELLS)}
        if "positive" in self.ratings.coords:
            coords["positive"] = self.ratings["positive"].item()
        return xr.DataArray(cells, dims=("classifier", *CELLS), coords=coords, name="counts")

    def log_joint(
        self, prevalence: np.ndarray, rates: np.ndarray, correlation: Any = None
    ) -> np.ndarray:
        """
        Return the log density (S,) of ratings and rates, up to a constant.

        The prior of the label probabilities of a class is Dirichlet, with the pseudo-count `prior`,
        and 1 more for the correct label. A dependence that is estimated has a beta prior. Unless
        gold labels identify the classes, the mean rate of correct labels must exceed 1 / C.

        Parameters
        ----------
        prevalence : ndarray, shape (S, G, C)
        rates : ndarray, shape (S, R, C, C)
        correlation : ndarray, shape (S,), optional
            The dependence, if it is estimated.
        """
        classes = rates.shape[-1]
        rho = self.dependence if correlation is None else correlation
        joint = self.votes.log_joint(prevalence, rates, rho)
        likelihood = logsumexp(joint, axis=-1) @ self.votes.weight
        powers = self.prior + np.eye(classes) - 1
        prior = (powers * np.log(np.maximum(rates, 1e-300))).sum((1, 2, 3))
        if correlation is not None:
            a, b = self.dependence  # type: ignore[misc]
            prior = prior + xlogy(a - 1, correlation) + xlogy(b - 1, 1 - correlation)
        right = np.diagonal(rates, axis1=-2, axis2=-1).mean((1, 2))
        return np.where(self.votes.named | (right > 1 / classes), likelihood + prior, _EXCLUDED)

    @cached_property
    def plug_in(self) -> tuple[np.ndarray, np.ndarray]:
        """The most probable prevalence (G, C) and rates (R, C, C) of independent raters."""
        return self.votes.most_likely(self.prior + np.eye(self.ratings.sizes["actual"]) - 1)

    def point(self, measure: Callable, of: str = "parameter") -> np.ndarray:
        """Return the measure at the most probable rates, or mean rates if errors are dependent."""
        self.resolve_estimand(of)
        prevalence, rates = self.plug_in
        if self.dependence != 0:
            draws = self._unfold(self.points.points)[:2]
            prevalence, rates = (np.tensordot(self.points.weights, values, 1) for values in draws)
        return measure(self._theta(prevalence[None], rates[None])[0])

    def _theta(self, prevalence, rates):
        """Return the cells (S, R, C, C) of each rater, in all populations together."""
        share = self.votes.sizes / self.votes.sizes.sum()
        return np.einsum("g,sga->sa", share, prevalence)[:, None, :, None] * rates

    @property
    def batch(self) -> xr.DataArray:
        """The number of examples, equal for all raters."""
        return self.template.to_dataarray(np.full(self.template.shape, self.votes.weight.sum()))

    @cached_property
    def points(self) -> Weighted:
        """Weighted points of the posterior: logits of prevalences, rates and any dependence."""
        prevalence, rates = self.plug_in
        diagonal = np.diagonal(rates, axis1=-2, axis2=-1).ravel()
        dependence = np.full(int(self._learns_dependence), 0.1)
        start = np.concatenate([prevalence[:, 1], diagonal, dependence])
        start = np.clip(start, 1e-3, 1 - 1e-3)
        start = np.log(start / (1 - start))

        def log_density(points):
            # Change of variables: p (1 - p) for each logit.
            jacobian = (log_expit(points) + log_expit(-points)).sum(-1)
            blocks = np.array_split(
                points, 1 + points.shape[0] * self.votes.weight.size // _AT_ONCE
            )
            return (
                np.concatenate([self.log_joint(*self._unfold(block)) for block in blocks])
                + jacobian
            )

        bounds = [(-_BOUND, _BOUND)] * len(start)
        points = explore(
            log_density, start, bounds, rough=_PILOT, size=_POINTS, components=_COMPONENTS
        )
        if points.effective < _FEW_EFFECTIVE:
            warnings.warn(
                f"The importance sample is worth only {points.effective:.0f} draws, because the "
                'raters\' error rates are weakly identified. Use fit(evidence, "noisy_labels", '
                'method="nuts"), or add raters or gold labels.',
                stacklevel=2,
            )
        return points

    def variables(self, size: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Return draws (size, ...) of the variables of the corresponding PyMC model."""
        variables: dict[str, np.ndarray] = {}
        if self._binary:
            prevalence, rates, *dependence = self._unfold(self.points.draw(size, rng))
            variables = dict(zip(["dependence"], dependence, strict=False))
        else:
            prevalence, rates = self._draw_gibbs(size, rng)
        variables |= {"rates": rates, "theta": self._theta(prevalence, rates)}
        return variables | {"prevalence": prevalence if self._grouped else prevalence[:, 0]}

    @property
    def _grouped(self):
        return "group" in self.ratings

    @property
    def _learns_dependence(self):
        return isinstance(self.dependence, tuple)

    def _unfold(self, points):
        """Return prevalence (S, G, 2), rates (S, R, 2, 2) and any dependence from logits."""
        shares, groups = expit(points), len(self.votes.sizes)
        prevalence = np.stack([1 - shares[:, :groups], shares[:, :groups]], axis=-1)
        rates = shares[:, groups : groups + 2 * len(self.votes.votes)]
        right = rates.reshape(len(points), -1, 2)
        rows = [np.stack([right[..., 0], 1 - right[..., 0]], -1)]
        rows += [np.stack([1 - right[..., 1], right[..., 1]], -1)]
        dependence = [np.minimum(shares[:, -1], 0.999)] if self._learns_dependence else []
        return prevalence, np.stack(rows, axis=-2), *dependence

    def _draw_gibbs(self, size, rng):
        """Sample prevalence and rates in chains that start at the most probable values."""
        votes, classes = self.votes, self.ratings.sizes["actual"]

        def support(rates):
            return np.diagonal(rates, axis1=-2, axis2=-1).mean((1, 2)) > 1 / classes

        prevalence, rates, correlation = gibbs.latent_class(
            votes.votes,
            votes.weight.astype(int),
            self.prior + np.eye(classes),
            size,
            rng,
            burn=_BURN,
            chains=_CHAINS,
            thin=_THIN,
            start=self.plug_in,
            possible=votes.possible,
            group=votes.group,
            support=None if votes.named else support,
        )
        if correlation > _CORRELATED:
            warnings.warn(
                "The Gibbs chains have not converged because the raters' error rates are "
                'weakly identified. Use fit(evidence, "noisy_labels", method="nuts"), or add '
                "raters or gold labels.",
                stacklevel=2,
            )
        return prevalence, rates

    def log_density(self, variables: Mapping[str, np.ndarray]) -> np.ndarray:
        """Return the log posterior density of prevalence and rates, up to a constant."""
        prevalence = variables["prevalence"].reshape(1, len(self.votes.sizes), -1)
        learned = [np.reshape(variables["dependence"], 1)] if self._learns_dependence else []
        return self.log_joint(prevalence, variables["rates"][None], *learned)[0]

    def true_classes(self, size: int, rng: np.random.Generator) -> np.ndarray:
        """Return the posterior probability (pattern, actual) of each true class."""
        drawn = self.variables(size, rng)
        prevalence = drawn["prevalence"].reshape(size, len(self.votes.sizes), -1)
        dependence = drawn.get("dependence", self.dependence)
        return self.votes.truth(prevalence, drawn["rates"], dependence).mean(0)

    def draws_by_default(self, of: str, *, joint: bool = False) -> int:
        """Return the default number of draws, usually fewer than the effective number of points."""
        return 4_000


@dataclass(frozen=True, eq=False)
class Votes:
    """
    Ratings, with examples that have the same ratings grouped into patterns.

    Attributes
    ----------
    votes : ndarray, shape (R, P, C)
        Number of times that each rater gave each label.
    weight : ndarray, shape (P,)
        Number of examples with the pattern.
    possible : ndarray of bool, shape (P, C)
        Possible true classes. With a gold label, only its class.
    group : ndarray of int, shape (P,)
        Population of the examples.
    """

    votes: np.ndarray
    weight: np.ndarray
    possible: np.ndarray
    group: np.ndarray

    @classmethod
    def of(cls, ratings: xr.Dataset) -> "Votes":
        """Return the votes in ratings from `bayescm.from_raters`."""
        gold = ratings["gold"].values[:, None]
        votes, weight = (ratings[name].values.astype(float) for name in ("votes", "counts"))
        group = np.zeros(len(weight), int)
        if "group" in ratings:
            group = ratings["group"].values.astype(int)
        return cls(votes, weight, (gold < 0) | (gold == np.arange(votes.shape[-1])), group)

    @cached_property
    def sizes(self) -> np.ndarray:
        """The number of examples of each population, (G,)."""
        return np.bincount(self.group, self.weight)

    @property
    def show_dependence(self) -> bool:
        """Whether votes of four raters or gold labels identify the dependence, for two classes."""
        of_four = (self.votes.sum(-1) > 0).sum(0) >= 4
        gold = self.possible.sum(-1) == 1
        most = 2 * self.weight[of_four].sum() > self.weight.sum()
        return self.votes.shape[-1] == 2 and bool(most or gold.any())

    @property
    def named(self) -> bool:
        """Whether gold labels identify the classes: enough labels, of all classes but one."""
        gold = self.possible.sum(-1) == 1
        number = self.weight[gold] @ self.possible[gold]  # gold labels per class
        return bool(number.sum() >= FEW_GOLD and (number > 0).sum() >= len(number) - 1)

    def log_joint(
        self, prevalence: np.ndarray, rates: np.ndarray, correlation: Any = 0.0
    ) -> np.ndarray:
        """
        Return the log joint probability (S, P, C) of patterns and true classes.

        Parameters
        ----------
        prevalence : ndarray, shape (S, G, C)
        rates : ndarray, shape (S, R, C, C)
        correlation : float or ndarray, shape (S,)
            Correlation of two raters' errors on the normal scale, for two classes only.
        """
        independent = np.all(correlation == 0)
        likelihood = (
            em.log_likelihood(rates, self.votes)
            if independent
            else self._dependent_log_likelihood(rates, correlation)
        )
        return em.log_joint(prevalence, likelihood, self.possible, self.group)

    def _dependent_log_likelihood(self, rates, correlation):
        """Return the log probability (S, P, C) of the votes with correlated errors."""
        right = np.diagonal(rates, axis1=-2, axis2=-1)  # (S, R, C)
        right = np.clip(right, _LEAST_RATE, 1 - _LEAST_RATE)
        nodes, weights = hermegauss(_NODES)
        rho = np.broadcast_to(correlation, len(rates))[:, None, None, None]
        level = (ndtri(right)[..., None] + np.sqrt(rho) * nodes) / np.sqrt(1 - rho)
        logs = np.concatenate([log_ndtr(level), log_ndtr(-level)], axis=1)  # (S, 2R, C, Q)
        votes = np.concatenate([self.votes, self.votes[..., ::-1]])
        terms = votes.transpose(2, 1, 0) @ logs.swapaxes(1, 2)  # (S, C, P, Q)
        highest = terms.max(-1, keepdims=True)
        mean = np.exp(terms - highest) @ (weights / weights.sum())
        return (np.log(mean) + highest[..., 0]).swapaxes(1, 2)

    def most_likely(self, pseudo_counts: Any = 0.0) -> tuple[np.ndarray, np.ndarray]:
        """
        Return prevalence (G, C) and rates (R, C, C) from EM with pseudo-counts.

        EM starts from the majority votes. If gold labels identify the classes, it also starts from
        the raters' rates on the gold labels, and the better mode is returned.
        """
        votes = np.where(self.possible, self.votes.sum(0) + 1e-6, 0)
        starts = [votes / votes.sum(-1, keepdims=True)]
        if self.named:
            starts.append(self._truth_by_gold())
        modes = [
            em.latent_class(
                self.votes,
                self.weight,
                start,
                pseudo_counts,
                possible=self.possible,
                group=self.group,
            )
            for start in starts
        ]
        heights = [self._log_density(*mode, pseudo_counts) for mode in modes]
        if (
            np.ptp([rates for _, rates in modes], axis=0).max() > _APART
            and np.ptp(heights) < _CLOSE
        ):
            warnings.warn(
                "The gold labels hardly identify the classes: the raters may be mostly right "
                "or mostly wrong. The result is for the more probable of the two. Pass more "
                "gold labels.",
                stacklevel=2,
            )
        return modes[int(np.argmax(heights))]

    def _truth_by_gold(self):
        """Return the probability (P, C) of each true class, given the rates on gold labels."""
        gold = self.possible.sum(-1) == 1
        counts = self.weight[gold, None] * self.possible[gold]
        rates = np.einsum("na,rnp->rap", counts, self.votes[:, gold]) + 1
        even = np.full((1, *self.sizes.shape, rates.shape[-1]), 1 / rates.shape[-1])
        return self.truth(even, (rates / rates.sum(-1, keepdims=True))[None])[0]

    def _log_density(self, prevalence, rates, pseudo_counts):
        """Return the log density of votes and rates of independent raters."""
        logs = logsumexp(self.log_joint(prevalence[None], rates[None])[0], axis=-1)
        return logs @ self.weight + (pseudo_counts * np.log(rates)).sum()

    def truth(
        self, prevalence: np.ndarray, rates: np.ndarray, correlation: Any = 0.0
    ) -> np.ndarray:
        """Return the probability (S, P, C) of each true class."""
        return softmax(self.log_joint(prevalence, rates, correlation), axis=-1)
