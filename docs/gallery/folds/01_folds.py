"""
Intervals from single folds and from all folds
==============================================

The estimate from each fold, followed by intervals from models and t intervals for all folds.
"""

from sklearn.datasets import load_breast_cancer
from sklearn.tree import DecisionTreeClassifier

import bayescm as bcm

features, labels = load_breast_cancer(return_X_y=True)
tree = DecisionTreeClassifier(max_depth=3, random_state=0)
counts = bcm.cross_confusion(tree, features[:200], labels[:200], cv=10, positive=0)
figure = bcm.plots.plot_folds(counts, "precision")
