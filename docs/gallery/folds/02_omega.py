"""
Effect of the discount on cross-validation counts
=================================================

Intervals as functions of omega, from the average matrix (omega = 1/10) to plain pooling (omega =
1).
"""

from sklearn.datasets import load_breast_cancer
from sklearn.tree import DecisionTreeClassifier

import bayescm as bcm

features, labels = load_breast_cancer(return_X_y=True)
tree = DecisionTreeClassifier(max_depth=3, random_state=0)
counts = bcm.cross_confusion(tree, features[:200], labels[:200], cv=10, positive=0)
figure = bcm.plots.plot_omega(counts, ["precision", "recall", "mcc"])
