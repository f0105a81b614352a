r"""
The slots that the score of a new example can fall into, and their Dirichlet parameters.

The *slots* are the open intervals between neighbouring scores, the intervals beyond both ends, and
the scores that several examples share. Given the sample, the probabilities of the slots in each
class have a Dirichlet distribution. This module computes its parameters.

Let x_1 > ... > x_D be the distinct scores of one class, w_1, ..., w_D the total weights of its
examples with these scores (without weights, their numbers), and h_d = min(w_d, 1) / 2.

- The gap between x_d and x_{d+1} has the weight h_d + h_{d+1}, with h_0 = h_{D+1} = 0. Without ties
  and weights, these are the weights 1/2, 1, ..., 1, 1/2 of `bayescm.models.scores`.
- The score x_d itself has the remaining weight, max(w_d - 1, 0).
- If scores of the other class cut a gap into pieces, its weight is spread evenly over them. Each
  interval is one piece. A score at which the other class has the weight c is treated as
  max(c - 1, 0) pieces.

The weights of a class therefore sum to the total weight of its examples. This is their number or,
with importance weights, Kish's effective number (`bayescm.from_scores`). Ties move weight from the
intervals to the score, at which a positive and a negative example are ranked at random.

Several classifiers, or several one-vs-rest problems, have different slots for the same examples.
Represent each class as a line whose length is the total weight, with one segment for each example.
Each problem cuts this line into its slots. The *cells* are the common refinement of all cuts.

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

# Large numbers of scores are counted in blocks. See `block_weights` for the loss of precision, and
# docs/validation/speed.md for the gain in speed.
_MANY = 1_000_000  # number of scores above which blocks are used
_BLOCKS = 1 << 16  # approximate number of blocks
_CHUNK = 1 << 18  # number of scores counted at a time


@dataclass(frozen=True, eq=False)
class Slots:
    """
    Slots of one ROC curve: of one classifier, and of one class versus the rest.

    Attributes
    ----------
    scores : ndarray, shape (D,)
        Distinct scores, in decreasing order.
    interval_index : ndarray of int, shape (D + 1,)
        Entry d is the slot of the interval below the d highest scores.
    concentration : ndarray, shape (2, J)
        Dirichlet parameters of the negatives and of the positives, highest slot first.
    tied : ndarray of bool, shape (J,)
        Whether a slot is a score that several examples of one class share.
    start : ndarray, shape (n,)
        Total weight of the examples of the same class that precede each example, highest first.
    positive : ndarray of bool, shape (n,)
        Whether each example is positive.
    open_ends : tuple of int
        Number of slots above the highest negative, and above the gap below the lowest positive.
    """

    scores: np.ndarray
    interval_index: np.ndarray
    concentration: np.ndarray
    tied: np.ndarray
    start: np.ndarray
    positive: np.ndarray
    open_ends: tuple[int, int]

    def above(self, thresholds: np.ndarray) -> np.ndarray:
        """Return the number of slots at or above each threshold, with fractions inside a gap."""
        rank = np.searchsorted(-self.scores, -np.asarray(thresholds, float), side="right")
        high = self.scores[np.maximum(rank - 1, 0)]
        low = self.scores[np.minimum(rank, len(self.scores) - 1)]
        inside = (rank > 0) & (rank < len(self.scores)) & (high != thresholds)
        with np.errstate(invalid="ignore", divide="ignore"):
            fraction = (high - thresholds) / (high - low)
        fraction = np.where(np.isfinite(high) & np.isfinite(low), fraction, 0.5)
        number = self.interval_index[rank] + np.where(inside, fraction, 0.0)
        # A new score can be higher than all observed scores, by an unknown amount. The whole first
        # slot is therefore above a finite threshold that exceeds the highest score. Likewise, the
        # last slot is below a finite threshold that is lower than the lowest score. Infinite
        # thresholds have all slots or none above them.
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
        Scores. Higher scores mean more likely positive. Infinite scores are allowed.
    positive : ndarray of bool, shape (n,)
        Whether each example is positive. Both classes must occur.
    weights : ndarray, shape (n,)
        Number of examples that each score represents, > 0.
    """
    values, rank = np.unique(-scores, return_inverse=True)
    size = len(values)
    weight = np.bincount(rank + size * positive, weights, 2 * size).reshape(2, size)
    concentration = np.stack([_class_weights(*weight), _class_weights(*weight[::-1])])
    is_slot = np.ones(2 * size + 1, bool)
    is_slot[1::2] = (concentration[:, 1::2] > 0).any(0)
    # A single sort puts negatives first, then orders by decreasing score, then by position.
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
    Return the Dirichlet parameters of one class: interval, score, interval, ..., highest first.

    Parameters
    ----------
    weight, other : ndarray, shape (D,)
        Weights of this class and of the other class at each distinct score of both, highest first.
    """
    occurs = weight > 0
    half = np.minimum(weight, 1) / 2
    gap = np.concatenate([[0], np.cumsum(occurs)])  # index of the gap of each interval
    gap_weight = np.append(half[occurs], 0) + np.append(0, half[occurs])
    # The number of pieces of each score of the other class, and the total for each gap.
    on_score = np.where(occurs, 0, np.maximum(other - 1, 0))
    pieces = np.bincount(gap) + np.bincount(gap[1:], on_score, gap[-1] + 1)
    interval = (gap_weight / pieces)[gap]
    parameters = np.empty(2 * len(weight) + 1)
    parameters[0::2] = interval
    parameters[1::2] = np.where(occurs, weight - 2 * half, interval[1:] * on_score)
    return parameters


def block_weights(scores: np.ndarray, positive: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """
    Return the Dirichlet parameters of both classes, (2, J), highest slot first.

    They are the ``concentration`` of `slots_of`. If there are very many scores, the slots between
    randomly chosen scores are merged.

    Notes
    -----
    Merging changes the area under the curve by about 0.0001 standard deviations, and by less than
    0.01 standard deviations if the classes hardly overlap.
    """
    if len(scores) <= _MANY:
        return slots_of(scores, positive, weights).concentration
    chosen = np.random.default_rng(0).integers(0, len(scores), _BLOCKS)
    cuts = np.append(np.unique(scores[chosen])[::-1], -np.inf)
    # Block 2 d is the interval above cut d, and block 2 d + 1 is the cut itself.
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
    Return the common refinement of the slots of several curves of the same examples.

    Parameters
    ----------
    curves : sequence of V Slots
        Slots of the same n examples for each curve.
    weights : ndarray, shape (n,)
        Number of examples that each example represents.

    Returns
    -------
    concentration : ndarray, shape (M,)
        Dirichlet parameter of each cell. The parameters of the cells in a slot sum to the
        parameter of the slot.
    example : ndarray of int, shape (M,)
        Index of the example of each cell.
    slot : ndarray of int, shape (V, M)
        Slot of each cell in each curve.
    """
    ends = [np.cumsum(slots.concentration, axis=1) for slots in curves]
    example, offset = [np.arange(len(weights))], [np.zeros(len(weights))]
    for slots, class_ends in zip(curves, ends, strict=True):
        for is_positive, end in enumerate(class_ends):
            members = np.flatnonzero(slots.positive == bool(is_positive))
            if not len(members):  # the class of a one-vs-rest curve has no examples
                continue
            members = members[np.argsort(slots.start[members], kind="stable")]
            rank = np.searchsorted(slots.start[members], end[:-1], side="right") - 1
            cut = members[np.maximum(rank, 0)]
            inside = end[:-1] - slots.start[cut]
            # A rounding error can place a cut beyond the end of its example.
            keep = (rank >= 0) & (inside < weights[cut])
            example.append(cut[keep])
            offset.append(inside[keep])
    examples, offsets = np.concatenate(example), np.concatenate(offset)
    order = np.lexsort((offsets, examples))
    examples, offsets = examples[order], offsets[order]
    last = np.append(examples[1:] != examples[:-1], True)
    length = np.where(last, weights[examples], np.append(offsets[1:], 0)) - offsets
    keep = length > 1e-9  # shorter cells come from equal cuts with rounding errors
    examples, offsets, length = examples[keep], offsets[keep], length[keep]
    middle = offsets + length / 2
    slot = [
        _slot_at(slots, class_ends, examples, middle)
        for slots, class_ends in zip(curves, ends, strict=True)
    ]
    return length, examples, np.stack(slot)


def _slot_at(slots, ends, example, offset):
    """Return the slot at an offset from the start of each example's segment."""
    point = slots.start[example] + offset
    negative, positive = (np.searchsorted(end, point, side="right") for end in ends)
    slot = np.where(slots.positive[example], positive, negative)
    return np.minimum(slot, slots.concentration.shape[1] - 1)


def block_bounds(slots: Slots, size: int, uncut: np.ndarray | Sequence = ()) -> np.ndarray:
    """
    Return the bounds of about ``size`` blocks of slots, each with a small weight in both classes.

    Sums of Dirichlet variables also have a Dirichlet distribution. The distribution at the bounds
    is therefore exact, and only the curve inside a block is smoothed. Blocks are finer towards both
    ends.

    Parameters
    ----------
    slots : Slots
    size : int
        Approximate number of blocks. If there are no more slots than this, they are not merged.
    uncut : array_like of float
        Positions in numbers of slots from the top, as returned by `Slots.above`. The slots at these
        positions are not merged.

    Returns
    -------
    ndarray of int
        Increasing bounds, from 0 to the number of slots.
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
