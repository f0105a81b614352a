"""
Decision curves
===============

Net benefit as a function of the threshold, compared with treating everybody and treating nobody.
"""

import numpy as np

import bayescm as bcm

rng = np.random.default_rng(1)
odds = rng.normal(-1.5, 1.2, 600)
sick = rng.random(600) < 1 / (1 + np.exp(-odds))
models = {"new": odds, "old": odds + 0.8 * rng.normal(size=600)}
evidence = bcm.from_probabilities(sick, {k: 1 / (1 + np.exp(-v)) for k, v in models.items()})
figure = bcm.plots.plot_decision_curve(evidence, thresholds=np.arange(0.02, 0.7, 0.01))

# %%
# The probability that each strategy is the best, by threshold:

found = bcm.curves.decision_curve(evidence, thresholds=[0.1, 0.2, 0.3])
found["p_best"].to_pandas().round(3)

# %%
# The expected value of perfect information, by threshold:

found["evpi"].to_pandas().round(5)
