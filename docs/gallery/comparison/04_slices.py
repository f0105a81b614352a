"""
Many slices
===========

Partially pooled estimates for 150 slices, in order of their means. Filled markers are slices that
are flagged as bad.
"""

import numpy as np

import bayescm as bcm

rng = np.random.default_rng(2)
recall = np.where(np.arange(150) < 12, 0.55, 0.85)
positives = rng.integers(10, 150, 150)
tp, tn = rng.binomial(positives, recall), rng.binomial(100, 0.9, 150)
counts = bcm.from_cells(tp=tp, fn=positives - tp, fp=100 - tn, tn=tn).rename(batch="group")
figure = bcm.plots.plot_slices(counts, "recall", threshold=0.7)
