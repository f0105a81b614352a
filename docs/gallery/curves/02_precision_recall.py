"""
Precision-recall curve with draws
=================================

The simultaneous band, thirty posterior draws of the curve, and lines of equal F1. The marked
threshold has intervals for both precision and recall.
"""

import numpy as np

import bayescm as bcm

rng = np.random.default_rng(1)
sick = rng.random(300) < 0.3
evidence = bcm.from_scores(sick, rng.normal(1.5 * sick, 1))
figure = bcm.plots.plot_precision_recall(evidence, lines=30, threshold=1.0)
