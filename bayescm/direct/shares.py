"""
Mixtures over rates of right answers: which share of the items has each.

Where the answers themselves are known an item also has a way in which its wrong ones are shared.
"""

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
        edges = (across[some] * row[some, None].astype(np.float32)).cumsum(0)
        if number > _FEW:
            shares = np.diff(edges.astype(float), axis=0, prepend=0)
            order = np.argsort(-shares.mean(1))  # the likeliest first: few items are then left
            total[some[order]] += rng.multinomial(number, (shares[order] / shares.sum(0)).T).T
            continue
        for place in rng.random((number, len(weight)), np.float32) * edges[-1]:
            sort = (edges <= place).sum(0).clip(max=len(some) - 1)
            total[some[sort], single] += 1
    return total.T
