"""
Several classifiers and measures
================================

Intervals for each classifier and measure. For differences between classifiers, use the other plots
in this section.
"""

import numpy as np

import bayescm as bcm

rng = np.random.default_rng(3)
truth = rng.random(250) < 0.4
errors = {"logistic": 0.08, "tree": 0.15, "stump": 0.25}
answers = {name: truth ^ (rng.random(250) < p) for name, p in errors.items()}
counts = bcm.from_classifiers(truth, answers, positive=True)
figure = bcm.plot_forest(counts, ["accuracy", "precision", "recall", "f1"])
