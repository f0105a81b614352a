"""
Learning curve
==============

The expected measure as a function of the number of training examples.
"""

from sklearn.datasets import load_breast_cancer
from sklearn.naive_bayes import GaussianNB

import bayescm as bcm

X, y = load_breast_cancer(return_X_y=True)
table = bcm.learners.learning_curve(GaussianNB(), X[:200, :5], y[:200], [20, 40, 80, 160], cv=5)
figure = bcm.plots.plot_learning_curve(table)
