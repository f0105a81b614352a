"""
Win rates between systems
=========================

Win rates for all pairs of systems, estimated from pairwise votes. The strongest system comes first.
"""

import numpy as np

import bayescm as bcm

rng = np.random.default_rng(1)
strength = {"large": 0.9, "tuned": 0.5, "base": 0.0, "small": -0.4, "tiny": -1.0}
names, values = np.array(list(strength)), np.array(list(strength.values()))
left = rng.integers(5, size=400)
right = (left + rng.integers(1, 5, size=400)) % 5
lead = rng.logistic(values[left] - values[right])
winner = np.where(abs(lead) < 0.3, "tie", np.where(lead > 0, "left", "right"))
votes = bcm.from_preferences(left=names[left], right=names[right], winner=winner)
figure = bcm.plots.plot_preferences(votes)
