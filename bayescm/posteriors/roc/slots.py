r"""
Where the score of a new example may lie: the slots between the scores, and their weights.

Sorted from the top, the scores of a test set leave *slots*: the open intervals between neighbouring
scores (and beyond both ends), and the scores that several examples share. Given the sample, the
probabilities of the slots in each class have a Dirichlet distribution, whose parameters this file
computes. Let x_1 > ... > x_D be the distinct scores of one class, on which its examples have the
weights w_1, ..., w_D (how many there are, or what they count for), and h_d = min(w_d, 1) / 2:

- the gap between x_d and x_{d+1} has the weight h_d + h_{d+1}, where h_0 = h_{D+1} = 0. Without
  ties and weights these are the 1/2, 1, ..., 1, 1/2 of `bayescm.models.scores`;
- the score x_d itself has the rest, max(w_d - 1, 0);
- a gap that scores of the other class cut into pieces spreads its weight evenly over them: a piece
  is an interval, and a score on which the other class has the weight c counts as max(c - 1, 0) of
  them.

So the weights of a class sum to that of its examples: their number, or with importance weights
their effective number, after Kish (`bayescm.from_scores`). Ties take weight from the intervals and
put it on the score, where a positive and a negative example are ranked at random.

Several classifiers, or classes against the rest, have slots of their own for the same examples.
Each class is then a line of the length of its weights, which every one of them cuts into its slots,
and on which each example has a piece of its own. The common refinement of all these cuts are the
*cells*.

References
----------
Hill, B. M. (1968). Posterior distribution of percentiles: Bayes' theorem for sampling from a
population. Journal of the American Statistical Association 63, 677-691.
doi:10.1080/01621459.1968.11009286

Banks, D. L. (1988). Histospline smoothing the Bayesian bootstrap. Biometrika 75, 673-684.
doi:10.1093/biomet/75.4.673
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

# Many scores are counted in blocks: see `block_weights` for what that costs in precision, and
# docs/validation/speed.md for what it buys.
_MANY = 1_000_000  # scores above which they are counted in blocks
_BLOCKS = 1 << 16  # about so many blocks
_CHUNK = 1 << 18  # scores that are counted at a time


@dataclass(frozen=True, eq=False)
class Slots:
    """
    The slots of one ROC curve: of one classifier, and one class against the rest.

    Attributes
    ----------
    scores : ndarray, shape (D,)
        The distinct scores, the highest first.
    interval_index : ndarray of int, shape (D + 1,)
        The slot that is the interval below the d highest scores.
    concentration : ndarray, shape (2, J)
        Dirichlet parameters of the negatives and of the positives, the highest slot first.
    tied : ndarray of bool, shape (J,)
        Whether a slot is a score that examples of one class share.
    start : ndarray, shape (n,)
        The weight of the examples of the same class that come before each one, from the top.
    positive : ndarray of bool, shape (n,)
    open_ends : tuple of int
        The number of slots above the highest negative, and above the gap below the lowest positive.
    """

    scores: np.ndarray
    interval_index: np.ndarray
    concentration: np.ndarray
    tied: np.ndarray
    start: np.ndarray
    positive: np.ndarray
    open_ends: tuple[int, int]

    def above(self, thresholds: np.ndarray) -> np.ndarray:
        """Return how many slots lie at or above each threshold; a fraction of one inside a gap."""
        rank = np.searchsorted(-self.scores, -np.asarray(thresholds, float), side="right")
        high = self.scores[np.maximum(rank - 1, 0)]
        low = self.scores[np.minimum(rank, len(self.scores) - 1)]
        inside = (rank > 0) & (rank < len(self.scores)) & (high != thresholds)
        with np.errstate(invalid="ignore", divide="ignore"):
            fraction = (high - thresholds) / (high - low)
        fraction = np.where(np.isfinite(high) & np.isfinite(low), fraction, 0.5)
        number = self.interval_index[rank] + np.where(inside, fraction, 0.0)
        # A new score may be higher than all of the sample, and how much higher is not known: above
        # the highest one a finite threshold has the whole first slot, as without examples there.
        # The same holds for the last slot below the lowest. An infinite threshold has all or none.
        finite, every = np.isfinite(thresholds), float(self.concentration.shape[1])
        number = np.where(rank == 0, np.where(finite, 1.0, 0.0), number)
        lowest = np.asarray(thresholds) < self.scores[-1]
        return np.where(lowest, np.where(finite, every - 1, every), number)


def slots_of(scores: np.ndarray, positive: np.ndarray, weights: np.ndarray) -> Slots:
    """
    Return the slots of one classifier's scores.

    Parameters
    ----------
    scores : ndarray, shape (n,)
        Higher means more likely positive; infinite ones are the most extreme values.
    positive : ndarray of bool, shape (n,)
        Both classes occur.
    weights : ndarray, shape (n,)
        How many examples each one stands for, > 0.
    """
    values, rank = np.unique(-scores, return_inverse=True)
    size = len(values)
    weight = np.bincount(rank + size * positive, weights, 2 * size).reshape(2, size)
    concentration = np.stack([_class_weights(*weight), _class_weights(*weight[::-1])])
    is_slot = np.ones(2 * size + 1, bool)
    is_slot[1::2] = (concentration[:, 1::2] > 0).any(0)
    # Negatives first, each class from the top, those that tie as they come: one sort of numbers.
    count = len(scores)
    order = np.sort((rank + size * positive) * count + np.arange(count)) % count
    start = np.empty(len(scores))
    start[order] = np.cumsum(weights[order]) - weights[order]
    start -= np.where(positive, weight[0].sum(), 0.0)
    interval_index = np.concatenate([[0], np.cumsum(is_slot)[1::2]])
    tied = (np.arange(2 * size + 1) % 2 == 1)[is_slot]
    highest_negative, lowest_positive = np.flatnonzero(weight[0])[0], np.flatnonzero(weight[1])[-1]
    open_ends = (
        int(is_slot[: 2 * highest_negative + 1].sum()),
        int(is_slot[: 2 * lowest_positive + 2].sum()),
    )
    return Slots(
        -values, interval_index, concentration[:, is_slot], tied, start, positive, open_ends
    )


def _class_weights(weight, other):
    """
    Return the Dirichlet parameters of one class on interval, score, interval, ..., from the top.

    Parameters
    ----------
    weight, other : ndarray, shape (D,)
        The weight of this class and of the other one on each distinct score of both, from the top.
    """
    occurs = weight > 0
    half = np.minimum(weight, 1) / 2
    gap = np.concatenate([[0], np.cumsum(occurs)])  # that each interval is a part of
    gap_weight = np.append(half[occurs], 0) + np.append(0, half[occurs])
    # Pieces that a score of the other class counts as, and all those of each gap.
    on_score = np.where(occurs, 0, np.maximum(other - 1, 0))
    pieces = np.bincount(gap) + np.bincount(gap[1:], on_score, gap[-1] + 1)
    interval = (gap_weight / pieces)[gap]
    parameters = np.empty(2 * len(weight) + 1)
    parameters[0::2] = interval
    parameters[1::2] = np.where(occurs, weight - 2 * half, interval[1:] * on_score)
    return parameters


def block_weights(scores: np.ndarray, positive: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """
    Return the Dirichlet parameters of both classes, (2, J), the highest slot first.

    They are the ``concentration`` of `slots_of`, but that very many scores are put together between
    some of them, which keep slots of their own: the area under the curve moves by a ten-thousandth
    of its standard deviation, and by less than a hundredth where the classes hardly overlap.
    """
    if len(scores) <= _MANY:
        return slots_of(scores, positive, weights).concentration
    chosen = np.random.default_rng(0).integers(0, len(scores), _BLOCKS)
    cuts = np.append(np.unique(scores[chosen])[::-1], -np.inf)
    # Block 2 d lies between the d-th and the next cut, block 2 d + 1 is the cut itself.
    total = np.zeros((2, 2 * len(cuts)))
    for first in range(0, len(scores), _CHUNK):
        chunk = slice(first, first + _CHUNK)
        rank = np.searchsorted(-cuts, -scores[chunk])
        block = 2 * rank + (cuts[rank] == scores[chunk])
        keys = block + total.shape[1] * positive[chunk]
        total += np.bincount(keys, weights[chunk], total.size).reshape(total.shape)
    return total[:, total.any(axis=0)]


def cells(
    curves: Sequence[Slots], weights: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """
    Return the common refinement of the slots that several curves cut the same examples into.

    Parameters
    ----------
    curves : sequence of V Slots
        Of the same n examples.
    weights : ndarray, shape (n,)

    Returns
    -------
    concentration : ndarray, shape (M,)
        Dirichlet parameter of each cell; the sum over the cells of a slot is the slot's.
    example : ndarray of int, shape (M,)
    slot : ndarray of int, shape (V, M)
        The slot of each cell in each curve.
    """
    ends = [np.cumsum(slots.concentration, axis=1) for slots in curves]
    example, offset = [np.arange(len(weights))], [np.zeros(len(weights))]
    for slots, class_ends in zip(curves, ends, strict=True):
        for is_positive, end in enumerate(class_ends):
            members = np.flatnonzero(slots.positive == bool(is_positive))
            members = members[np.argsort(slots.start[members], kind="stable")]
            rank = np.searchsorted(slots.start[members], end[:-1], side="right") - 1
            cut = members[np.maximum(rank, 0)]
            inside = end[:-1] - slots.start[cut]
            # Else rounding has put the cut beyond the end of the example.
            keep = (rank >= 0) & (inside < weights[cut])
            example.append(cut[keep])
            offset.append(inside[keep])
    examples, offsets = np.concatenate(example), np.concatenate(offset)
    order = np.lexsort((offsets, examples))
    examples, offsets = examples[order], offsets[order]
    last = np.append(examples[1:] != examples[:-1], True)
    length = np.where(last, weights[examples], np.append(offsets[1:], 0)) - offsets
    keep = length > 1e-9  # cuts of two curves that are one but for rounding
    examples, offsets, length = examples[keep], offsets[keep], length[keep]
    middle = offsets + length / 2
    slot = [
        _slot_at(slots, class_ends, examples, middle)
        for slots, class_ends in zip(curves, ends, strict=True)
    ]
    return length, examples, np.stack(slot)


def _slot_at(slots, ends, example, offset):
    """Return the slot that holds the point of an example's weight at an offset from its start."""
    point = slots.start[example] + offset
    negative, positive = (np.searchsorted(end, point, side="right") for end in ends)
    slot = np.where(slots.positive[example], positive, negative)
    return np.minimum(slot, slots.concentration.shape[1] - 1)


