"""The calibration picture."""

import numpy as np
from matplotlib.patches import StepPatch

import bayescm as bcm


def test_the_histogram_of_forecasts_counts_what_each_stands_for():
    p, truth = np.array([0.1, 0.1, 0.5, 0.5, 0.9, 0.9]), [0, 1, 0, 1, 0, 1]
    evidence = bcm.from_probabilities(truth, p, weights=[30, 10, 5, 5, 1, 9], weights_are="counts")
    (bars,) = [
        each
        for each in bcm.plot_calibration(evidence).axes[0].patches
        if isinstance(each, StepPatch)
    ]
    height = bars.get_data().values
    np.testing.assert_allclose(height[height > 0] / height.max(), [1, 0.25, 0.25])
