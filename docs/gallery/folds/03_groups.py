"""
Separate estimates for several sites
====================================

Each site is estimated from its own examples. By default, a hierarchical model pools the sites
partially.
"""

import bayescm as bcm

counts = bcm.from_cells(
    tp=[65, 40, 12, 30, 22], fn=[15, 20, 3, 2, 4], fp=[35, 5, 8, 9, 6], tn=[30, 60, 20, 50, 41]
).rename(batch="group")
counts = counts.assign_coords(group=["Oslo", "Rome", "Lima", "Pune", "Kyiv"])
figure = bcm.plot_forest(counts, ["recall", "specificity"], model="dirichlet_multinomial")