def block_bounds(slots: Slots, size: int, uncut: np.ndarray | Sequence = ()) -> np.ndarray:
    """
    Return where to cut the slots into about ``size`` blocks, each light in both classes.

    Sums of Dirichlet variables are again a Dirichlet, so the distribution at the cuts stays exact;
    only the shape of the curve inside a block is smoothed. Blocks are finer towards both ends.

    Parameters
    ----------
    slots : Slots
    size : int
        As many slots are not put together at all.
    uncut : array_like of float
        Numbers of slots from the top, as of `Slots.above`: the slots there stay slots of their own.

    Returns
    -------
    ndarray of int
        Increasing, from 0 to the number of slots.
    """
    number = slots.concentration.shape[1]
    if number <= size:
        return np.arange(number + 1)
    fine = np.geomspace(1 / number, 1 / size, size // 16)
    levels = np.concatenate([np.linspace(0, 1, size * 3 // 8), fine, 1 - fine])
    uncut = np.asarray(uncut, float)
    bounds = [np.array([0, number]), np.floor(uncut).astype(int), np.ceil(uncut).astype(int)]
    for concentration in slots.concentration:
        weight = np.cumsum(concentration)
        bounds.append(np.searchsorted(weight, levels * weight[-1]))
    return np.unique(np.concatenate(bounds))
