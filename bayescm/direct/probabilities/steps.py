"""Whether a calibration curve has a step, which a smooth one draws too soft."""

import numpy as np
from scipy.special import expit

from bayescm.direct.probabilities.smooth import Smooth


def jump(smooth: Smooth) -> float:
    """
    Return by how much the curve surely jumps between two neighbouring knots.

    In probability, beyond what its level and slope change there, with probability .95. Between
    neighbouring knots lies about a twentieth of the forecasts.
    """
    knots, (coefficients, scale) = smooth.knots, smooth.sample
    straight, curve = (
        expit(knots + smooth.departure(coefficients, each, knots)) for each in (0 * scale, scale)
    )
    jumps = np.diff(curve - straight, axis=1)
    return float(np.quantile(np.sign(jumps.mean(axis=0)) * jumps, 0.05, axis=0).max())
