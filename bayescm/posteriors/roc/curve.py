"""
Draws of one ROC curve and what follows from them.

Between its points a curve is a straight line in ROC space, as if the score were uniform inside a
slot; a slot that is one score shared by several examples is a threshold that cannot be split. The
curve that the examples themselves draw is a single draw.
"""

from dataclasses import dataclass, replace

import numpy as np


@dataclass(frozen=True, eq=False)
class Curve:
    """
    Draws of a ROC curve at the ends of the slots, the highest score first.

    Attributes
    ----------
    fpr, tpr : ndarray, shape (S, J + 1)
        From 0 to 1.
    prevalence : ndarray, shape (S,)
        Share of the positive class.
    inner : ndarray, shape (J,)
        Probability that of a positive and a negative in the same slot the positive is higher.
    tied : ndarray of bool, shape (J,)
        Whether the slot is one score.
    at : ndarray of int, shape (J + 1,)
        The number of the view's own slots at or above each point.
    """

    fpr: np.ndarray
    tpr: np.ndarray
    prevalence: np.ndarray
    inner: np.ndarray
    tied: np.ndarray
    at: np.ndarray


def empirical(
    scores: np.ndarray,
    positive: np.ndarray,
    weights: np.ndarray,
    prevalence: float | None = None,
) -> tuple[Curve, np.ndarray]:
    """
    Return the observed curve with one point per distinct score, and these scores.

    Parameters
    ----------
    scores, positive, weights : ndarray, shape (n,)
    prevalence : float, optional
        Share of the positives; by default the sample's.

    Returns
    -------
    curve : Curve
        As a single draw. Its area, average precision, ... are equivalent to scikit-learn's.
    thresholds : ndarray, shape (J,)
        The highest first; the j-th takes the examples of the first j + 1 points.
    """
    values, place = np.unique(-scores, return_inverse=True)
    size = len(values)
    weight = np.bincount(place + size * positive, weights, 2 * size).reshape(2, size)
    rates = np.zeros((2, 1, size + 1))
    np.cumsum(weight, axis=1, out=rates[:, 0, 1:])
    total = rates[:, :, -1:].copy()
    rates /= total
    share = total[1, 0] / total[:, 0].sum() if prevalence is None else np.array([prevalence])
    half, tied = np.full(size, 0.5), np.ones(size, bool)
    return Curve(rates[0], rates[1], share, half, tied, np.arange(size + 1)), -values


def auc(curve: Curve) -> np.ndarray:
    """Return the area under each ROC curve: P(positive above negative) + P(tie) / 2."""
    mean = curve.tpr[:, :-1] + curve.inner * np.diff(curve.tpr, axis=1)
    return np.einsum("sj,sj->s", np.diff(curve.fpr, axis=1), mean)


def partial_auc(curve: Curve, max_fpr: float) -> np.ndarray:
    """Return McClish's standardised area up to ``max_fpr``: 0.5 for chance, 1 for perfect."""
    fpr = np.minimum(curve.fpr, max_fpr)
    end = tpr_at(curve, np.array([max_fpr]))
    tpr = np.minimum(curve.tpr, end)
    area = ((tpr[:, 1:] + tpr[:, :-1]) / 2 * np.diff(fpr, axis=1)).sum(axis=1)
    return standardised(area, max_fpr)


def standardised(area: np.ndarray, max_fpr: float) -> np.ndarray:
    """Return McClish's correction of a partial area."""
    chance = max_fpr**2 / 2
    return (1 + (area - chance) / (max_fpr - chance)) / 2


def average_precision(curve: Curve) -> np.ndarray:
    """
    Return the integral of the precision over the recall.

    On a straight piece of the ROC curve it has a closed form. At a score that examples share, all
    of them are found at once, with the precision behind it: scikit-learn's sum of steps.
    """
    share, other = curve.prevalence[:, None], 1 - curve.prevalence[:, None]
    rise, run = np.diff(curve.tpr, axis=1), np.diff(curve.fpr, axis=1)
    found = share * curve.tpr + other * curve.fpr  # share predicted positive
    before, after = found[:, :-1], found[:, 1:]
    with np.errstate(divide="ignore", invalid="ignore"):
        slope = share + other * run / rise
        offset = other * (curve.fpr[:, :-1] - curve.tpr[:, :-1] * run / rise)
        # The log is infinite only where the piece begins at the origin and the offset is 0.
        bend = np.where(before > 0, offset / slope * np.log1p((after - before) / before), 0.0)
        piece = share / slope * (rise - bend)
        step = rise * share * curve.tpr[:, 1:] / after
    piece = np.where(curve.tied, step, piece)
    return np.where(rise > 1e-15, piece, 0.0).sum(axis=1)  # slopes overflow below


