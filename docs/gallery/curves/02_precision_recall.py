"""
Precision and recall, with draws
================================

The band over lines of equal F1, thirty curves drawn from the posterior, and a threshold with the
intervals of both rates.
"""

import numpy as np

import bayescm as bcm

rng = np.random.default_rng(1)
sick = rng.random(300) < 0.3
evidence = bcm.from_scores(sick, rng.normal(1.5 * sick, 1))
figure = bcm.plots.plot_precision_recall(evidence, lines=30, threshold=1.0)
