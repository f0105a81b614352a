"""
Each fold, and all of them together
===================================

What the folds say one by one, and what models and t intervals make of them.
"""

from sklearn.datasets import load_breast_cancer
from sklearn.tree import DecisionTreeClassifier

import bayescm as bcm

features, labels = load_breast_cancer(return_X_y=True)
tree = DecisionTreeClassifier(max_depth=3, random_state=0)
counts = bcm.cross_confusion(tree, features[:200], labels[:200], cv=10, positive=0)
figure = bcm.plots.plot_folds(counts, "precision")
