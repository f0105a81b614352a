"""
Areas under the ROC curve
=========================

Posterior densities of the areas of two classifiers on the same examples.
"""

import numpy as np

import bayescm as bcm

rng = np.random.default_rng(1)
sick = rng.random(150) < 0.4
scores = {"new": rng.normal(2 * sick), "old": rng.normal(1.0 * sick)}
evidence = bcm.from_scores(sick, scores, positive=True)
figure = bcm.plots.plot_curve_numbers(evidence, "auc")
