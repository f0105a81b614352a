"""
What the evidence changed
=========================

The prior and posterior of a measure on top of each other.
"""

import bayescm as bcm

tree = bcm.fit(bcm.from_cells(tp=6, fn=2, fp=3, tn=9), random_seed=1)
figure = bcm.plots.plot_prior_posterior(tree, ["precision", "recall"])
