"""
Probabilities of ranks
======================

The probability of each rank for each classifier. All classifiers are tested on the same examples.
"""

import numpy as np

import bayescm as bcm

rng = np.random.default_rng(1)
truth = rng.random(300) < 0.4
errors = {"forest": 0.10, "logistic": 0.11, "nearest": 0.14, "tree": 0.18, "stump": 0.3}
answers = {name: truth ^ (rng.random(300) < p) for name, p in errors.items()}
counts = bcm.from_classifiers(truth, answers, positive=True)
figure = bcm.plot_ranks(counts, "f1", random_seed=1)
