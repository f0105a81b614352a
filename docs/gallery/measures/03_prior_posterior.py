"""
Prior and posterior densities
=============================

The prior and posterior densities of two measures, to show how much the evidence contributes.
"""

import bayescm as bcm

tree = bcm.fit(bcm.from_cells(tp=6, fn=2, fp=3, tn=9), random_seed=1)
figure = bcm.plots.plot_prior_posterior(tree, ["precision", "recall"])
