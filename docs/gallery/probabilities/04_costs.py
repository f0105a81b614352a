"""
What acting costs, and answering only when sure
===============================================

The expected cost of an example by threshold, the risk by coverage, and the CORP diagram.
"""

import numpy as np

import bayescm as bcm

rng = np.random.default_rng(1)
odds = rng.normal(-0.5, 1.4, 600)
sick = rng.random(600) < 1 / (1 + np.exp(-odds))
models = {"new": odds, "old": odds + rng.normal(size=600)}
evidence = bcm.from_probabilities(sick, {k: 1 / (1 + np.exp(-v)) for k, v in models.items()})
figure = bcm.plots.plot_expected_cost(evidence, {"fn": 4, "fp": 1})

# %%
# How often each errs where it is sure, and with how many answers it keeps to 15 errors in 100.

bcm.plots.plot_risk_coverage(evidence, promise=0.15)

# %%
# The CORP reliability diagram: isotonic regression, and where right forecasts would lie.

bcm.plots.plot_corp(evidence)
