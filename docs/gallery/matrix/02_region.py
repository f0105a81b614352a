"""
Joint region of precision and recall
====================================

The highest-density region that contains both measures with the given probability.
"""

import bayescm as bcm

counts = bcm.from_cells(tp=65, fn=15, fp=35, tn=30)
figure = bcm.plots.plot_region(counts)
