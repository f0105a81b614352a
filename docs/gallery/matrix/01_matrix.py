"""
Confusion matrix with intervals
===============================

Each cell shows its count and its proportion of the row, with a 95% interval.
"""

import bayescm as bcm

counts = bcm.from_matrix(
    [[48, 3, 1], [5, 37, 9], [0, 6, 41]], labels=["setosa", "versicolor", "virginica"]
)
figure = bcm.plot_matrix(counts)
