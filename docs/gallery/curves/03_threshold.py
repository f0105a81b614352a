"""
Measures as functions of the threshold
======================================

Three measures with their bands, followed by the posterior of the area under the ROC curve.
"""

import numpy as np

import bayescm as bcm

rng = np.random.default_rng(1)
sick = rng.random(300) < 0.3
evidence = bcm.from_scores(sick, rng.normal(1.5 * sick, 1))
figure = bcm.plots.plot_threshold(evidence, ["precision", "recall", "f1"])

# %%

figure = bcm.plots.plot_curve_numbers(evidence, "auc")
