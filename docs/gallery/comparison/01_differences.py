"""
Differences between two classifiers
===================================

The differences between two classifiers on the same examples, with a region of practical
equivalence.
"""

import numpy as np

import bayescm as bcm

rng = np.random.default_rng(1)
truth, hard = rng.random(500) < 0.4, rng.random(500) < 0.25
answers = {name: truth ^ (hard & (rng.random(500) < p)) for name, p in [("a", 0.5), ("b", 0.8)]}
both = bcm.from_classifiers(truth, answers, positive=True)
table = bcm.compare(both, ["accuracy", "recall", "f1", "mcc"], rope=0.01, random_seed=1)
figure = bcm.plot_differences(table, rope=0.01)
