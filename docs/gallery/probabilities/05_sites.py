"""
Calibration by site
===================

Calibration slopes of eight hospitals. Partial pooling shrinks the estimates for small sites towards
the others.
"""

import numpy as np

import bayescm as bcm

rng = np.random.default_rng(3)
size = [220, 150, 120, 90, 60, 40, 25, 12]
site = np.repeat(list("ABCDEFGH"), size)
level, slope = (np.repeat(rng.normal(m, s, 8), size) for m, s in ((0.1, 0.4), (0.8, 0.15)))
odds = rng.normal(-0.5, 1.4, len(site))
died = rng.random(len(site)) < 1 / (1 + np.exp(-level - slope * odds))
evidence = bcm.from_probabilities(died, 1 / (1 + np.exp(-odds)), group=site)
figure = bcm.plot_forest(evidence, "calibration_slope", of="group", reference=1)

# %%
# Estimates for a new site:

bcm.summary(evidence, ["calibration_slope", "brier"], of="new").round(3)
