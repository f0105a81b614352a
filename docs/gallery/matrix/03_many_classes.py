"""
Confusion matrix of thirty classes
==================================

The classes with the most errors come first. The recall of each class is shown next to the matrix.
"""

import numpy as np

import bayescm as bcm

rng = np.random.default_rng(1)
skill, names = rng.uniform(0.6, 0.99, 30), [f"species {number:02d}" for number in range(30)]
confused = rng.dirichlet(np.full(30, 0.1), 30)
rows = skill[:, None] * np.eye(30) + (1 - skill[:, None]) * confused
counts = bcm.from_matrix([rng.multinomial(60, row / row.sum()) for row in rows], labels=names)
figure = bcm.plot_matrix(counts)
