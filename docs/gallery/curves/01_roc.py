"""
ROC curves of two classifiers
=============================

Two ROC curves on the same examples, with simultaneous bands. Each band contains the whole curve
with a probability of 95%.
"""

import numpy as np

import bayescm as bcm

rng = np.random.default_rng(1)
sick = rng.random(300) < 0.3
new = rng.normal(1.5 * sick, 1)
old = 0.6 * new + rng.normal(0.6 * sick, 1)
evidence = bcm.from_scores(sick, {"new": new, "old": old})
figure = bcm.plot_roc(evidence)

# %%
# The difference between the two areas:

bcm.curves.compare(evidence)[["mean", "lower", "upper", "p_better"]]
