"""
Where precision and recall lie together
=======================================

The region of highest density that holds both with the probability given.
"""

import bayescm as bcm

counts = bcm.from_cells(tp=65, fn=15, fp=35, tn=30)
figure = bcm.plot_region(counts)
