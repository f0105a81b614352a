"""
Sensitivity to the prior
========================

The same evidence with a flat prior, the default prior, and an expert prior that is worth 40
examples.
"""

import bayescm as bcm

counts = bcm.from_cells(tp=13, fn=3, fp=7, tn=6)
experts = bcm.priors.elicit(prevalence=0.5, recall=0.7, specificity=0.6, weight=40)
figure = bcm.plots.plot_priors(counts, {"flat": 1.0, "default": 0.5, "experts": experts}, "recall")
