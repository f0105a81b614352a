"""
Posterior predictive check
==========================

Predicted and observed counts of each site. A large discrepancy indicates that the model does not
fit.
"""

import bayescm as bcm

counts = bcm.from_cells(tp=[65, 70], fn=[15, 10], fp=[35, 31], tn=[30, 34])
tree = bcm.fit(counts.rename(batch="site"), random_seed=1)
figure = bcm.plots.plot_predictive(tree)
