"""
Sample size for a given width
=============================

The width of the interval as a function of the size of the test set: on average, and with 90%
assurance.
"""

import bayescm as bcm

plan = bcm.plan("recall", expect=0.85, width=0.1, assurance=0.9)
figure = bcm.plots.plot_plan("recall", expect=0.85, width=0.1, n=int(plan["n"].iloc[0]))
