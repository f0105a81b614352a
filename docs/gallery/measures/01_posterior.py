"""
Posterior densities with a reference
====================================

How probable is it that the measure exceeds a value that matters?
"""

import bayescm as bcm

counts = bcm.from_cells(tp=65, fn=15, fp=35, tn=30)
figure = bcm.plot_posterior(counts, ["recall", "f1"], reference=0.75)
