"""
History of a monitored classifier
=================================

The interval narrows as batches arrive. Dots are estimates from single batches, and marks are
alarms.
"""

import numpy as np

import bayescm as bcm

rng = np.random.default_rng(2)
recall = np.where(np.arange(30) < 18, 0.9, 0.7)
tp, tn = rng.binomial(25, recall), rng.binomial(25, 0.9, 30)
weeks = bcm.from_cells(tp=tp, fn=25 - tp, fp=25 - tn, tn=tn).rename(batch="step")
history = bcm.online.history(weeks, ["recall", "specificity"])
alarms = bcm.online.alarms(weeks, ["recall", "specificity"], floor={"recall": 0.8})
figure = bcm.plot_history(history, batches=weeks, alarms=alarms, floor={"recall": 0.8})
