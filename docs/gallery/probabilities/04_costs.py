"""
Costs, abstention and CORP diagrams
===================================

The expected cost per example as a function of the threshold, the risk as a function of the
coverage, and a CORP reliability diagram.
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
# The risk among the most confident predictions, and the coverage at which the risk is at most 15%:

figure = bcm.plots.plot_risk_coverage(evidence, promise=0.15)

# %%
# The CORP reliability diagram: isotonic regression, with a band for calibrated forecasts.

figure = bcm.plots.plot_corp(evidence)
