"""Log densities of the priors that several posteriors share, normalised."""

from typing import Any

import numpy as np


def log_half_normal(x: Any, scale: Any) -> np.ndarray:
    """
    Return the log density of the half-normal distribution at x >= 0.

    Examples
    --------
    >>> round(float(log_half_normal(0.0, 1.0)), 4)
    -0.2258
    """
    return np.log(2 / np.pi) / 2 - np.log(scale) - (np.asarray(x) / scale) ** 2 / 2
