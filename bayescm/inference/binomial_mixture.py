r"""
Gibbs sampling of a mixture of binomial distributions, for rates that vary between items.

Item i has :math:`x_i` correct of :math:`n_i` attempts, and its rate is one of M components:

.. math::

    w \sim \mathrm{Dirichlet}(a), \qquad
    x_i \sim \sum_m w_m \, \mathrm{Binomial}(n_i, q_m), \qquad
    q_1 = 0, \quad q_2 = 1, \quad
    q_m \sim \mathrm{Beta}\bigl(\tfrac12 + \mu \phi, \; \tfrac12 + (1 - \mu) \phi\bigr).

With small :math:`a_m` and many components, this approximates a Dirichlet process mixture (Ishwaran
& Zarepour 2002). The rates of the components are continuous, so the model describes any number of
attempts. The distribution of rates is estimated: :math:`\mu \sim \mathrm{Beta}(1/2, 1/2)` is its
location, and :math:`\phi = 1 / \rho - 1`, with :math:`\rho \sim \mathrm{Beta}(1/4, 1)`, its
concentration. Components without items thus have rates similar to the observed ones. With
:math:`\phi = 0`, a rate has the Jeffreys prior.

Component m has :math:`N_m` items with :math:`X_m` correct and :math:`F_m` wrong attempts. A sweep
consists of these steps:

1. Sample the component of each item, with probabilities proportional to :math:`w_m q_m^{x_i} (1 -
   q_m)^{n_i - x_i}`.
2. Exchange all items between rate 0 (or 1) and a component, with w and q integrated out, because a
   large set of items rarely moves one item at a time.
3. Sample :math:`\mu` and :math:`\rho` by random walk Metropolis steps, with q integrated out: their
   likelihood is beta-binomial.
4. Sample :math:`q_m \sim \mathrm{Beta}(\tfrac12 + \mu \phi + X_m, \tfrac12 + (1 - \mu) \phi + F_m)`
   and :math:`w \sim \mathrm{Dirichlet}(a + N)`.

If it is known which wrong outputs are equal, each component also follows one of several
distributions of wrong outputs ("ways"), which have equal prior probabilities. The way is sampled
together with the rates.

References
----------
Diebolt, J. & Robert, C. P. (1994). Estimation of finite mixture distributions through Bayesian
sampling. Journal of the Royal Statistical Society B 56, 363-375.
doi:10.1111/j.2517-6161.1994.tb01985.x

Ishwaran, H. & Zarepour, M. (2002). Exact and approximate sum representations for the Dirichlet
process. Canadian Journal of Statistics 30, 269-283. doi:10.2307/3315951
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy.special import betaln, gammaln

_FEW = 8  # up to this number of identical items, sampling one by one is faster
_EXCHANGES = 2  # number of exchanges (step 2) per end and sweep
_STEPS = 4  # number of random walk steps (step 3) per sweep
_SCALES = (0.02, 0.08, 0.3)  # standard deviations of the random walk, chosen at random
_LEAST = 1e-12  # smallest weight, and smallest distance of rates from 0 and 1
_ALIKE = 1e-7  # smallest rho: rates differ by 1/3000 of their binomial standard error
_HALF_CIRCLE = np.pi / 2


class Items(NamedTuple):
    """
    Sufficient statistics of a set of items.

    Attributes
    ----------
    right, number : ndarray, shape (D,)
        Correct attempts and all attempts of each type of item.
    frequency : ndarray of int, shape (D,)
        Number of items of each type.
    log_way : ndarray, shape (D, J), optional
        Log probability of the observed equalities of their wrong outputs, for each way.
    """

    right: np.ndarray
    number: np.ndarray
    frequency: np.ndarray
    log_way: Any = None


class Mixtures(NamedTuple):
    """
    Draws of the mixtures of K sets of items.

    Attributes
    ----------
    weight, rate : ndarray, shape (S, K, M)
        Weights w and rates q of the components.
    share : ndarray, shape (S, K, M)
        Proportion of the items in each component.
    mu, rho : ndarray, shape (S, K)
    way : ndarray of int, shape (S, K, M), or None
        Distribution of wrong outputs of each component.
    """

    weight: np.ndarray
    rate: np.ndarray
    share: np.ndarray
    mu: np.ndarray
    rho: np.ndarray
    way: Any = None


def base(mu: np.ndarray, rho: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the parameters of the beta distribution of the rates of components."""
    phi = 1 / rho - 1
    return 0.5 + mu * phi, 0.5 + (1 - mu) * phi


