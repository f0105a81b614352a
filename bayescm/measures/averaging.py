"""The average of draws over folds: numpy alone."""

import numpy as np


def average_draws(values: np.ndarray, axis: int, stretch: float) -> np.ndarray:
    """
    Return draws of the average from draws of every fold.

    Parameters
    ----------
    values : ndarray, shape (size, ...)
        Draws of the measure in every fold; NaN where it is undefined.
    axis : int
        The axis of the folds.
    stretch : float
        Factor by which the average is stretched about its mean, draw by draw. What leaves the range
        of the folds' draws is put at its end. NaN is a mixture: the draws take the folds in turn.

    Returns
    -------
    ndarray, without the axis of the folds
    """
    if np.isnan(stretch):
        size, folds = values.shape[0], values.shape[axis]
        turn = (np.arange(size) % folds).reshape(-1, *[1] * (values.ndim - 1))
        return np.take_along_axis(values, turn, axis).squeeze(axis)
    mean = values.mean(axis=axis)
    if stretch == 1:
        return mean
    center = np.nanmean(mean, axis=0)
    ends = np.nanmin(values, axis=(0, axis)), np.nanmax(values, axis=(0, axis))
    return np.clip(center + stretch * (mean - center), *ends)
