"""
Tiers of classifiers
====================

A joint set of ranks for each classifier. Lines connect the classifiers of a tier, which are not
distinguished from each other.
"""

import numpy as np

import bayescm as bcm

rng = np.random.default_rng(1)
truth = rng.random(400) < 0.4
rates = {f"model {number}": 0.08 + 0.025 * number for number in range(9)}
answers = {name: truth ^ (rng.random(400) < rate) for name, rate in rates.items()}
counts = bcm.from_classifiers(truth, answers, positive=True)
figure = bcm.plots.plot_tiers(counts, "f1", random_seed=1)
