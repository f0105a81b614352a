"""Outcomes of classifiers that were cross-validated side by side."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.dummy import DummyClassifier
from sklearn.model_selection import RepeatedStratifiedKFold, ShuffleSplit
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

import bayescm as bcm
from bayescm.evidence.outcomes import counts_of, halves_of
from bayescm.evidence.splits import FiveByTwo

X, Y = load_breast_cancer(return_X_y=True)
X, Y = X[:90, :3], Y[:90]
TWO = {"stump": DecisionTreeClassifier(max_depth=1, random_state=0), "bayes": GaussianNB()}


@pytest.mark.long
def test_outcomes_are_those_of_each_classifier_fold_by_fold_and_half_by_half():
    both = bcm.cross_outcomes(TWO, X, Y, cv=3, halves=2, positive=0, random_state=4)
    alone = bcm.cross_confusion(TWO, X, Y, cv=3, positive=0, random_state=4)
    found = (
        counts_of(both)
        .transpose("classifier", ...)
        .sel(actual=alone.actual, predicted=alone.predicted)
    )
    np.testing.assert_array_equal(found, alone)
    assert all(both[name] == alone[name] for name in ("n_folds", "test_share", "fixed_totals"))
    halves = bcm.learners.cross_halves(TWO, X, Y, 2, positive=0, random_state=4)
    found = (
        halves_of(both)
        .transpose("classifier", ...)
        .sel(actual=halves.actual, predicted=halves.predicted)
    )
    np.testing.assert_array_equal(found, halves)
    assert "halves" not in bcm.cross_outcomes(TWO, X, Y, cv=3)


@pytest.mark.long
def test_an_interval_of_each_takes_the_halves_along():
    both = bcm.cross_outcomes(TWO, X, Y, cv=3, halves=2, positive=0)
    stump = both.sel(classifier="stump")
    found = bcm.interval(both, "recall").sel(classifier="stump")
    alone = counts_of(both).sel(classifier="stump"), halves_of(stump).isel(classifier=0)
    np.testing.assert_allclose(found, bcm.interval(alone[0], "recall", halves=alone[1]), atol=1e-9)
    without = bcm.interval(alone[0], "recall").values
    assert abs(np.ptp(found.values) - np.ptp(without)) > 1e-3


@pytest.mark.parametrize(
    ("estimators", "keywords", "words"),
    [
        ({"one": GaussianNB()}, {}, "A comparison needs a mapping"),
        (GaussianNB(), {}, "A comparison needs a mapping"),
        (TWO, {"groups": np.arange(90)}, "Joint outcomes of classifiers cannot have groups"),
        (TWO, {"halves": -1}, "number of halvings"),
    ],
)
def test_what_is_no_comparison_is_refused(estimators, keywords, words):
    with pytest.raises(ValueError, match=words):
        bcm.cross_outcomes(estimators, X, Y, cv=3, **keywords)


class _Untrained(DummyClassifier):
    def fit(self, X, y, sample_weight=None):
        raise AssertionError("trained before the arguments were checked")


@pytest.mark.parametrize(
    ("cv", "keywords", "words"),
    [
        (RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=0), {}, "2 times"),
        (ShuffleSplit(5, test_size=0.5, random_state=0), {}, "test each example once"),
        (FiveByTwo(random_state=0), {"halves": 2}, "5 times"),
        (3, {"positive": "malignant"}, "malignant"),
        (3, {"halves": -1}, "number of halvings"),
    ],
)
def test_errors_come_before_anything_is_trained(cv, keywords, words):
    untrained = {"a": _Untrained(), "b": _Untrained()}
    with pytest.raises(ValueError, match=words):
        bcm.cross_outcomes(untrained, X, Y, cv, **keywords)


@pytest.mark.parametrize("keywords", [{"positive": "malignant"}, {"labels": [0, 2]}])
def test_labels_of_folds_are_checked_before_anything_is_trained(keywords):
    with pytest.raises(ValueError, match=r"malignant|labels"):
        bcm.cross_confusion(_Untrained(), X, Y, 3, **keywords)


def test_the_advice_about_repeats_works():
    cv = RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=0)
    with pytest.raises(ValueError, match="cross_confusion"):
        bcm.cross_outcomes(TWO, X, Y, cv)
    table = bcm.compare(bcm.cross_confusion(TWO, X, Y, cv), "recall")
    assert table.attrs["how"] == "correlated t"
    assert bcm.cross_outcomes(TWO, X, Y, cv=10)["counts"].sizes["fold"] == 10
