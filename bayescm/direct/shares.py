"""
Mixtures over rates of right answers: which share of the items has each.

Where the answers themselves are known an item also has a way in which its wrong ones are shared.
With shares w ~ Dirichlet(a) of the sorts of items m, and likelihoods L_dm of the n_d items whose
answers are of kind d, the posterior is

    p(w | n) ~ prod_m w_m^(a_m - 1) prod_d (sum_m w_m L_dm)^n_d.

`gibbs` draws from it, `maximised` is its mode under random weights: the weighted likelihood
bootstrap.

References
----------
Diebolt, J. & Robert, C. P. (1994). Estimation of finite mixture distributions through Bayesian
sampling. Journal of the Royal Statistical Society B 56, 363-375.
doi:10.1111/j.2517-6161.1994.tb01985.x
Papaspiliopoulos, O. & Roberts, G. O. (2008). Retrospective Markov chain Monte Carlo methods for
Dirichlet process hierarchical models. Biometrika 95, 169-186. doi:10.1093/biomet/asm086
Newton, M. A. & Raftery, A. E. (1994). Approximate Bayesian inference with the weighted likelihood
bootstrap. Journal of the Royal Statistical Society B 56, 3-48.
doi:10.1111/j.2517-6161.1994.tb01956.x
"""

from itertools import pairwise

import numpy as np

from bayescm.measures.attempts import Wrong

SUPPORT = np.sin(np.linspace(0, np.pi / 2, 21)) ** 2
# One wrong answer, a common one among others, some alike, and hardly ever the same twice.
WRONG = tuple(
    Wrong(*each)
    for each in (
        (1.0, 1),
        (0.5, 1),
        (0.7, 30),
        (0.4, 30),
        (0.0, 4),
        (0.0, 16),
        (0.5, 10_000),
        (0.0, 10_000),
    )
)
_EXTREME = 0.05  # of the prior, at a rate of 0 and of 1
_STEPS, _MORE = 40, 120  # of the algorithm that maximises; ways to be wrong are harder to tell
# Sweeps of each chain, from the mean of the prior, and moves between neighbours in each
# sweep. With these 2,000 draws were as near to 2,000 chains of 150 sweeps as two samples of one
# distribution are (largest distance .05 of ten measures), with 12, 50, 164, 500 and 5,000 items,
# 3 to 64 answers to each, 200 items with no right answer of eight, and pluralities of 30 and 164
# items. Of 2,000 items with ten answers one distance was .12, means and standard deviations within
# a tenth of the latter. Without the moves up to 350 sweeps are worth one independent draw.
_SWEEPS, _MOVES = 30, 10
_FEW = 10  # items of a kind, which are drawn one by one
_LEAST = 1e-12  # beside the largest likelihood, which is something


