"""
Two classes, and error rates of elsewhere: exact draws.

Given how many unlabelled examples of each stratum are of the second class, prevalence and error
rates have Dirichlet posteriors. Those numbers have a distribution that is a product over the
strata, but for a factor of their sum; so their sum has its distribution by convolution, and they
are drawn backwards from it. Where nobody has labelled an example of a stratum, either class may own
it: a posterior with two modes, which points around one of them would miss.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import gammaln

MOST = 10_000  # examples; the convolution grows with their square


@dataclass(frozen=True, eq=False)
class Allocations:
    """
    The posterior of one table of labelled examples and the unlabelled ones of each stratum.

    Attributes
    ----------
    weights : ndarray, shape (2, K)
        Labelled examples of each class and stratum, with the prior's pseudo-counts.
    rest : ndarray of int, shape (K,)
        Unlabelled ones.
    """

    weights: np.ndarray
    rest: np.ndarray

    @cached_property
    def _logs(self):
        """Return for each stratum the log of the factor of 0, 1, ... examples of the second."""
        found = []
        for none, some, many in zip(*self.weights, self.rest, strict=True):
            place = np.arange(many + 1)
            ways = -gammaln(place + 1) - gammaln(many - place + 1)
            found.append(ways + gammaln(some + place) + gammaln(none + many - place))
        return found

    @cached_property
    def _of_sum(self):
        """Return the log of the factor of the sum."""
        place, many = np.arange(self.rest.sum() + 1), self.rest.sum()
        none, some = self.weights.sum(-1)
        ways = gammaln(1 + place) + gammaln(1 + many - place)
        return ways - gammaln(some + place) - gammaln(none + many - place)

    @cached_property
    def _convolved(self):
        """Return the logs of the products up to each stratum, and the mass of the sum."""
        products = [self._logs[0]]
        for each in self._logs[1:]:
            products.append(_convolve(products[-1], each))
        return products, _scaled(products[-1] + self._of_sum)

    def draw(self, size: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Draw shares of the classes (size, 2) and rates of the strata in each (size, 2, K)."""
        second = self._second(size, rng)
        counts = np.stack([self.rest - second, second], axis=1)
        shares = rng.standard_gamma(1.0 + counts.sum(-1))
        rates = np.maximum(rng.standard_gamma(self.weights + counts), 1e-300)
        return shares / shares.sum(-1, keepdims=True), rates / rates.sum(-1, keepdims=True)

    def _second(self, size, rng):
        """Draw how many of each stratum are of the second class, (size, K)."""
        factors, (products, mass) = self._logs, self._convolved
        left = rng.choice(len(mass), size, p=mass / mass.sum())
        found = np.zeros((size, len(factors)), int)
        for place in range(len(factors) - 1, 0, -1):
            for total in np.unique(left):
                here = left == total
                first = max(0, total - len(products[place - 1]) + 1)
                own = np.arange(first, min(total, len(factors[place]) - 1) + 1)
                chances = _scaled(factors[place][own] + products[place - 1][total - own])
                found[here, place] = rng.choice(own, here.sum(), p=chances / chances.sum())
            left = left - found[:, place]
        found[:, 0] = left
        return found


def _convolve(one, two):
    """Return the convolution in logs: the factors run over more than numbers can hold."""
    long, short = (one, two) if len(one) >= len(two) else (two, one)
    found = np.full(len(one) + len(two) - 1, -np.inf)
    for place, each in enumerate(short):
        part = found[place : place + len(long)]
        np.logaddexp(part, long + each, out=part)
    return found


def _scaled(logs):
    return np.exp(logs - logs.max())
