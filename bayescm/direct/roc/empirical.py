"""The curve that the examples themselves draw, as scikit-learn computes it."""

import numpy as np

from bayescm.direct.roc.curve import Curve


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