class Mixture:
    """
    What items may be like.

    Attributes
    ----------
    wrong : tuple of Wrong
        The ways in which wrong answers are shared, or nothing where they are all the same to us.
    support : ndarray, shape (M,)
        Rates of right answers, each with every way in turn.
    prior : ndarray, shape (M,)
        What share of the items each has a priori.
    steps : int
        As many as maximising the likelihood takes.
    """

    def __init__(self, wrong: tuple[Wrong, ...] = ()):
        self.wrong, ways = wrong, max(len(wrong), 1)
        self.steps = _MORE if wrong else _STEPS
        shares = np.full(len(SUPPORT), (1 - 2 * _EXTREME) / (len(SUPPORT) - 2))
        shares[[0, -1]] = _EXTREME
        self.support, self.prior = np.repeat(SUPPORT, ways), np.repeat(shares / ways, ways)

    def neighbours(self, sort: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """
        Draw a neighbour of each sort (S,): the next rate, up or down, or another way to be wrong.

        A sort at the end of the rates, where there is no next one, is returned itself.
        """
        ways = max(len(self.wrong), 1)
        other = sort + ways * rng.choice([-1, 1], len(sort))
        other = np.where((other < 0) | (other >= len(self.support)), sort, other)
        if ways == 1:
            return other
        way = sort - sort % ways + (sort + rng.integers(1, ways, len(sort))) % ways
        return np.where(rng.random(len(sort)) < 0.5, other, way)

    def kinds(self, right: np.ndarray, made: np.ndarray, answer: np.ndarray | None) -> np.ndarray:
        """
        Return what is known of every item (I, 2 + T): right, made, and how often each wrong answer.

        Parameters
        ----------
        right, made : ndarray, shape (I,)
        answer : ndarray, shape (I, T), or None
        """
        if not self.wrong or answer is None:
            return np.stack([right, made], 1)
        most = int(np.nanmax(answer))
        each = [(answer == code).sum(1) for code in range(1, most + 1)]
        return np.stack([right, made, *-np.sort(-np.array(each), axis=0)], 1)

    def likelihood(self, kinds: np.ndarray) -> np.ndarray:
        """Return the likelihood (D, M) of items, of each up to a factor."""
        right, made = kinds[:, 0, None], kinds[:, 1, None]
        rate = SUPPORT**right * (1 - SUPPORT) ** (made - right)
        if not self.wrong:
            return rate
        alike = np.stack([each.alike(kinds[:, 2:].astype(int)) for each in self.wrong], 1)
        way = np.exp(alike - alike.max(1, keepdims=True))
        return (rate[:, :, None] * way[:, None]).reshape(len(kinds), -1)


NARROW, WIDE = Mixture(), Mixture(WRONG)


def maximised(
    likely: np.ndarray, each: np.ndarray, before: np.ndarray, steps: int = _STEPS
) -> np.ndarray:
    """
    Return the shares (S, M) that maximise weighted likelihoods.

    Parameters
    ----------
    likely : ndarray, shape (D, M)
    each : ndarray, shape (S, D)
        The weight of every kind of item.
    before : ndarray, shape (S, M)
        Pseudo-items of every sort.
    steps : int
    """
    # Single precision is a thousand times finer than the draws; only the last sum is set right.
    likely = (likely / likely.max(1, keepdims=True)).astype(np.float32)
    total = (each.sum(1) + before.sum(1))[:, None]
    each, before = (each / total).astype(np.float32), (before / total).astype(np.float32)
    # Numbers too small for single precision would take ten times as long.
    likely[likely < _LEAST] = 0
    before = np.maximum(before, _LEAST**2)
    across = np.ascontiguousarray(likely.T)
    weight = np.full_like(before, 1 / before.shape[1])
    for _ in range(steps):
        weight = weight * ((each / (weight @ across)) @ likely) + before
    return weight / weight.sum(1, keepdims=True, dtype=float)


def gibbs(
    mixture: Mixture,
    likely: np.ndarray,
    count: np.ndarray,
    prior: np.ndarray,
    size: int,
    rng: np.random.Generator,
) -> np.ndarray:
    """
    Draw the shares (S, M) from their posterior, each at the end of a chain of its own.

    Given the sorts of the items the shares are Dirichlet, and given the shares the sorts are
    multinomial (Diebolt & Robert 1994). These steps alone hardly ever move a lump of items to the
    rate beside it, as a share without items is next to nothing. So pairs of sorts also divide their
    sum anew (a Metropolis-Hastings step in the spirit of Papaspiliopoulos & Roberts 2008): one is
    drawn by the shares, the other from its neighbours, and how their sum divides from its prior,
    Beta(a_m, a_k), which leaves the ratio of the likelihoods to accept by.

    Parameters
    ----------
    mixture : Mixture
    likely : ndarray, shape (D, M)
    count : ndarray, shape (D,)
        How many items are of every kind.
    prior : ndarray, shape (M,)
        Pseudo-items of every sort.
    size : int
    rng : numpy.random.Generator
    """
    likely = likely / likely.max(1, keepdims=True)
    across, chain = np.ascontiguousarray(likely.T), np.arange(size)
    weight = np.tile(prior[:, None] / prior.sum(), size)
    for _ in range(_SWEEPS):
        current = weight.T @ across
        for _ in range(_MOVES):
            edges = _cumulated(weight.copy())
            first = (edges < rng.random(size) * edges[-1]).sum(0)
            second = mixture.neighbours(first, rng)
            before, alone = weight[first, chain], first == second
            total = np.where(alone, before, before + weight[second, chain])
            share = np.where(alone, 1, rng.beta(prior[first], prior[second]))
            change = total * share - before
            proposed = current + change[:, None] * (across[first] - across[second])
            with np.errstate(divide="ignore"):  # a proposal that explains some answers by nothing
                ratio = np.log(np.maximum(proposed, 0) / current) @ count
            accepted = np.log(rng.random(size)) < ratio
            change = np.where(accepted, change, 0)
            weight[first, chain] += change
            # Rounding must not leave less than nothing.
            weight[second, chain] = np.maximum(weight[second, chain] - change, 0)
            current = np.where(accepted[:, None], proposed, current)
        weight = rng.standard_gamma(prior[:, None] + of_items(weight.T, likely, count, rng).T)
        weight /= weight.sum(0)
    return weight.T


def _cumulated(shares):
    """Cumulate (M, S) in place, several times as fast as numpy, which goes column by column."""
    for below, here in pairwise(shares):
        here += below
    return shares


def of_items(
    weight: np.ndarray, likely: np.ndarray, count: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """
    Draw how many items are of each sort (S, M), given their answers.

    Parameters
    ----------
    weight : ndarray, shape (S, M)
    likely : ndarray, shape (D, M)
    count : ndarray, shape (D,)
        How many items are of every kind.
    """
    across, single = np.ascontiguousarray(weight.T, np.float32), np.arange(len(weight))
    total = np.zeros(across.shape)
    for row, number in zip(likely / likely.max(1, keepdims=True), count, strict=True):
        some = np.flatnonzero(row > _LEAST)
        shares = across[some] * row[some, None].astype(np.float32)
        if number > _FEW:
            shares = shares.astype(float)
            order = np.argsort(-shares.mean(1))  # the likeliest first: few items are then left
            total[some[order]] += rng.multinomial(number, (shares[order] / shares.sum(0)).T).T
            continue
        edges = _cumulated(shares)
        for place in rng.random((number, len(weight)), np.float32) * edges[-1]:
            sort = (edges <= place).sum(0).clip(max=len(some) - 1)
            total[some[sort], single] += 1
    return total.T
