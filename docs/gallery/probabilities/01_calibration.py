"""
Is 0.8 eight in ten?
====================

The calibration curve with a band that holds a smooth one everywhere with 95% probability.
"""

import numpy as np

import bayescm as bcm

rng = np.random.default_rng(1)
odds = rng.normal(-0.5, 1.4, 600)
sick = rng.random(600) < 1 / (1 + np.exp(-0.6 * odds))
models = {"boosting": odds, "logistic": 0.6 * odds + 0.2 * rng.normal(size=600)}
evidence = bcm.from_probabilities(sick, {k: 1 / (1 + np.exp(-v)) for k, v in models.items()})
figure = bcm.plot_calibration(evidence)

# %%
# The same in numbers.

bcm.summary(evidence, ["brier", "ece", "calibration_slope"]).round(3)