def draw(
    sets: Sequence[Items],
    prior: np.ndarray,
    size: int,
    rng: np.random.Generator,
    *,
    burn: int,
    chains: int,
    thin: int = 1,
) -> Mixtures:
    """
    Sample the mixtures of several sets of items, all at once and independently.

    Parameters
    ----------
    sets : sequence of K Items
    prior : ndarray, shape (M,)
        Parameters of the Dirichlet prior. The first two components have rates 0 and 1, and the
        others are exchangeable.
    size : int
        Number of draws.
    rng : numpy.random.Generator
    burn : int
        Number of discarded sweeps at the start.
    chains : int
        Number of parallel chains.
    thin : int, default 1
        Number of sweeps between draws of a chain.

    Returns
    -------
    Mixtures
        Draws of the same chain are not adjacent.

    Examples
    --------
    >>> items = Items(np.array([1, 2]), np.array([200, 200]), np.array([5, 5]))
    >>> prior = np.full(12, 1 / 12)
    >>> drawn = draw([items], prior, 1000, np.random.default_rng(1), burn=20, chains=50)
    >>> float((drawn.share * drawn.rate).sum(-1).std().round(3))  # by 2,000 attempts: 0.0019
    0.002
    """
    sampler = _Sampler(sets, prior, chains, rng)
    keep = -(-size // chains)
    states = []
    for sweep in range(burn + 1 + (keep - 1) * thin):
        sampler.sweep()
        if sweep >= burn and (sweep - burn) % thin == 0:
            states.append(sampler.state())
    fields: list[Any] = [
        None if each[0] is None else np.concatenate(each)[:size]
        for each in zip(*states, strict=True)
    ]
    return Mixtures(*fields)


def probabilities(
    weight: np.ndarray, rate: np.ndarray, items: Items, way: np.ndarray | None = None
) -> np.ndarray:
    """
    Return the probability (S, M) of each component for one item per draw.

    Parameters
    ----------
    weight, rate, way : ndarray, shape (S, M)
        Draws of one mixture.
    items : Items
        One item per draw, with arrays (S,). ``frequency`` is not used.
    """
    arrays: list[Any] = [
        None if array is None else array.T[..., None] for array in (weight, rate, way)
    ]
    weights, rates, ways = arrays  # (M, S, 1): each draw is a set with one chain
    right, number = items.right[:, None], items.number[:, None]
    log_way = None if items.log_way is None else items.log_way[:, None]
    mass = _mass(weights, rates, right, number, ways, log_way)[..., 0, 0].T
    return mass / mass.sum(axis=1, keepdims=True)


class _Sampler:
    """State of all chains of all sets, with arrays (M, K, S)."""

    def __init__(self, sets, prior, chains, rng):
        self.prior, self.rng = prior, rng
        self.components, self.lead = len(prior), (len(sets), chains)
        singles, bulk = zip(*(_split(items) for items in sets), strict=True)
        self.single, self.bulk = _padded(singles), _padded(bulk)
        self.total = np.array([items.frequency.sum() for items in sets])[:, None]
        # Each chain starts with mu and rho from their prior, and with rates across the whole range.
        self.angle = rng.uniform(0, _HALF_CIRCLE, self.lead)  # mu = sin^2(angle)
        self.root = rng.uniform(0, 1, self.lead)  # rho = root^4
        rank = (np.arange(self.components)[:, None, None] + rng.random((1, *self.lead))) / (
            self.components
        )
        self.rate = np.sin(_HALF_CIRCLE * rank) ** 2
        self.rate[0], self.rate[1] = 0, 1
        self.weight = np.full(self.rate.shape, 1 / self.components)
        self.ways = 0 if sets[0].log_way is None else sets[0].log_way.shape[1]
        self.way: Any = rng.integers(0, self.ways, self.rate.shape) if self.ways else None

    def state(self):
        """Return the draws in the form of `Mixtures`, with the chains first."""
        share = self.number / self.total
        arrays = (self.weight, self.rate, share, self.mu, self.rho, self.way)
        return [None if array is None else array.T for array in arrays]

    @property
    def mu(self):
        return np.sin(self.angle) ** 2

    @property
    def rho(self):
        return np.clip(self.root**4, _ALIKE, 1)

    def sweep(self):
        """Perform one Gibbs sweep."""
        self._allocate()
        if self.ways:
            self._draw_ways()
        for _ in range(_EXCHANGES):
            self._exchange(0, self.right, self.wrong)
            self._exchange(1, self.wrong, self.right)
        self._draw_population()
        first, second = base(self.mu, self.rho)
        inner = self.rng.beta(first + self.right[2:], second + self.wrong[2:])
        self.rate = np.concatenate([self.rate[:2], inner.clip(_LEAST, 1 - _LEAST)])
        gammas = self.rng.standard_gamma(self.prior[:, None, None] + self.number)
        self.weight = np.maximum(gammas / gammas.sum(axis=0), _LEAST)

    def _allocate(self):
        """Sample the numbers of items and of correct and wrong attempts per component (step 1)."""
        shape = self.rate.shape
        sums = np.zeros((3 + self.ways, *shape))
        if self.single.right.shape[1]:
            mass = self._mass_of(self.single)
            component = _categorical(mass, self.rng)
            cell = component * np.prod(self.lead) + np.arange(np.prod(self.lead)).reshape(
                *self.lead, 1
            )
            for total, value in zip(sums, self._values(self.single), strict=True):
                value = np.broadcast_to(value[:, None], cell.shape)
                total += np.bincount(cell.ravel(), value.ravel(), total.size).reshape(shape)
        if self.bulk.right.shape[1]:
            mass = self._mass_of(self.bulk)
            mass = np.moveaxis(mass.astype(float), 0, -1)
            probability = mass / mass.sum(axis=-1, keepdims=True)
            number = self.rng.multinomial(self.bulk.frequency[:, None], probability)  # (K, S, D, M)
            for total, value in zip(sums, self._values(self.bulk), strict=True):
                each = value / np.maximum(self.bulk.frequency, 1)
                total += np.einsum("ksdm,kd->mks", number, each)
        self.number, self.right, self.wrong, *self.log_ways = sums

    def _mass_of(self, items):
        right, number, log_way = items.right, items.number, items.log_way
        return _mass(self.weight, self.rate, right, number, self.way, log_way)

    def _values(self, items):
        """Return sums per type of item: items, correct, wrong, log probabilities of ways."""
        wrong = items.number - items.right
        values = [items.frequency, items.frequency * items.right, items.frequency * wrong]
        if self.ways:
            values.extend(np.moveaxis(items.frequency[..., None] * items.log_way, -1, 0))
        return values

    def _draw_ways(self):
        """Sample the distribution of wrong outputs of each component."""
        logs = np.array(self.log_ways)
        mass = np.exp(logs - logs.max(axis=0))
        self.way = _categorical(mass, self.rng)

    def _exchange(self, end, never, answers):
        """
        Exchange the items of an end and of a component that could have its rate (step 2).

        ``never`` counts the attempts that cannot occur at this end, and ``answers`` the others.
        """
        chosen = self.rng.random((self.components - 2, *self.lead))
        chosen = 2 + np.where(never[2:] == 0, chosen, -1).argmax(axis=0)
        here = (chosen, *np.ogrid[: self.lead[0], : self.lead[1]])
        number, other_number = self.number[end].copy(), self.number[here]
        total, other_total = answers[end].copy(), answers[here]
        prior, other_prior = self.prior[end], self.prior[2]
        first, second = base(self.mu, self.rho)
        if end == 1:
            first, second = second, first
        ratio = gammaln(prior + other_number) - gammaln(prior + number)
        ratio += gammaln(other_prior + number) - gammaln(other_prior + other_number)
        ratio += betaln(first, second + total) - betaln(first, second + other_total)
        accepted = (never[here] == 0) & (np.log(self.rng.random(self.lead)) < ratio)
        pairs = [(self.number, number, other_number), (answers, total, other_total)]
        if self.ways:
            pairs.append((self.way, self.way[end].copy(), self.way[here]))
        for array, value, other in pairs:
            array[end] = np.where(accepted, other, value)
            array[here] = np.where(accepted, value, other)

    def _draw_population(self):
        """Sample mu and rho by random walk steps (step 3) in angle and root."""
        current = self._log_likelihood(self.angle, self.root)
        for _ in range(_STEPS):
            scale = self.rng.choice(_SCALES, self.lead)
            angle = self.angle + scale * _HALF_CIRCLE * self.rng.standard_normal(self.lead)
            root = self.root + scale * self.rng.standard_normal(self.lead)
            angle, root = _reflected(angle, _HALF_CIRCLE), _reflected(root, 1.0)
            proposed = self._log_likelihood(angle, root)
            accepted = np.log(self.rng.random(self.lead)) < proposed - current
            self.angle = np.where(accepted, angle, self.angle)
            self.root = np.where(accepted, root, self.root)
            current = np.where(accepted, proposed, current)

    def _log_likelihood(self, angle, root):
        first, second = base(np.sin(angle) ** 2, np.clip(root**4, _ALIKE, 1))
        with_items = betaln(first + self.right[2:], second + self.wrong[2:])
        return (with_items - betaln(first, second)).sum(axis=0)


def _split(items):
    """Split into rare types of items, with one row per item, and frequent types."""
    few = items.frequency <= _FEW
    rows = np.repeat(np.arange(len(few)), np.where(few, items.frequency, 0))
    singles = _rows(items, rows)
    return singles._replace(frequency=np.ones(len(rows))), _rows(items, np.flatnonzero(~few))


def _rows(items, rows):
    arrays: list[Any] = [None if array is None else array[rows] for array in items]
    return Items(*arrays)


def _padded(sets):
    """Return sets of items as arrays (K, D), padded with rows of frequency 0."""
    width = max(len(items.right) for items in sets)

    def fill(arrays):
        if arrays[0] is None:
            return None
        filled = np.zeros((len(sets), width, *arrays[0].shape[1:]), arrays[0].dtype)
        for row, array in zip(filled, arrays, strict=True):
            row[: len(array)] = array
        return filled

    return Items(*(fill(arrays) for arrays in zip(*sets, strict=True)))


def _mass(weight, rate, right, number, way, log_way):
    """
    Return the unnormalised probabilities of the components (M, ..., D), in single precision.

    Parameters
    ----------
    weight, rate, way : ndarray, shape (M, [K], S)
    right, number : ndarray, shape ([K], D)
    log_way : ndarray, shape ([K], D, J)
    """
    right, wrong = (array[..., None, :].astype(np.float32) for array in (right, number - right))
    inner = rate[2:, ..., None]
    mass = np.empty((*rate.shape, right.shape[-1]), np.float32)
    mass[2:] = np.log(inner).astype(np.float32) * right
    mass[2:] += np.log1p(-inner).astype(np.float32) * wrong
    mass[0], mass[1] = np.where(right > 0, -np.inf, 0), np.where(wrong > 0, -np.inf, 0)
    mass += np.log(weight[..., None]).astype(np.float32)
    if way is not None:
        # Select the rows of each set by the way of each component: (M, [K], S, D).
        rows = np.moveaxis(log_way, -1, -2).astype(np.float32)  # ([K], J, D)
        mass += rows[way] if rows.ndim == 2 else rows[np.arange(len(rows))[:, None], way]
    mass -= mass.max(axis=0)
    return np.exp(mass, out=mass)


def _categorical(mass, rng):
    """Sample a component with probabilities proportional to masses (M, ...), in place."""
    for below, here in pairwise(mass):
        here += below
    uniform = rng.random(mass.shape[1:], mass.dtype)
    return (mass[:-1] <= uniform * mass[-1]).sum(axis=0)


def _reflected(values, end):
    """Return values reflected at 0 and at ``end``."""
    return end - np.abs(end - np.abs(values) % (2 * end))
