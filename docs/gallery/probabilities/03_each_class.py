"""
Calibration with more than two classes
======================================

Calibration curves for each class against the rest, and for the highest probability.
"""

import numpy as np

import bayescm as bcm

rng = np.random.default_rng(1)
logs = rng.normal(0, 1.2, (500, 3))
given = np.exp(logs) / np.exp(logs).sum(axis=1, keepdims=True)
right = np.exp(0.6 * logs) / np.exp(0.6 * logs).sum(axis=1, keepdims=True)
species = np.array(["cat", "dog", "fox"])[[rng.choice(3, p=each) for each in right]]
pets = bcm.from_probabilities(species, given)
figure = bcm.plot_calibration(pets)

# %%
# The possible gain from recalibrating the forecasts:

bcm.calibration.recalibrated(pets).round(4)
