"""Scores of cross-validated classifiers."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.linear_model import RidgeClassifier
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import NearestCentroid

import bayescm as bcm

X, Y = load_breast_cancer(return_X_y=True)


def test_folds_are_scored_by_the_model_that_did_not_see_them():
    cv = StratifiedKFold(3, shuffle=True, random_state=0)
    evidence = bcm.learners.cross_scores(GaussianNB(), X, Y, cv=cv)
    areas = bcm.curves.estimate(evidence)
    for fold, (train, test) in enumerate(cv.split(X, Y)):
        proba = GaussianNB().fit(X[train], Y[train]).predict_proba(X[test])[:, 1]
        assert areas[fold] == pytest.approx(roc_auc_score(Y[test], proba))
    assert evidence.test_share.item() == pytest.approx(1 / 3)


def test_the_first_class_may_be_the_positive_one():
    plain, turned = (
        bcm.learners.cross_scores(RidgeClassifier(), X, Y, cv=3, positive=p) for p in (1, 0)
    )
    np.testing.assert_allclose(bcm.curves.estimate(plain), bcm.curves.estimate(turned))


def test_classifiers_share_the_splits_and_classes_have_columns():
    both = {"bayes": GaussianNB(), "again": GaussianNB()}
    evidence = bcm.learners.cross_scores(both, *load_iris(return_X_y=True), cv=3)
    assert evidence.score.dims == ("classifier", "example", "class")
    np.testing.assert_array_equal(*evidence.score)


def test_a_classifier_without_scores_is_refused():
    class Mute(NearestCentroid):
        decision_function = predict_proba = property()

    with pytest.raises(ValueError, match="a Mute has neither decision_function nor predict_proba"):
        bcm.learners.cross_scores({"mute": Mute()}, X, Y, cv=3)
