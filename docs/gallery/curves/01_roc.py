"""
Two ROC curves on the same examples
===================================

Each with its simultaneous band: with 95% probability the whole curve lies inside.
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
# What the difference of the areas is worth.

bcm.curves.compare(evidence)[["mean", "lower", "upper", "p_better"]]
