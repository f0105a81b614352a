"""
The direct sibling of `bayescm.models.noisy_labels`: importance sampling around the mode.

Of two classes the parameters are as many as two for each rater and one; the true classes are summed
out, so that nothing else is sampled. Of more classes they are too many for that, and the true
classes and the rates are drawn in turn, in many short chains beside each other.

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
from scipy.special import expit, log_expit, log_ndtr, logsumexp, ndtri, xlogy

from bayescm.distributions import dirichlet
from bayescm.evidence.counts import CELLS
from bayescm.evidence.raters import FEW_GOLD, as_ratings
from bayescm.inference.importance import Weighted, explore
from bayescm.posteriors.base import Posterior
from bayescm.validate import fail

# What raters say given the truth: the likelihood of their labels, the true class summed out.

_ROUNDS, _NODES = 200, 15
_SURE = 1e-12  # a rate is no nearer to 0 and 1 than this
_APART, _CLOSE = 0.05, 4.0  # rates of two modes; logs of densities of which both have some weight


@dataclass(frozen=True, eq=False)
class Votes:
    """
    The labels of raters, examples rated alike in one pattern.

    Attributes
    ----------
    votes : ndarray, shape (R, P, C)
        How often each rater gave each label.
    weight : ndarray, shape (P,)
        How many examples the pattern has.
    possible : ndarray of bool, shape (P, C)
        Which classes may be true: of a gold label that one.
    group : ndarray of int, shape (P,)
        The population that the examples are of.
    """

    votes: np.ndarray
    weight: np.ndarray
    possible: np.ndarray
    group: np.ndarray

    @classmethod
    def of(cls, ratings: xr.Dataset) -> "Votes":
        """Return the labels of `bayescm.from_raters`."""
        gold = ratings["gold"].values[:, None]
        votes, weight = (ratings[each].values.astype(float) for each in ("votes", "counts"))
        places = np.zeros(len(weight), int)
        if "group" in ratings:
            places = ratings["group"].values.astype(int)
        return cls(votes, weight, (gold < 0) | (gold == np.arange(votes.shape[-1])), places)

    @cached_property
    def sizes(self) -> np.ndarray:
        """The number of examples of each population, (G,)."""
        return np.bincount(self.group, self.weight)

    @property
    def show_dependence(self) -> bool:
        """Whether errors together can be seen: of two classes, by four raters or a gold label."""
        of_four = (self.votes.sum(-1) > 0).sum(0) >= 4
        gold = self.possible.sum(-1) == 1
        most = 2 * self.weight[of_four].sum() > self.weight.sum()
        return self.votes.shape[-1] == 2 and bool(most or gold.any())

    @property
    def named(self) -> bool:
        """Whether gold labels tell which class is which: of all classes, or of all but one."""
        sure = self.possible.sum(-1) == 1
        seen = self.weight[sure] @ self.possible[sure]
        return bool(seen.sum() >= FEW_GOLD and (seen > 0).sum() >= len(seen) - 1)

    def given(self, prevalence: np.ndarray, rates: np.ndarray, shared: Any = 0.0) -> np.ndarray:
        """
        Return the log probability (S, P, C) of every pattern together with every true class.

        Parameters
        ----------
        prevalence : ndarray, shape (S, G, C)
        rates : ndarray, shape (S, R, C, C)
        shared : float or ndarray, shape (S,)
            The correlation of how hard an example is for two raters, on the normal scale; of two
            classes only.
        """
        said = self._apart(rates) if np.all(shared == 0) else self._together(rates, shared)
        logs = np.log(np.maximum(prevalence, 1e-300))[:, self.group]
        return np.where(self.possible, said + logs, -np.inf)

    def _apart(self, rates):
        """Return the log probability (S, P, C) of labels given the class, errors independent."""
        raters, patterns, classes = self.votes.shape
        logs = np.log(np.maximum(rates, 1e-300))
        flat = logs.swapaxes(1, 2).reshape(len(logs), classes, raters * classes)
        terms = flat @ self.votes.transpose(0, 2, 1).reshape(raters * classes, patterns)
        return terms.swapaxes(1, 2)

    def _together(self, rates, shared):
        """Return the same where examples are hard or easy for all raters alike."""
        right = np.diagonal(rates, axis1=-2, axis2=-1)  # (S, R, C)
        right = np.clip(right, _SURE, 1 - _SURE)
        nodes, weights = hermegauss(_NODES)
        shared = np.broadcast_to(shared, len(rates))[:, None, None, None]
        level = (ndtri(right)[..., None] + np.sqrt(shared) * nodes) / np.sqrt(1 - shared)
        each = np.concatenate([log_ndtr(level), log_ndtr(-level)], axis=1)  # (S, 2R, C, Q)
        own = np.concatenate([self.votes, self.votes[..., ::-1]])
        terms = own.transpose(2, 1, 0) @ each.swapaxes(1, 2)  # (S, C, P, Q)
        highest = terms.max(-1, keepdims=True)
        summed = np.exp(terms - highest) @ (weights / weights.sum())
        return (np.log(summed) + highest[..., 0]).swapaxes(1, 2)

    def most_likely(self, added: Any = 0.0) -> tuple[np.ndarray, np.ndarray]:
        """
        Return prevalence (G, C) and rates (R, C, C) by EM from the votes, with pseudo-counts.

        Where gold labels name the classes, from those of the raters' rates on these too.
        """
        votes = np.where(self.possible, self.votes.sum(0) + 1e-6, 0)
        found = [self._climbed(votes / votes.sum(-1, keepdims=True), added)]
        if self.named:
            found.append(self._climbed(self._by_gold(), added))
        heights = [self._height(each, added) for each in found]
        if (
            np.ptp([rates for _, rates in found], axis=0).max() > _APART
            and np.ptp(heights) < _CLOSE
        ):
            warnings.warn(
                "The gold labels hardly tell which class is which: the raters may be mostly right "
                "or mostly wrong, and the answer is of the more probable of the two. "
                "Pass more gold labels.",
                stacklevel=2,
            )
        return found[int(np.argmax(heights))]

    def _by_gold(self):
        """Return the probability (P, C) of every true class by the rates on the gold labels."""
        sure = self.possible.sum(-1) == 1
        known = self.weight[sure, None] * self.possible[sure]
        rates = np.einsum("na,rnp->rap", known, self.votes[:, sure]) + 1
        even = np.full((1, *self.sizes.shape, rates.shape[-1]), 1 / rates.shape[-1])
        return self.truth(even, (rates / rates.sum(-1, keepdims=True))[None])[0]

    def _height(self, parameters, added):
        """Return the log density of the votes and rates, the raters independent."""
        prevalence, rates = parameters
        given = logsumexp(self.given(prevalence[None], rates[None])[0], axis=-1)
        return given @ self.weight + (added * np.log(rates)).sum()

    def _climbed(self, truth, added):
        """Return prevalence and rates by EM from the probability (P, C) of every true class."""
        for _ in range(_ROUNDS):
            prevalence = self.by_group(truth) / self.sizes[:, None]
            rates = np.einsum("n,na,rnp->rap", self.weight, truth, self.votes) + added
            rates = np.maximum(rates, 1e-9)
            rates = rates / rates.sum(-1, keepdims=True)
            new = self.truth(prevalence[None], rates[None])[0]
            if np.abs(new - truth).max() < 1e-9:
                break
            truth = new
        return prevalence, rates

    def truth(self, prevalence: np.ndarray, rates: np.ndarray, shared: Any = 0.0) -> np.ndarray:
        """Return the probability (S, P, C) of every true class."""
        given = self.given(prevalence, rates, shared)
        return np.exp(given - logsumexp(given, axis=-1, keepdims=True))

    def by_group(self, truth: np.ndarray) -> np.ndarray:
        """Return how many examples (G, C) of each population are of each class."""
        found = np.zeros((len(self.sizes), truth.shape[-1]))
        np.add.at(found, self.group, self.weight[:, None] * truth)
        return found


def dependence_of(given: Any, classes: int) -> Any:
    """Return the dependence, or raise where it is none."""
    pair = isinstance(given, tuple)
    right = len(given) == 2 and min(given) > 0 if pair else np.ndim(given) == 0 and 0 <= given < 1
    if not right:
        todo = "pass 0.2, or (1, 4) to learn it"
        raise fail("not a dependence of raters", given, "0 <= dependence < 1, or a Beta", todo)
    if classes > 2 and given != 0:
        todo = "take one class against the rest, or leave it out"
        raise fail("dependence of raters is for two classes", classes, "two classes", todo)
    return tuple(map(float, given)) if pair else float(given)


# The posterior of prevalence, rates and dependence.

_FEW, _FAR = 400.0, 12.0
_POINTS, _HELD = 16_000, 400_000  # of the last round; points times patterns held at once
_OUTSIDE = -1e9  # the log density of what the prior excludes: finite, for the search of the mode
# Chains of the Gibbs sampler, sweeps left out first, and sweeps from one kept to the next.
_CHAINS, _BURN, _THIN = 400, 100, 4
_LEARNED = (1.0, 9.0)  # the Beta of dependence, where ratings can tell of it


@dataclass(frozen=True, eq=False)
class NoisyLabels(Posterior):
    """
    The posterior of the rates of raters, the true classes summed out.

    Attributes
    ----------
    ratings : Dataset
        From `bayescm.from_raters`.
    prior : float
        Pseudo-count of a wrong answer.
    dependence : float or tuple of two floats
        Of how hard an example is for two raters: a correlation, or its Beta distribution.
    """

    pairs = ("classifier",)
    cell_prior = False
    ratings: xr.Dataset
    prior: float
    dependence: float | tuple[float, float] = 0.0

    @cached_property
    def votes(self) -> Votes:
        """The labels as arrays."""
        return Votes.of(self.ratings)

    @property
    def how(self) -> str:  # type: ignore[override]
        """How its draws are made, in words."""
        points = f"importance sampling ({self.effective_draws:,.0f} effective)" if self._two else ""
        return f"draws by {points or 'Gibbs sampling'}"

    @property
    def effective_draws(self) -> float:  # type: ignore[override]
        """The number of independent draws that points are worth."""
        return self.points.effective if self._two else np.inf

    @property
    def sampling_method(self) -> str:  # type: ignore[override]
        """The same in one word."""
        return "importance" if self._two else "gibbs"

    @property
    def _two(self):
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
        self, prevalence: np.ndarray, rates: np.ndarray, shared: Any = None
    ) -> np.ndarray:
        """
        Return the log density (S,) of the ratings and of the rates, up to a constant.

        Parameters
        ----------
        prevalence : ndarray, shape (S, G, C)
        rates : ndarray, shape (S, R, C, C)
        shared : ndarray, shape (S,), optional
            The dependence, where it is not known.
        """
        classes = rates.shape[-1]
        known = self.dependence if shared is None else shared
        given = logsumexp(self.votes.given(prevalence, rates, known), axis=-1) @ self.votes.weight
        powers = self.prior + np.eye(classes) - 1
        own = (powers * np.log(np.maximum(rates, 1e-300))).sum((1, 2, 3))
        if shared is not None:
            a, b = self.dependence  # type: ignore[misc]
            own = own + xlogy(a - 1, shared) + xlogy(b - 1, 1 - shared)
        right = np.diagonal(rates, axis1=-2, axis2=-1).mean((1, 2))
        return np.where(self.votes.named | (right > 1 / classes), given + own, _OUTSIDE)

    @cached_property
    def plug_in(self) -> tuple[np.ndarray, np.ndarray]:
        """The most probable prevalence (G, C) and rates (R, C, C), the raters independent."""
        return self.votes.most_likely(self.prior + np.eye(self.ratings.sizes["actual"]) - 1)

    def point(self, measure: Callable, of: str = "parameter") -> np.ndarray:
        """Return the measure at the most probable rates; of dependent raters, at the mean ones."""
        self.resolve_estimand(of)
        prevalence, rates = self.plug_in
        if self.dependence != 0:
            parts = self._unfold(self.points.points)[:2]
            prevalence, rates = (np.tensordot(self.points.weights, each, 1) for each in parts)
        return measure(self._theta(prevalence[None], rates[None])[0])

    def _theta(self, prevalence, rates):
        """Return the cells (S, R, C, C) of each rater, in all populations together."""
        share = self.votes.sizes / self.votes.sizes.sum()
        return np.einsum("g,sga->sa", share, prevalence)[:, None, :, None] * rates

    @property
    def batch(self) -> xr.DataArray:
        """The number of examples, of every rater the same."""
        return self.template.to_dataarray(np.full(self.template.shape, self.votes.weight.sum()))

    @cached_property
    def points(self) -> Weighted:
        """Points of the posterior on the logit scale: the prevalence, then two for each rater."""
        prevalence, rates = self.plug_in
        diagonal = np.diagonal(rates, axis1=-2, axis2=-1).ravel()
        shared = np.full(int(self._unknown), 0.1)
        start = np.concatenate([prevalence[:, 1], diagonal, shared])
        start = np.clip(start, 1e-3, 1 - 1e-3)
        start = np.log(start / (1 - start))

        def log_density(points):
            # The change of variables: p (1 - p) for each logit.
            jacobian = (log_expit(points) + log_expit(-points)).sum(-1)
            parts = np.array_split(points, 1 + points.shape[0] * self.votes.weight.size // _HELD)
            return (
                np.concatenate([self.log_joint(*self._unfold(part)) for part in parts]) + jacobian
            )

        rough = 2000 if self._unknown else 700  # a dependence is skewed
        bounds = [(-_FAR, _FAR)] * len(start)
        found = explore(log_density, start, bounds, rough=rough, size=_POINTS)
        if found.effective < _FEW:
            warnings.warn(
                f"The draws are worth {found.effective:.0f} only: the rates are hardly identified. "
                'Use fit(evidence, "noisy_labels", method="nuts"), more raters or gold labels.',
                stacklevel=2,
            )
        return found

    def variables(self, size: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Return draws (size, ...) of the variables of the PyMC model of the same name."""
        found: dict[str, np.ndarray] = {}
        if self._two:
            prevalence, rates, *shared = self._unfold(self.points.draw(size, rng))
            found = dict(zip(["dependence"], shared, strict=False))
        else:
            prevalence, rates = self._in_turn(size, rng)
        found |= {"rates": rates, "theta": self._theta(prevalence, rates)}
        return found | {"prevalence": prevalence if self._grouped else prevalence[:, 0]}

    @property
    def _grouped(self):
        return "group" in self.ratings

    @property
    def _unknown(self):
        return isinstance(self.dependence, tuple)

    def _unfold(self, points):
        """Return prevalence (S, G, 2), rates (S, R, 2, 2) and any dependence from logits."""
        shares, groups = expit(points), len(self.votes.sizes)
        prevalence = np.stack([1 - shares[:, :groups], shares[:, :groups]], axis=-1)
        rest = shares[:, groups : groups + 2 * len(self.votes.votes)]
        right = rest.reshape(len(points), -1, 2)
        rows = [np.stack([right[..., 0], 1 - right[..., 0]], -1)]
        rows += [np.stack([1 - right[..., 1], right[..., 1]], -1)]
        shared = [np.minimum(shares[:, -1], 0.999)] if self._unknown else []
        return prevalence, np.stack(rows, axis=-2), *shared

    def _in_turn(self, size, rng):
        """Draw true classes and rates in turn, in chains that start at the most likely rates."""
        classes, votes = self.ratings.sizes["actual"], self.votes
        weight, member = votes.weight.astype(int), np.eye(len(votes.sizes))[votes.group]
        prevalence, rates = (np.repeat(each[None], _CHAINS, axis=0) for each in self.plug_in)
        kept: list = []
        keep = -(-size // _CHAINS)
        for sweep in range(_BURN + keep * _THIN):
            truth = rng.multinomial(weight, votes.truth(prevalence, rates))
            classed = np.einsum("sna,ng->sga", truth, member)
            prevalence = dirichlet.draw(classed + 1.0, 1, rng)[0]
            cells = np.einsum("sna,rnp->srap", truth, votes.votes)
            new = dirichlet.draw(cells + self.prior + np.eye(classes), 1, rng)[0]
            right = np.diagonal(new, axis1=-2, axis2=-1).mean((1, 2)) > 1 / classes
            rates = np.where(votes.named | right[:, None, None, None], new, rates)
            if sweep >= _BURN and (sweep - _BURN) % _THIN == 0:
                kept.append((prevalence, rates))
        order = rng.permutation(keep * _CHAINS)[:size]
        return tuple(np.concatenate(each)[order] for each in zip(*kept, strict=True))

    def log_density(self, variables: Mapping[str, np.ndarray]) -> np.ndarray:
        """Return the log posterior density of prevalence and rates, up to a constant."""
        prevalence = variables["prevalence"].reshape(1, len(self.votes.sizes), -1)
        shared = [np.reshape(variables["dependence"], 1)] if self._unknown else []
        return self.log_joint(prevalence, variables["rates"][None], *shared)[0]

    def true_classes(self, size: int, rng: np.random.Generator) -> np.ndarray:
        """Return the probability (pattern, actual) of every class, the rates averaged out."""
        drawn = self.variables(size, rng)
        prevalence = drawn["prevalence"].reshape(size, len(self.votes.sizes), -1)
        shared = drawn.get("dependence", self.dependence)
        return self.votes.truth(prevalence, drawn["rates"], shared).mean(0)

    def draws_by_default(self, of: str, *, joint: bool = False) -> int:
        """Return how many draws are made: no more than the points are worth."""
        return 4_000


def noisy_labels(
    evidence: xr.Dataset,
    *,
    concentration: float | None = None,
    dependence: float | tuple[float, float] | None = None,
) -> NoisyLabels:
    """
    Return the posterior of the rates of several raters without a gold standard.

    Parameters
    ----------
    evidence : Dataset
        From `bayescm.from_raters`.
    concentration : float, optional
        Prior pseudo-count of each wrong answer, > 0; the right one has 1 more; by default 1 for all
        wrong answers together, 1 / (C - 1) each.
    dependence : float or tuple of two floats, optional
        Of two classes: how far examples are hard or easy for all raters alike. The correlation of
        two raters' errors on the normal scale, in [0, 1): a number that is assumed, or ``(a, b)``
        for a Beta(a, b). By default Beta(1, 9) where most examples have four raters, or some a gold
        label, which tell of it; else 0.

    Returns
    -------
    NoisyLabels

    Raises
    ------
    ValueError
        If the concentration is not positive, or the dependence is out of range or of more than two
        classes.

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
        raise fail("concentration must be positive", prior, "a number > 0", "pass 1")
    if dependence is None:
        dependence = _LEARNED if Votes.of(ratings).show_dependence else 0.0
    return NoisyLabels(ratings, float(prior), dependence_of(dependence, ratings.sizes["actual"]))