def max_f1(curve: Curve) -> np.ndarray:
    """
    Return the F1 score at the best threshold of each curve, corrected for noise.

    The largest value along a noisy curve is too high, and so is that of the mean curve, which has
    the noise of the data. A draw's noise is like it: by the mean excess of the draws' largest
    values over their mean curve's, the score at the threshold best for that one is lowered.
    """
    share = curve.prevalence[:, None]
    hits = 2 * share * curve.tpr
    f1 = hits / (hits + share * (1 - curve.tpr) + (1 - share) * curve.fpr)
    best = f1[:, f1.mean(axis=0).argmax()]
    excess = f1.max(axis=1).mean() - best.mean()
    return np.clip(best - excess, 0, 1)


def lowest(curve: Curve, inner: tuple[int, int]) -> Curve:
    """
    Return the curves as low as the open ends allow.

    How much weighs beyond the highest negative and the lowest positive is known by its
    distribution, but not where: here it lies furthest out, above all and below all others.

    Parameters
    ----------
    curve : Curve
    inner : tuple of int
        See `bayescm.posteriors.roc.slots.View`.
    """
    top = np.searchsorted(curve.at, inner[0], "right") - 1
    bottom = np.searchsorted(curve.at, inner[1], "left")
    fpr, tpr = curve.fpr.copy(), curve.tpr.copy()
    fpr[:, 1:top] = fpr[:, [top]]
    tpr[:, bottom + 1 : -1] = tpr[:, [bottom]]
    return replace(curve, fpr=fpr, tpr=tpr)


def on_the_axes(curve: Curve, inner: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
    """
    Return how high a curve may rise at once, (S,), and from where on it may be done, (S,).

    The true positive rate where no negative is above the highest, and the false positive rate where
    no positive is below the lowest: the other extreme of what `lowest` takes open ends to be.
    """
    top = np.searchsorted(curve.at, inner[0], "right") - 1
    bottom = np.searchsorted(curve.at, inner[1], "left")
    return curve.tpr[:, top], curve.fpr[:, bottom]


def tpr_at(curve: Curve, fpr: np.ndarray) -> np.ndarray:
    """Return each curve's true positive rate at false positive rates (T,), shape (S, T)."""
    return _rows(fpr, curve.fpr, curve.tpr)


def fpr_at(curve: Curve, recall: np.ndarray) -> np.ndarray:
    """Return each curve's false positive rate at recalls (T,), shape (S, T)."""
    return _rows(recall, curve.tpr, curve.fpr)


def precision_at(curve: Curve, recall: np.ndarray) -> np.ndarray:
    """Return each curve's precision at recalls (T,) > 0, shape (S, T)."""
    hits = curve.prevalence[:, None] * recall
    return hits / (hits + (1 - curve.prevalence[:, None]) * fpr_at(curve, recall))


def _rows(at, x, y):
    # All draws in one call: rates lie in [0, 1], so that rows 2 apart do not overlap.
    place = 2.0 * np.arange(len(x))[:, None]
    return np.interp(at + place, (x + place).ravel(), np.ravel(y))


def cells_at(curve: Curve, place: np.ndarray) -> np.ndarray:
    """
    Return the cell probabilities at thresholds.

    Parameters
    ----------
    curve : Curve
    place : ndarray, shape (T,)
        Number of slots at or above each threshold; a fraction is inside a slot.

    Returns
    -------
    ndarray, shape (S, T, 2, 2)
        Rows are actual, columns predicted, the positive class last.
    """
    low = np.clip(np.searchsorted(curve.at, place, side="right") - 1, 0, len(curve.at) - 2)
    part = (place - curve.at[low]) / np.diff(curve.at)[low]
    fpr, tpr = (
        rate[:, low] + part * (rate[:, low + 1] - rate[:, low]) for rate in (curve.fpr, curve.tpr)
    )
    share = curve.prevalence[:, None]
    cells = [(1 - share) * (1 - fpr), (1 - share) * fpr, share * (1 - tpr), share * tpr]
    return np.stack(cells, axis=-1).reshape(*fpr.shape, 2, 2)
