"""
Where the score of a new example may lie among the scores seen: slots, and how much weighs on each.

Sorted from the top, the scores of a test set leave *slots*: the open intervals between
neighbouring values (and beyond both ends), and the values that several examples share. Each
example weighs one. Half of its weight lies in the gap above it, between it and the next higher
score of its own class, and half in the gap below; a gap that holds scores of the other class
spreads its weight evenly over the slots that these leave, where a score that c of them share counts
as c - 1 slots. So a class's weights are 1/2 for each open end and 1 for each gap inside, and what
its own examples with the same score keep among themselves stays on that score.

A side of a *view* (one classifier, one class against the rest) is therefore a line, cut into slots
by one partition and into examples by another. Several views of the same examples cut the same
examples differently; the common refinement of all these cuts are the *cells*.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

# More scores than this are counted in about so many blocks, and so many at a time.
_MANY, _BLOCKS, _PIECE = 1_000_000, 1 << 16, 1 << 18


@dataclass(frozen=True, eq=False)
class View:
    """
    One binary problem: who is positive, and the slots of the scores.

    Attributes
    ----------
    values : ndarray, shape (D,)
        The distinct scores, the highest first.
    below : ndarray of int, shape (D + 1,)
        Number of slots above the interval that starts below the d highest values.
    concentration : ndarray, shape (2, J)
        Weight of the negatives and of the positives on each slot, the highest first.
    tied : ndarray of bool, shape (J,)
        Whether a slot is a score that examples of one class share.
    start : ndarray, shape (n,)
        Where each example begins on the line of its side.
    positive : ndarray of bool, shape (n,)
    inner : tuple of int
        How many slots lie above the highest negative, and above the gap below the lowest positive.
    """

    values: np.ndarray
    below: np.ndarray
    concentration: np.ndarray
    tied: np.ndarray
    start: np.ndarray
    positive: np.ndarray
    inner: tuple[int, int]

    def place(self, thresholds: np.ndarray) -> np.ndarray:
        """Return how many slots lie at or above each threshold; a part of one inside a gap."""
        above = np.searchsorted(-self.values, -np.asarray(thresholds, float), side="right")
        high = self.values[np.maximum(above - 1, 0)]
        low = self.values[np.minimum(above, len(self.values) - 1)]
        inside = (above > 0) & (above < len(self.values)) & (high != thresholds)
        with np.errstate(invalid="ignore", divide="ignore"):
            part = (high - thresholds) / (high - low)
        part = np.where(np.isfinite(high) & np.isfinite(low), part, 0.5)
        # Beyond the scores seen a threshold takes everything or nothing.
        place = self.below[above] + np.where(inside, part, 0.0)
        place = np.where(above == 0, 0.0, place)
        beneath = np.asarray(thresholds) < self.values[-1]
        return np.where(beneath, float(self.concentration.shape[1]), place)


def view(scores: np.ndarray, positive: np.ndarray, weights: np.ndarray) -> View:
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
    values, place = np.unique(-scores, return_inverse=True)
    size = len(values)
    weight = np.bincount(place + size * positive, weights, 2 * size).reshape(2, size)
    slots = np.stack([_side(*weight), _side(*weight[::-1])])
    keep = np.ones(2 * size + 1, bool)
    keep[1::2] = (slots[:, 1::2] > 0).any(0)
    # Negatives first, each class from the top, those that tie as they come: one sort of numbers.
    count = len(scores)
    order = np.sort((place + size * positive) * count + np.arange(count)) % count
    start = np.empty(len(scores))
    start[order] = np.cumsum(weights[order]) - weights[order]
    start -= np.where(positive, weight[0].sum(), 0.0)
    below = np.concatenate([[0], np.cumsum(keep)[1::2]])
    tied = (np.arange(2 * size + 1) % 2 == 1)[keep]
    highest, lowest = np.flatnonzero(weight[0])[0], np.flatnonzero(weight[1])[-1]
    inner = int(keep[: 2 * highest + 1].sum()), int(keep[: 2 * lowest + 2].sum())
    return View(-values, below, slots[:, keep], tied, start, positive, inner)


def outline(scores: np.ndarray, positive: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """
    Return the weight of both sides on the slots, (2, J), the highest first; see `view`.

    Very many scores are put together between some of them, which keep slots of their own: the area
    under the curve moves by a ten-thousandth of its standard deviation, and by less than a
    hundredth where the classes hardly overlap.
    """
    if len(scores) <= _MANY:
        return view(scores, positive, weights).concentration
    some = np.random.default_rng(0).integers(0, len(scores), _BLOCKS)
    cuts = np.append(np.unique(scores[some])[::-1], -np.inf)
    found = np.zeros((2, 2 * len(cuts)))
    for start in range(0, len(scores), _PIECE):
        part = slice(start, start + _PIECE)
        above = np.searchsorted(-cuts, -scores[part])
        place = 2 * above + (cuts[above] == scores[part])
        found += np.bincount(
            place + found.shape[1] * positive[part], weights[part], found.size
        ).reshape(found.shape)
    return found[:, found.any(axis=0)]


def _side(weight, other):
    """Return one class's weight on interval, value, interval, ..., interval, from the top."""
    seen = weight > 0
    half = np.minimum(weight, 1) / 2
    gap = np.concatenate([[0], np.cumsum(seen)])
    mass = np.append(half[seen], 0) + np.append(0, half[seen])
    # A value that c examples of the other class share leaves c + 1 slots, c - 1 of them on itself.
    share = np.where(seen, 0, np.maximum(other - 1, 0))
    width = np.bincount(gap) + np.bincount(gap[1:], share, gap[-1] + 1)
    each = (mass / width)[gap]
    out = np.empty(2 * len(weight) + 1)
    out[0::2] = each
    out[1::2] = np.where(seen, weight - 2 * half, each[1:] * share)
    return out


