"""
Posterior densities with a reference value
==========================================

The posterior of each measure, and the probability that the measure exceeds the reference value.
"""

import bayescm as bcm

counts = bcm.from_cells(tp=65, fn=15, fp=35, tn=30)
figure = bcm.plot_posterior(counts, ["recall", "f1"], reference=0.75)
