"""What raters say given the truth: the likelihood of their labels, the true class summed out."""

import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import xarray as xr
from numpy.polynomial.hermite_e import hermegauss
from scipy.special import log_ndtr, logsumexp, ndtri

from bayescm.evidence.raters import FEW_GOLD
from bayescm.validate import fail

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
