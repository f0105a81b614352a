"""
Forest plot of measures
=======================

Means and intervals of several measures.
"""

import bayescm as bcm

counts = bcm.from_cells(tp=65, fn=15, fp=35, tn=30)
figure = bcm.plot_forest(counts, ["accuracy", "precision", "recall", "f1", "mcc"])
