"""
Calibration curves
==================

Calibration curves of two models, with simultaneous 95% bands for a smooth curve.
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
# Brier score, calibration error and calibration slope of both models:

bcm.summary(evidence, ["brier", "ece", "calibration_slope"]).round(3)