def edges(views: Sequence[View]) -> list[list[np.ndarray]]:
    """Return where the slots end on the line of each side of each view."""
    return [[np.cumsum(side) for side in each.concentration] for each in views]


def cells(views: Sequence[View], weights: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """
    Return the common refinement of the slots that several views cut examples into.

    Parameters
    ----------
    views : sequence of View
        Of the same n examples.
    weights : ndarray, shape (n,)

    Returns
    -------
    concentration : ndarray, shape (M,)
        Weight of each cell; the sum over the cells of a slot is the slot's.
    example : ndarray of int, shape (M,)
    slot : ndarray of int, shape (V, M)
        The slot of each cell in each view.
    """
    ends = edges(views)
    example, offset = [np.arange(len(weights))], [np.zeros(len(weights))]
    for each, sides in zip(views, ends, strict=True):
        for side, end in enumerate(sides):
            members = np.flatnonzero(each.positive == bool(side))
            members = members[np.argsort(each.start[members], kind="stable")]
            at = np.searchsorted(each.start[members], end[:-1], side="right") - 1
            cut = members[np.maximum(at, 0)]
            inside = end[:-1] - each.start[cut]
            keep = (at >= 0) & (inside < weights[cut])  # else the cut is in another view's example
            example.append(cut[keep])
            offset.append(inside[keep])
    of, at = np.concatenate(example), np.concatenate(offset)
    order = np.lexsort((at, of))
    of, at = of[order], at[order]
    last = np.append(of[1:] != of[:-1], True)
    length = np.where(last, weights[of], np.append(at[1:], 0)) - at
    keep = length > 1e-9  # cuts of two views that are one but for rounding
    of, at, length = of[keep], at[keep], length[keep]
    slot = [
        _slots(each, sides, of, at + length / 2) for each, sides in zip(views, ends, strict=True)
    ]
    return length, of, np.stack(slot)


def _slots(view, ends, example, offset):
    place = view.start[example] + offset
    sides = [np.searchsorted(end, place, side="right") for end in ends]
    slot = np.where(view.positive[example], sides[1], sides[0])
    return np.minimum(slot, view.concentration.shape[1] - 1)


def blocks(view: View, size: int, keep: np.ndarray | Sequence = ()) -> np.ndarray:
    """
    Return where to cut the slots into about ``size`` blocks, each light in both classes.

    Sums of Dirichlet weights are again a Dirichlet, so the distribution at the cuts stays exact;
    only the shape of the curve inside a block is smoothed. Blocks are finer towards both ends.

    Parameters
    ----------
    view : View
    size : int
        As many slots are not put together at all.
    keep : array_like of float
        Places among the slots that must not fall inside a block.

    Returns
    -------
    ndarray of int
        Increasing, from 0 to the number of slots.
    """
    number = view.concentration.shape[1]
    if number <= size:
        return np.arange(number + 1)
    fine = np.geomspace(1 / number, 1 / size, size // 16)
    level = np.concatenate([np.linspace(0, 1, size * 3 // 8), fine, 1 - fine])
    kept = np.asarray(keep, float)
    cuts = [np.array([0, number]), np.floor(kept).astype(int), np.ceil(kept).astype(int)]
    for side in view.concentration:
        mass = np.cumsum(side)
        cuts.append(np.searchsorted(mass, level * mass[-1]))
    return np.unique(np.concatenate(cuts))
