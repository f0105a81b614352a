"""Disjoint halves: how they are made, and what they do to an interval."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.dummy import DummyClassifier
from sklearn.tree import DecisionTreeClassifier

import bayescm as bcm
from bayescm import posteriors

RNG = np.random.default_rng(8)
Y = np.repeat([0, 1], [24, 16])
X = np.c_[np.arange(40) // 2, RNG.normal(Y)]
FOLDS = bcm.from_matrix(
    [[[17, 3], [4, 16]], [[14, 6], [6, 14]], [[18, 2], [7, 13]]], dims=("fold",), positive=1
)
QUIET = np.array([[[24, 6], [8, 22]], [[24, 6], [9, 21]]])
LOUD = np.array([[[12, 18], [1, 29]], [[29, 1], [19, 11]]])


def halves(*pairs):
    return bcm.from_matrix(np.array(pairs), dims=("repeat", "half"), positive=1)


class Remembers(ClassifierMixin, BaseEstimator):
    """Says 1 of what it was trained on."""

    def fit(self, x, y):
        self.classes_, self.seen_ = np.unique(y), set(x[:, 0])
        return self

    def predict(self, x):
        return np.array([int(each in self.seen_) for each in x[:, 0]])


def test_halves_share_no_group_and_test_each_other():
    counts = bcm.learners.cross_halves(Remembers(), X, Y, 3, groups=X[:, 0])
    assert counts.dims == ("repeat", "half", "actual", "predicted")
    assert counts.sel(predicted=1).sum() == 0
    assert bcm.learners.cross_halves(Remembers(), X, Y, 3).sel(predicted=1).sum() > 0
    np.testing.assert_array_equal(counts.sum(("half", "predicted")), [[24, 16]] * 3)


def test_halves_are_stratified_new_each_time_and_the_same_for_every_classifier():
    tree = DecisionTreeClassifier(max_depth=2, random_state=0)
    counts = bcm.learners.cross_halves(
        {"tree": tree, "again": tree, "no": DummyClassifier()}, X, Y, 4
    )
    assert counts.dims[0] == "classifier"
    np.testing.assert_array_equal(counts.sum("predicted"), np.broadcast_to([12, 8], (3, 4, 2, 2)))
    np.testing.assert_array_equal(counts.sel(classifier="tree"), counts.sel(classifier="again"))
    one = counts.sel(classifier="tree")
    assert (one != one[0]).any()
    assert bcm.learners.cross_halves(tree, X, Y, 1).sizes["repeat"] == 1
    with pytest.raises(ValueError, match="number of halvings"):
        bcm.learners.cross_halves(tree, X, Y, 0)


@pytest.mark.filterwarnings("ignore:The least populated class")
def test_a_class_that_is_missing_in_a_half_is_refused():
    with pytest.raises(ValueError, match="half has no example of"):
        bcm.learners.cross_halves(DummyClassifier(), X, np.arange(40) == 7)
    with pytest.raises(ValueError, match="half has no example of"):
        bcm.learners.cross_halves(DummyClassifier(), X, Y, groups=Y)


@pytest.mark.long
def test_halves_that_differ_lengthen_the_interval_and_those_that_agree_shorten_it():
    def length(measure, **known):
        return np.ptp(bcm.interval(FOLDS, measure, kind="eti", **known).values)

    loud, quiet = halves(LOUD, LOUD[::-1], LOUD), halves(QUIET, QUIET[::-1], QUIET)
    assert length("recall", halves=loud) > 1.4 * length("recall")
    assert length("recall", halves=quiet) < length("recall")
    assert length("precision", halves=quiet) < length("precision", halves=loud)


def test_a_batch_with_halves_is_each_of_them_by_itself():
    both = bcm.from_matrix(np.stack([FOLDS.values, FOLDS.values[::-1] + 1]), dims=("batch", "fold"))
    tables = np.array([[LOUD, LOUD], [QUIET, QUIET]])
    beside = bcm.from_matrix(tables, dims=("batch", "repeat", "half"))
    found = bcm.interval(both, "recall", halves=beside.transpose("half", ...))
    for i in range(2):
        alone = bcm.interval(both[i], "recall", halves=beside[i])
        np.testing.assert_allclose(found.isel(batch=i), alone, atol=1e-12)


@pytest.mark.parametrize(
    ("wrong", "keywords", "words"),
    [
        (halves(LOUD).isel(half=[0]), {}, "halves must have the dimensions repeat, half, actual"),
        (halves(LOUD).sum("half"), {}, "halves must have the dimensions repeat, half, actual"),
        (
            bcm.from_matrix([LOUD], dims=("repeat", "half"), labels=["a", "b"]),
            {},
            "Build both from the same classifiers and labels",
        ),
        (halves(LOUD) * 0, {}, "half has no example of"),
        (halves(LOUD), {"rho": 0.4}, "has no effect with halves, which determine"),
    ],
)
def test_what_is_no_halves_of_these_counts_is_refused(wrong, keywords, words):
    with pytest.raises(ValueError, match=words):
        bcm.interval(FOLDS, "recall", halves=wrong, **keywords)


def test_halves_of_other_classifiers_are_refused():
    folds = bcm.from_matrix(np.stack([FOLDS.values] * 2), dims=("classifier", "fold"))
    both = bcm.from_matrix(np.stack([[LOUD], [QUIET]]), dims=("classifier", "repeat", "half"))
    named = folds.assign_coords(classifier=["a", "b"])
    with pytest.raises(ValueError, match="which do not match the counts"):
        bcm.interval(named, "recall", halves=both.assign_coords(classifier=["a", "c"]))
    known = both.assign_coords(classifier=["a", "b"])
    found = [bcm.interval(named, "recall", halves=each) for each in (known, known[::-1])]
    np.testing.assert_array_equal(*found)


def test_folds_that_jump_are_doubted_unless_there_are_halves():
    jump = bcm.from_matrix(np.concatenate([LOUD, LOUD]), dims=("fold",))
    assert "To measure this, pass halves" in posteriors.hierarchical_folds(jump).caveats()[0]
    assert posteriors.hierarchical_folds(jump, halves=halves(LOUD)).caveats() == []
    assert posteriors.hierarchical_folds(FOLDS).caveats() == []
