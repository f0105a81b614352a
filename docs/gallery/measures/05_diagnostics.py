"""
Diagnostics of NUTS chains
==========================

Density and trace of each chain, with r-hat and the effective sample size.
"""

import bayescm as bcm

tree = bcm.fit(bcm.from_cells(tp=65, fn=15, fp=35, tn=30), method="nuts", random_seed=1)
figure = bcm.plots.plot_diagnostics(tree, ["precision", "recall", "f1"])
